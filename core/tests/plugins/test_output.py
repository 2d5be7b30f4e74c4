"""What commands print, and what providers print meanwhile."""

import sys

import pytest

from trimtab._plugins.registry import pip_install
from trimtab.inspection import others_to_stderr, say


def test_what_others_print_goes_to_standard_error(capsys):
    with others_to_stderr():
        sys.stdout.write("hello from import\n")
        say("answer")
        with others_to_stderr():
            say("within")
    sys.stdout.write("after\n")

    printed = capsys.readouterr()
    assert printed.out == "answer\nwithin\nafter\n"
    assert printed.err == "hello from import\n"


def test_standard_output_is_back_after_an_error():
    before = sys.stdout
    with pytest.raises(ValueError, match="wrong"), others_to_stderr():
        raise ValueError("wrong")

    assert sys.stdout is before


@pytest.mark.parametrize(
    ("has_pip", "uv", "said"),
    [
        (True, "/bin/uv", "PYTHON -m pip install --force-reinstall acme"),
        (False, "/bin/uv", "uv pip install --python PYTHON --reinstall acme"),
        (False, None, "reinstall acme for PYTHON"),
    ],
)
def test_a_line_that_installs_fits_the_environment(monkeypatch, has_pip, uv, said):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object() if has_pip else None)
    monkeypatch.setattr("shutil.which", lambda name: uv)

    assert pip_install("acme", how="reinstall") == said.replace("PYTHON", sys.executable)
