"""The journal of a conversation through the proxy: private, bounded, and without secrets."""

import pytest

from trimtab_proxy import read_guide

SECRETS = [
    "sk-ant-api03-a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0",
    "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0",
    "AKIAIOSFODNN7EXAMPLE",
    "https://user:hunter2-hunter2@example.org/x.git",
    "Authorization: Bearer hunter2-hunter2",
    "export API_KEY='hunter2-hunter2'",
    "acme-hunter2-hunter2",
]
HIDDEN = ("a1B2c3D4", "IOSFODNN7", "hunter2")


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """A guide that keeps journals as a configuration says, and their folder."""
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trimtab.toml").write_text(
        '[hosts.proxy]\nprompt = "agent/main"\n'
        'redact = ["acme-"]\njournal = { max_megabytes = 1 }\n'
        '[prompts."agent/main"]\nguidance = []\n'
    )
    guide = read_guide()
    yield guide, tmp_path / "home" / "journals"
    guide.close()


def test_no_secret_stands_in_it_wherever_it_was_in_a_request(recorded, agent_of, story):
    guide, folder = recorded
    agent = agent_of(guide, "s1")
    told = [story.said(f"Use {SECRETS}.")]
    for number, secret in enumerate(SECRETS):
        agent.ask(told)
        called = story.answered(f"I use {secret}", ((f"c{number}", f"curl {secret}"),))
        told += [called, story.ran(f"c{number}", f"refused: {secret}", failed=bool(number % 2))]
    agent.ask(told)
    guide.close()

    (file,) = folder.iterdir()
    written = file.read_text()
    assert (written.count("curl "), written.count("refused: ")) >= (len(SECRETS),) * 2
    assert [part for part in HIDDEN if part in written] == []
    assert [oct(path.stat().st_mode & 0o777) for path in (folder, file)] == ["0o700", "0o600"]


def test_its_size_is_bounded_whatever_passes(recorded, agent_of, story):
    guide, folder = recorded
    agent = agent_of(guide, "s1")
    told = [story.said("Fix it.")]
    for number in range(80):
        told += [*story.step(number, f"{number} " + "x" * 50_000)]
        agent.ask(told)
    guide.close()

    (file,) = folder.iterdir()
    assert 300_000 < file.stat().st_size < 600_000  # half of what all journals may have
