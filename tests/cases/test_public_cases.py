"""The public cases about consultation, parallel calls, deadlines and the completion gate."""


def test_public_case(case, faults_of):
    assert faults_of(case) == []
