"""From what a prompt names to a provider that can be called, and every way in which that fails."""

from __future__ import annotations

import sys

import pytest

from trimtab import (
    CompletionCheckerConfig,
    Configuration,
    FeedbackProviderConfig,
    FeedbackTrigger,
    GuidanceProviderConfig,
    ProviderError,
    enable,
)
from trimtab._plugins.resolution import read_environment
from trimtab.events import ProviderKind
from trimtab.inspection import (
    AmbiguousProvider,
    IncompatibleProvider,
    ProviderInvalid,
    ProviderLoadError,
    ProviderNotAllowed,
    ProviderOptionsError,
    UnknownProvider,
    pip_install,
    refresh,
    resolve,
    resolve_all,
)

EMPTY = Configuration()
HEAD = """
import attrs
from trimtab import ClassificationResult, FeedbackTrigger, GuidanceInjection, hookimpl
"""
LOOP = (
    HEAD
    + """
@attrs.define
class Loop:
    window_size: int = attrs.field(default=5, validator=attrs.validators.ge(2))
    mode: str = attrs.field(default="a", validator=attrs.validators.in_(("a", "b")))
    thresholds: list = attrs.field(factory=list)
    name: str = attrs.field(default="own-name", init=False)
    category: str = attrs.field(default="loops", init=False)

    @thresholds.validator
    def _rising(self, attribute, value):
        if sorted(value) != value:
            raise ValueError("must rise")

    def classify(self, *, context):
        return ClassificationResult(relevant=True)

    def provide(self, *, context):
        return GuidanceInjection("loop", "Stop.")
"""
)
CONFIGS = {
    "guidance": GuidanceProviderConfig,
    "feedback": FeedbackProviderConfig,
    "completion": CompletionCheckerConfig,
}


@pytest.fixture
def install(importable):
    """Install ``acme`` with one provider from this source; return what enabling it gives."""

    def add(module, source, *, group="guidance", attr="Loop", name="loop", **more):
        entries = f"[trimtab.{group}]\n{name} = {module}:{attr}\n"
        importable.add("acme", "1.5", entries=entries, **more, **{module: source})
        refresh()
        return lambda *args, **options: resolve(CONFIGS[group](enable(name, **options)), EMPTY)

    return add


def test_a_named_provider_is_loaded_constructed_and_says_where_it_comes_from(install):
    enabled = install("acme_whole", LOOP)

    loaded = enabled(window_size=7, mode="b")

    assert loaded.instance.window_size == 7
    assert loaded.source.full_name == "acme:loop"
    assert (loaded.source.kind, loaded.source.version) == (ProviderKind.GUIDANCE, "1.5")
    assert loaded.methods["classify"](context=None).relevant
    assert loaded.methods["provide"](context=None).content == "Stop."


def test_each_prompt_gets_an_instance_of_its_own(install):
    enabled = install("acme_twice", LOOP)

    assert enabled().instance is not enabled().instance


@pytest.mark.parametrize(
    ("module", "source", "what"),
    [
        ("acme_missing", "import acme_no_such_thing", "ModuleNotFoundError: No module named"),
        ("acme_raises", "raise RuntimeError('half\\nbaked')", "RuntimeError: half baked"),
        ("acme_exits", "raise SystemExit(3)", "SystemExit: 3"),
        ("acme_interrupts", "raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("acme_ends", "raise GeneratorExit", "GeneratorExit"),
        ("acme_group", "raise BaseExceptionGroup('two', [GeneratorExit()])", "two"),
        ("acme_syntax", "def (", "SyntaxError: invalid syntax"),
        ("acme_lacks", "Lopp = 1", "acme_lacks has no 'Loop'"),
        ("acme_mute", "class E(Exception):\n def __str__(s): 1/0\nraise E", "failed with E."),
    ],
)
def test_what_fails_on_import_names_provider_package_module_and_remedy(
    install, module, source, what
):
    enabled = install(module, source)

    with pytest.raises(ProviderLoadError) as caught:
        enabled()

    text = str(caught.value)
    assert text.startswith("Can't load the guidance provider 'loop' of acme 1.5: ")
    assert what in text
    assert module in text
    assert pip_install("acme", how="reinstall") in text
    assert isinstance(caught.value.__cause__, BaseException)


def test_a_module_that_failed_is_not_run_again(install, tmp_path):
    count = tmp_path / "count"
    source = f"with open({str(count)!r}, 'a') as f: f.write('x')\nraise RuntimeError('once')"
    enabled = install("acme_once", source)

    for _ in range(3):
        with pytest.raises(ProviderLoadError, match="once"):
            enabled()

    assert count.read_text() == "x"


def test_an_interrupt_while_importing_passes_and_is_not_remembered(install):
    enabled = install("acme_interrupt", "import signal\nsignal.raise_signal(signal.SIGINT)")

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            enabled()


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"windw_size": 3}, "no option 'windw_size'. Did you mean 'window_size'? Its options: "),
        (
            {"window_size": 1},
            "refuses its options: window_size must be 2 or more, not 1",
        ),
        (
            {"mode": "c", "window_size": 3},
            "refuses its options: mode must be one of 'a', 'b', not 'c'",
        ),
        ({"window_size": "x"}, 'refuses its options: expected integer at window_size, not "x"'),
        ({"thresholds": [2, 1]}, "refuses the option 'thresholds': must rise"),
    ],
)
def test_a_wrong_option_is_named(install, options, what):
    enabled = install("acme_options", LOOP)

    with pytest.raises(ProviderOptionsError) as caught:
        enabled(**options)

    assert str(caught.value).startswith("The guidance provider 'loop' of acme 1.5 ")
    assert what in str(caught.value)


INSIDE = (
    HEAD
    + """
import os

class Loop:
    def __init__(self, texts=(), *, folder="", redact=(), limit=1):
        self.texts = dict(texts.items()) if texts else {}
        self.redact = tuple(one.lower() for one in redact)
        self.limit = {1: folder}[limit]
        if folder == "none":
            os.listdir(folder)
"""
)


def test_a_missing_option_is_named(install):
    enabled = install("acme_needs", "def Loop(path, *, depth=1): ...")

    with pytest.raises(ProviderOptionsError, match=r"needs the option 'path'\.$"):
        enabled(depth=2)


def test_a_factory_that_takes_anything_is_asked(install):
    source = HEAD + "class Loop:\n def __init__(self, **o): raise TypeError(f'not {sorted(o)}')"
    enabled = install("acme_any", source)

    with pytest.raises(ProviderOptionsError, match=r"the options 'a', 'b': not"):
        enabled(a=1, b=2)


def test_a_factory_that_hides_what_it_takes_is_asked(install):
    enabled = install("acme_hidden", "Loop = dict")

    with pytest.raises(ProviderInvalid, match="is not a guidance provider: dict lacks"):
        enabled(anything=1)


def test_a_factory_that_refuses_its_own_defaults(install):
    enabled = install("acme_defaults", "def Loop(): raise ValueError('not on this machine')")

    with pytest.raises(ProviderOptionsError, match="refuses to be made without options: not on"):
        enabled()


def test_the_values_of_options_are_not_spread(install):
    enabled = install("acme_secret", "def Loop(key, other): raise ValueError('refused')")

    with pytest.raises(ProviderOptionsError, match="the options 'key', 'other'") as caught:
        enabled(key="sk-secret", other=2)
    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"texts": "x"}, "refuses the option 'texts': AttributeError: 'str' object has no"),
        ({"texts": "x", "folder": "y"}, "the options 'texts', 'folder': AttributeError: 'str'"),
        ({"folder": "y", "redact": None}, "the options 'folder', 'redact': 'NoneType' object is"),
        ({"folder": "y", "redact": [3]}, "the options 'folder', 'redact': AttributeError: 'int'"),
        ({"limit": 5, "folder": "y"}, "refuses the options 'limit', 'folder': KeyError: 5"),
        ({"folder": "none"}, "refuses the option 'folder': FileNotFoundError: "),
    ],
)
def test_an_option_that_fails_inside_is_to_blame_not_the_package(install, options, what):
    enabled = install("acme_inside", INSIDE)

    with pytest.raises(ProviderOptionsError) as caught:
        enabled(**options)

    assert what in str(caught.value)
    assert "reinstall" not in str(caught.value)
    assert caught.value.__cause__ is not None


def test_a_package_that_lacks_a_module_is_to_blame_whatever_the_options(install):
    enabled = install("acme_needy", "def Loop(depth): import acme_no_such_thing")

    with pytest.raises(ProviderLoadError, match="reinstall"):
        enabled(depth=1)


@pytest.mark.parametrize(
    "failure", ["raise SystemExit(4)", "raise OSError('no disk')", "raise KeyboardInterrupt"]
)
def test_a_constructor_that_fails_for_another_reason(install, failure):
    enabled = install("acme_ctor_" + failure[6], f"def Loop(): {failure}")

    with pytest.raises(ProviderLoadError, match="Can't make the guidance provider 'loop' of acme"):
        enabled()


def test_a_constructor_that_says_what_to_do_is_not_told_to_be_replaced(install):
    source = "import trimtab\ndef Loop(): raise trimtab.SessionError('pip install acme[extra]')"
    enabled = install("acme_lacks_an_extra", source)

    with pytest.raises(ProviderLoadError) as caught:
        enabled()

    assert str(caught.value).endswith("'loop' of acme 1.5: pip install acme[extra]")


def test_a_target_that_is_no_factory(install):
    enabled = install("acme_constant", "Loop = 3")

    with pytest.raises(
        ProviderInvalid, match="acme_constant:Loop is of type int; it must be a class"
    ):
        enabled()


def test_a_factory_of_something_else(install):
    enabled = install("acme_else", "def Loop(): return 3")

    with pytest.raises(
        ProviderInvalid, match=r"'loop' of acme 1\.5 is not a guidance provider: int"
    ):
        enabled()


def test_a_package_for_another_trimtab_is_refused_before_its_module_runs(install):
    enabled = install("acme_future", "raise SystemExit(3)", requires=("trimtab>=99",))

    with pytest.raises(IncompatibleProvider, match="asks for 'trimtab>=99'"):
        enabled()
    assert "acme_future" not in sys.modules


def test_the_allow_list_stops_it_before_its_module_runs(install):
    install("acme_forbidden", "raise SystemExit(3)")

    with pytest.raises(ProviderNotAllowed):
        resolve(GuidanceProviderConfig("loop"), Configuration(allow=("trimtab-*",)))
    assert "acme_forbidden" not in sys.modules


def test_a_provider_of_two_distributions_needs_the_long_form(install, importable):
    install("acme_first", LOOP)
    importable.add("other", entries="[trimtab.guidance]\nloop = acme_first:Loop\n")
    refresh()

    with pytest.raises(AmbiguousProvider, match="'acme:loop', 'other:loop'"):
        resolve(GuidanceProviderConfig("loop"), EMPTY)
    assert resolve(GuidanceProviderConfig("other:loop"), EMPTY).source.distribution == "other"


def test_feedback_takes_its_trigger_from_the_prompt_else_from_itself(install):
    source = HEAD + (
        "class Loop:\n"
        " name = 'f'\n"
        " default_trigger = FeedbackTrigger(every_n_seconds=30)\n"
        " def should_run(self, *, context): return True\n"
        " def provide(self, *, context): return None\n"
    )
    enabled = install("acme_feedback", source, group="feedback")
    given = FeedbackTrigger(every_n_calls=3)

    assert enabled().trigger == FeedbackTrigger(every_n_seconds=30)
    assert resolve(FeedbackProviderConfig("loop", given), EMPTY).trigger == given
    assert resolve(FeedbackProviderConfig("loop", FeedbackTrigger()), EMPTY).trigger.every_n_seconds


def test_feedback_without_any_trigger_is_refused():
    class Mute:
        name = "mute"

        def should_run(self, *, context): ...

        def provide(self, *, context): ...

    with pytest.raises(ProviderOptionsError, match="'mute' has no trigger of its own: set every_n"):
        resolve(FeedbackProviderConfig(Mute()), EMPTY)


def test_what_can_not_be_had_and_is_optional_is_skipped_on_record(install):
    install("acme_optional", "raise RuntimeError('broken')")
    wanted = [
        GuidanceProviderConfig(enable("loop", optional=True)),
        GuidanceProviderConfig(enable("acme-nothing:gone", optional=True)),
    ]

    resolution = resolve_all(wanted, EMPTY)

    assert resolution.providers == ()
    assert [skipped.source.full_name for skipped in resolution.skipped] == [
        "acme:loop",
        "acme-nothing:gone",
    ]
    assert "RuntimeError: broken" in resolution.skipped[0].reason
    assert "is installed" in resolution.skipped[1].reason


def test_what_is_not_optional_raises(install):
    install("acme_needed", LOOP)

    with pytest.raises(UnknownProvider):
        resolve_all([GuidanceProviderConfig("loop"), GuidanceProviderConfig("gone")], EMPTY)


class Local:
    """An object of the caller's own."""

    name = "local"
    category = "x"

    def classify(self, *, context): ...

    def provide(self, *, context): ...


def test_the_kill_switch_turns_off_by_any_form_of_the_name(install, monkeypatch):
    install("acme_killed", "raise SystemExit(3)")
    wanted = [GuidanceProviderConfig("loop"), GuidanceProviderConfig(Local())]

    for value in ("loop,local", "LOOP, Local,", "acme:loop,local", " ,Acme:Loop,local"):
        monkeypatch.setenv("TRIMTAB_DISABLE", value)
        resolution = resolve_all(wanted, EMPTY)
        assert resolution.providers == ()
        assert [s.reason for s in resolution.skipped] == ["TRIMTAB_DISABLE names it"] * 2
    assert "acme_killed" not in sys.modules


def test_a_kill_switch_for_another_distribution_leaves_it_on(install, monkeypatch):
    install("acme_alive", LOOP)
    monkeypatch.setenv("TRIMTAB_DISABLE", "other:loop,lop")

    with pytest.warns(UserWarning, match="TRIMTAB_DISABLE names") as warned:
        assert len(resolve_all([GuidanceProviderConfig("loop")], EMPTY).providers) == 1
    messages = [str(warning.message) for warning in warned]
    assert any("'lop', and no provider is called so. Did you mean 'loop'" in m for m in messages)


def test_plugins_off_loads_nothing_installed_and_keeps_the_caller_s_objects(install, monkeypatch):
    install("acme_off", "raise SystemExit(3)")
    monkeypatch.setenv("TRIMTAB_PLUGINS", "OFF")
    wanted = [GuidanceProviderConfig(name) for name in ("loop", "gone")]

    resolution = resolve_all(
        [*wanted, GuidanceProviderConfig(Local())], Configuration(require=("acme-nothing",))
    )

    assert [provider.source.name for provider in resolution.providers] == ["local"]
    assert [skipped.reason for skipped in resolution.skipped] == ["TRIMTAB_PLUGINS=off"] * 2


def test_the_require_list_is_held_against_what_is_installed():
    with pytest.raises(ProviderNotAllowed, match="requires 'acme-nothing>=1', and it is not"):
        resolve_all([], Configuration(require=("acme-nothing>=1",)))


def test_a_switch_with_another_word_is_an_error(monkeypatch):
    monkeypatch.setenv("TRIMTAB_PLUGINS", "no")

    with pytest.raises(Exception, match="TRIMTAB_PLUGINS='no': write 'on' or 'off'"):
        resolve_all([], EMPTY)


def test_no_switch_is_on():
    assert read_environment({}) == read_environment(
        {"TRIMTAB_PLUGINS": " On ", "TRIMTAB_DISABLE": ", "}
    )


@pytest.mark.waits
def test_only_what_is_named_is_imported(site, python):
    for number in range(20):
        entries = f"[trimtab.guidance]\nloop-{number} = acme_mod_{number}:Loop\n"
        site.add(f"acme-{number}", entries=entries, **{f"acme_mod_{number}": LOOP})
    code = (
        "import sys; from trimtab import Prompt, PromptTemplate; "
        "Prompt(PromptTemplate('a', 'b', guidance_providers=('loop-3', 'loop-7')), config=None); "
        "print(sorted(m for m in sys.modules if m.startswith('acme_')))"
    )

    done = python("-c", code)

    assert (done.stdout, done.stderr) == ("['acme_mod_3', 'acme_mod_7']\n", "")


def test_every_error_is_a_provider_error():
    kinds = (
        AmbiguousProvider,
        IncompatibleProvider,
        ProviderInvalid,
        ProviderLoadError,
        ProviderNotAllowed,
        ProviderOptionsError,
        UnknownProvider,
    )

    assert all(issubclass(kind, ProviderError) for kind in kinds)
