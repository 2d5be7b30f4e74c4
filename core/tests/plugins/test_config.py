"""Configuration files build the objects of the Python API, and say what is wrong in them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import attrs
import pytest

from trimtab import (
    Budget,
    CompletionCheckerConfig,
    Configuration,
    ConfigurationError,
    FeedbackProviderConfig,
    FeedbackTrigger,
    GuidanceProviderConfig,
    Prompt,
    PromptTemplate,
    enable,
    find_configuration,
    load_configuration,
)
from trimtab._plugins.configuration import active_configuration
from trimtab.inspection import UnknownProvider, state_home

EXAMPLE = """
allow = ["trimtab-*"]
require = ["trimtab-doom-loop>=0.1"]

[prompts."agent/main"]
guidance = ["doom-loop", { use = "diagnostic-signal", max_per_turn = 1, min_confidence = 0.7, \
options = { error_threshold = 3 } }]
feedback = [{ use = "deadline-feedback", every_n_seconds = 30, \
options = { warning_threshold_seconds = 120 } }]
completion = ["plan-based-checker"]
guidance_limit = 2
budget = { max_turns = 30, max_cost = 2.5 }
feedback_delivery = "all"

[hosts.claude-code]
anything = { goes = [1] }
"""


@pytest.fixture
def write(tmp_path):
    """Write a file below the test's folder; return its path."""

    def put(text: str | bytes, name: str = "trimtab.toml") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return put


def test_a_table_builds_what_the_python_api_builds(write):
    settings = load_configuration(write(EXAMPLE)).prompts["agent/main"]

    assert settings.guidance == (
        GuidanceProviderConfig("doom-loop"),
        GuidanceProviderConfig(
            enable("diagnostic-signal", error_threshold=3), max_per_turn=1, min_confidence=0.7
        ),
    )
    assert settings.feedback == (
        FeedbackProviderConfig(
            enable("deadline-feedback", warning_threshold_seconds=120),
            FeedbackTrigger(every_n_seconds=30),
        ),
    )
    assert settings.completion == (CompletionCheckerConfig("plan-based-checker"),)
    assert (settings.guidance_limit, settings.feedback_delivery) == (2, "all")
    assert settings.budget == Budget(max_turns=30, max_cost=2.5)


def test_the_rest_of_a_file(write):
    path = write(EXAMPLE)
    configuration = load_configuration(path)

    assert configuration.path == path
    assert configuration.allow == ("trimtab-*",)
    assert configuration.require == ("trimtab-doom-loop>=0.1",)
    assert configuration.hosts == {"claude-code": {"anything": {"goes": [1]}}}


def test_pyproject_holds_the_same_tables_below_its_own(write):
    shared = "[project]\nname = 'x'\n" + EXAMPLE.replace(
        "[prompts", "[tool.trimtab.prompts"
    ).replace("[hosts", "[tool.trimtab.hosts").replace("\nallow", "\n[tool.trimtab]\nallow")

    one = load_configuration(write(EXAMPLE))
    other = load_configuration(write(shared, "pyproject.toml"))

    assert attrs.evolve(other, path=one.path) == one


def test_what_a_table_leaves_out_the_code_decides(write):
    settings = load_configuration(write('[prompts."a/b"]\nguidance = []')).prompts["a/b"]

    assert settings.guidance == ()
    assert settings.feedback is None
    assert settings.guidance_limit is None


@pytest.mark.parametrize(
    ("table", "logged"),
    [("agent/mian", True), ("agent/main-2", False), ("agent/main", False), ("other/sub", False)],
)
def test_a_table_that_may_be_meant_for_a_prompt_without_one_is_named(write, caplog, table, logged):
    configuration = load_configuration(write(f'[prompts."{table}"]\nguidance = []\n'))

    for _ in range(2):
        Prompt(ns="agent", key="main", sections=[], config=configuration)

    named = [record.getMessage() for record in caplog.records if record.name == "trimtab"]
    assert len(named) == logged
    if logged:
        assert "no table for the prompt 'agent/main'" in named[0]
        assert "If the table 'agent/mian' is meant for it, correct its name." in named[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("alow = []", "unknown key 'alow'. Did you mean 'allow'?"),
        ("allow = 'x'", "allow must be an array, not 'x'."),
        ("allow = [1]", "allow must be an array of texts, not 1."),
        ("require = ['a b']", "require holds 'a b'; write e.g. 'acme-nudges>=0.1'."),
        ("prompts = 3", "prompts must be a table, not 3."),
        ("[prompts]\nx = 1", "[prompts.x]: it must be a table, not 1."),
        ("[hosts]\nx = 1", "[hosts.x]: it must be a table, not 1."),
        ('[prompts."a/b"]\nguidence = []', "[prompts.\"a/b\"]: unknown key 'guidence'. Did you me"),
        ('[prompts."a/b"]\nguidance = "x"', "guidance must be an array, not 'x'."),
        (
            "[prompts.a.b]\nguidance = []",
            'one key: [prompts."a/b"].',
        ),
        ('[prompts."a/b".budget]\nmax_turns = 0', '[prompts."a/b".budget]: max_turns must be 1 or'),
        ('[prompts."a/b".budget]\nturns = 9', "unknown key 'turns'"),
        ('[prompts."a/b"]\nguidance_limit = 0', "guidance_limit must be 1 or more, not 0."),
        (
            '[prompts."a/b"]\nguidance_limit = true',
            "guidance_limit must be a whole number, not Tru",
        ),
        ('[prompts."a/b"]\nfeedback_delivery = "al"', "must be one of 'first', 'all', not 'al'."),
        ('[prompts."a/b"]\nguidance = [3]', "guidance[0]: write a name, or a table with 'use'"),
        ('[prompts."a/b"]\nguidance = ["x", ""]', "guidance[1]: the key 'use' must name"),
        ('[prompts."a/b"]\nguidance = [{}]', "guidance[0]: the key 'use' must name the provider"),
        (
            '[prompts."a/b"]\nguidance = [{use = "x", max_perturn = 1}]',
            "[prompts.\"a/b\"], guidance[0]: unknown key 'max_perturn'. Did you mean 'max_per_tu",
        ),
        (
            '[prompts."a/b"]\nguidance = [{use = "x", timeout = 1}]',
            "unknown key 'timeout'. It is a setting of a completion checker. Known here: ",
        ),
        (
            '[prompts."a/b"]\nfeedback = [{use = "x", mode = "live"}]',
            "unknown key 'mode'. It is a setting of a guidance provider. Known here: ",
        ),
        (
            '[prompts."a/b"]\nrecorders = [{use = "x", max_per_run = 1}]',
            "'max_per_run'. It is a setting of a guidance provider or a feedback provider. Known",
        ),
        (
            '[prompts."a/b"]\nguidance = [{use = "x", every = 1}]',
            "unknown key 'every'. An option of the provider stands in options = { every = … }.",
        ),
        (
            '[prompts."a/b"]\nguidance = [{name = "x"}]',
            "guidance[0]: the key 'use' must name the provider",
        ),
        (
            '[prompts."a/b"]\nguidance = [{use = "x", max_per_turn = 0}]',
            "guidance[0]: x: max_per_turn must be 1 or more, not 0.",
        ),
        (
            '[prompts."a/b"]\nguidance = [{use = "x", mode = "dead"}]',
            "guidance[0]: x: mode must be one of 'live', 'shadow', not 'dead'.",
        ),
        ('[prompts."a/b"]\nguidance = [{use = "x", refuse = 1}]', "refuse must be true or false"),
        (
            '[prompts."a/b"]\nfeedback = [{use = "x", every_n_calls = 0}]',
            "feedback[0]: x: every_n_calls must be 1 or more, not 0.",
        ),
        (
            '[prompts."a/b"]\nfeedback = [{use = "x", every_n_calls = 1.5}]',
            "must be a whole number",
        ),
        ('[prompts."a/b"]\nguidance = [{use = "x", options = []}]', "options must be a table"),
        ("[tool.trimtab]\nallow = []", "unknown key 'tool'."),
    ],
)
def test_what_is_wrong_is_named_with_file_table_and_key(write, text, message):
    path = write(text)

    with pytest.raises(ConfigurationError) as caught:
        load_configuration(path)

    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)
    assert all(line.isprintable() for line in str(caught.value).split("\n"))


MISTAKES = """
alow = []
require = [1, "a b c"]

[prompts."a/b"]
guidanc = []
guidance_limit = "x"
feedback_delivery = "some"
guidance = [{ use = "one", max_per_turns = 1, max_per_turn = 0, holdout = 2, options = 3 }, 5]
feedback = [{ use = "two", every_n_second = 30, every_n_calls = 0, optional = 1 }, { ues = "x" }]
completion = "checker"
budget = { max_token = 5, max_turns = 0, max_calls = "x" }

[prompts.other]
completon = []

[prompts.a.b]
guidance = []
"""
WORDS = """
: unknown key 'alow'
: require must be an array of texts, not 1
: require holds 'a b c'
[prompts."a/b"]: unknown key 'guidanc'
[prompts."a/b"]: guidance_limit must be
[prompts."a/b"]: feedback_delivery must be
guidance[0]: unknown key 'max_per_turns'
guidance[0]: one: max_per_turn must be
guidance[0]: one: holdout must be
guidance[0]: options must be a table
guidance[1]: write a name
feedback[0]: unknown key 'every_n_second'
feedback[0]: two: every_n_calls must be
feedback[0]: optional must be true or false
feedback[1]: unknown key 'ues'
feedback[1]: the key 'use' must name
[prompts."a/b"]: completion must be an array
[prompts."a/b".budget]: unknown key 'max_token'
[prompts."a/b".budget]: max_turns must be
[prompts."a/b".budget]: max_calls must be
[prompts.other]: unknown key 'completon'
[prompts.a]: a prompt's name is one key
"""


def test_all_that_is_wrong_in_a_file_is_named_at_once(tmp_path: Path) -> None:
    path = tmp_path / "trimtab.toml"
    path.write_text(MISTAKES, encoding="utf-8")

    with pytest.raises(ConfigurationError) as caught:
        load_configuration(path)

    lines, words = str(caught.value).split("\n"), WORDS.split("\n")[1:-1]
    assert [one for one in words if not any(one in line for line in lines)] == []
    assert len(lines) == len(words)


def test_messages_about_pyproject_name_its_tables(write):
    path = write("[tool.trimtab.prompts.x]\ny = 1", "pyproject.toml")

    with pytest.raises(ConfigurationError, match=r"pyproject.toml, \[tool.trimtab.prompts.x\]: un"):
        load_configuration(path)


@pytest.mark.parametrize("text", [b"x = ", b"\xff\xfe", b"a = 1\na = 2", b"x = " + b"[" * 5000])
def test_what_is_no_toml_is_an_error(write, text):
    with pytest.raises(ConfigurationError, match=r"trimtab.toml: it can't be read as TOML: "):
        load_configuration(write(text))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "latin-1"])
def test_another_encoding_is_named(write, encoding):
    with pytest.raises(ConfigurationError, match=r"byte \d+ is not UTF-8; save it as UTF-8"):
        load_configuration(write("allow = ['é']".encode(encoding)))


def test_a_byte_order_mark_does_no_harm(write):
    assert load_configuration(write(b"\xef\xbb\xbfallow = ['x']")).allow == ("x",)


def test_files_that_are_not_there(tmp_path, write):
    with pytest.raises(ConfigurationError, match=r"gone.toml: there is no such file\."):
        load_configuration(tmp_path / "gone.toml")
    with pytest.raises(ConfigurationError, match=r": not a plain file\."):
        load_configuration(tmp_path)
    with pytest.raises(ConfigurationError, match=r"x: it can't be read: File name too long\."):
        load_configuration(tmp_path / ("x" * 300))
    with pytest.raises(ConfigurationError, match=r"there is no table \[tool.trimtab\]"):
        load_configuration(write("[tool.other]\n", "pyproject.toml"))


def test_the_nearest_file_upwards_counts_and_nothing_is_merged(write, tmp_path):
    write("allow = ['outer']")
    inner = write("require = ['inner']", "a/b/trimtab.toml")
    deep = tmp_path / "a/b/c/d"
    deep.mkdir(parents=True)

    found = active_configuration(deep)

    assert (found.path, found.allow, found.require) == (inner, None, ("inner",))
    assert find_configuration(tmp_path / "a") == tmp_path / "trimtab.toml"


def test_in_one_folder_the_own_file_wins(write, tmp_path):
    shared = write("[tool.trimtab]\n", "pyproject.toml")
    assert find_configuration(tmp_path) == shared

    own = write("")
    assert find_configuration(tmp_path) == own


def test_a_pyproject_without_our_table_does_not_count(write, tmp_path):
    outer = write("")
    write("[project]\nname = 'trimtab-user'\n", "a/pyproject.toml")
    write("[tool.other]\nthis is no TOML", "a/b/pyproject.toml")

    assert find_configuration(tmp_path / "a/b") == outer


def test_a_broken_pyproject_that_mentions_us_is_not_passed_over(write, tmp_path):
    write("[tool.trimtab]\nallow = [", "a/pyproject.toml")

    with pytest.raises(ConfigurationError, match="can't be read as TOML"):
        find_configuration(tmp_path / "a")


def test_the_variable_comes_first_and_must_name_a_file(write, monkeypatch):
    write("allow = ['near']", "work/trimtab.toml")
    named = write("allow = ['named']", "other.toml")

    assert active_configuration().allow == ("near",)
    monkeypatch.setenv("TRIMTAB_CONFIG", str(named))
    assert active_configuration().allow == ("named",)
    monkeypatch.setenv("TRIMTAB_CONFIG", str(named) + "x")
    with pytest.raises(ConfigurationError, match="no such file"):
        active_configuration()


def test_a_prompt_reads_the_variables_that_it_is_given(write, tmp_path, monkeypatch):
    write("[prompts.'a/b']\nguidance = ['unknown']", "work/trimtab.toml")
    named = write("[prompts.'a/b']\nguidance = ['other']", "named/trimtab.toml")
    given = {"TRIMTAB_CONFIG": str(named), "TRIMTAB_PLUGINS": "off"}
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))

    table = Prompt("a", "b", environment=given).table
    assert [skipped.source.name for skipped in table.skipped] == ["other"]
    assert table.state_folder == named.parent / ".trimtab"
    elsewhere = Prompt("a", "b", environment={**given, "TRIMTAB_HOME": str(tmp_path)}).table
    assert elsewhere.state_folder == tmp_path
    with pytest.raises(UnknownProvider, match="unknown"):
        Prompt("a", "b")


def test_no_file_is_an_empty_configuration(tmp_path):
    assert active_configuration(tmp_path) == Configuration()


@pytest.mark.skipif(os.name == "nt", reason="a working directory can't be deleted there")
def test_a_deleted_working_directory_has_no_configuration(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    assert find_configuration() is None


def test_a_file_is_read_again_only_when_it_has_changed(write):
    path = write("allow = ['one']")
    first = load_configuration(path)

    assert load_configuration(path) is first
    path.write_text("allow = ['another']")
    assert load_configuration(path).allow == ("another",)


def test_a_prompt_s_table_replaces_what_its_code_declared_kind_by_kind(write, monkeypatch):
    class Check:
        def check(self, context): ...

    write(
        '[prompts."a/b"]\ncompletion = []\n[prompts."c/d"]\nguidance = ["acme-gone:loop"]',
        "work/trimtab.toml",
    )

    def build(key, **how):
        return Prompt(PromptTemplate(*key.split("/"), completion_checkers=[Check()]), **how)

    assert build("a/b").table.checks == ()
    assert len(build("x/y").table.checks) == 1
    assert len(build("a/b", config=None).table.checks) == 1
    with pytest.raises(UnknownProvider, match="'acme-gone:loop'"):
        build("c/d")


@pytest.mark.waits
def test_importing_reads_no_configuration(write, python):
    write("this is no TOML", "work/trimtab.toml")

    done = python("-c", "import trimtab; trimtab.Prompt; trimtab.Session")

    assert (done.returncode, done.stderr) == (0, "")


def test_the_folder_for_state(write, monkeypatch, tmp_path):
    configuration = write("")
    of_system, of_another = "XDG_STATE_HOME", "LOCALAPPDATA"
    if sys.platform == "win32":
        of_system, of_another = of_another, of_system
    monkeypatch.setenv(of_system, str(tmp_path / "state"))
    monkeypatch.setenv(of_another, str(tmp_path / "of another system"))

    assert state_home() == tmp_path / "state" / "trimtab"
    assert state_home(configuration) == tmp_path / ".trimtab"
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))
    assert state_home(configuration) == tmp_path / "home"
