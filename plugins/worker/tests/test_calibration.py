"""Times that contradict each other are refused, and what is proposed instead works."""

import re

import attrs
import pytest
from hypothesis import given, strategies as st

from trimtab_worker import (
    CalibrationError,
    CalibrationWarning,
    DeadLetterPolicy,
    InMemoryMailbox,
    LeaseExtenderConfig,
    MailboxFacts,
    MainLoop,
    MainLoopConfig,
    SqliteMailbox,
    calibrate,
)
from trimtab_worker._lease_config import working

FACTS = MailboxFacts(engine="fake", fenced=True, reports_loss=True, call_timeout=5)
seconds = st.floats(0.1, 10_000)


def config(**values):
    lease = {
        name: values.pop(name)
        for name in ("interval", "extension", "margin", "max_total", "max_extensions", "enabled")
        if name in values
    }
    return MainLoopConfig(
        lease_extender=LeaseExtenderConfig(**lease), **{"longest_silence": 60, **values}
    )


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"longest_silence": 240},
            "longest_silence 240 s + interval 60 s + margin 10 s = 310 s",
        ),
        (
            {"visibility_timeout": 200},
            "visibility_timeout 200 s is shorter than extension 300 s",
        ),
        (
            {"longest_silence": 220, "watchdog_threshold": 200},
            "watchdog_threshold 200 s is not longer than longest_silence 220 s",
        ),
        (
            {"max_extensions": 3, "visibility_timeout": 300, "max_processing_time": 500},
            "max_processing_time is 500 s, but 3 extensions of at least 60 s",
        ),
        (
            {"max_total": 1000, "max_processing_time": 995},
            "max_processing_time is 995 s, but no lease lasts longer than 1000 s",
        ),
    ],
)
def test_a_contradiction_is_named_with_its_numbers(values, said):
    with pytest.raises(CalibrationError, match=re.escape(said)):
        calibrate(config(**values), FACTS)


def test_a_first_lease_longer_than_the_engine_grants_is_refused():
    facts = attrs.evolve(FACTS, max_grant=600)
    with pytest.raises(CalibrationError, match="visibility_timeout is 1800 s, but fake grants"):
        calibrate(config(), facts)


def test_an_engine_that_cannot_extend_needs_one_lease_for_all_of_the_work():
    facts = attrs.evolve(FACTS, extendable=False)
    with pytest.raises(CalibrationError, match=r"fake can't extend leases .* 1800 s"):
        calibrate(config(max_processing_time=1800), facts)
    with pytest.warns(CalibrationWarning, match="max_processing_time is not given"):
        calibrate(config(), facts)


def test_several_contradictions_are_named_together():
    with pytest.raises(CalibrationError) as refused:
        calibrate(config(longest_silence=900, visibility_timeout=100), FACTS)

    assert str(refused.value).count("\n  - ") == 3


def test_what_is_missing_is_a_warning_with_the_number_that_holds():
    with pytest.warns(CalibrationWarning, match="230 s without a beat may lose the lease"):
        calibrate(config(longest_silence=None), FACTS)


def test_the_defaults_of_all_engines_are_calibrated(recwarn):
    for kind in (InMemoryMailbox, SqliteMailbox):
        calibrate(config(), kind.facts)
    assert not recwarn.list


@given(
    extension=st.floats(3, 2000),
    share=st.floats(0.01, 1 / 3),
    silence=st.none() | seconds,
    work=st.none() | seconds,
    visibility=seconds,
    watchdog=st.none() | seconds,
    enabled=st.booleans(),
)
@pytest.mark.filterwarnings("ignore::trimtab_worker.CalibrationWarning")
def test_a_table_that_is_proposed_is_accepted(
    *, extension, share, silence, work, visibility, watchdog, enabled
):
    wanted = config(
        interval=extension * share,
        extension=extension,
        enabled=enabled,
        longest_silence=silence,
        max_processing_time=work,
        visibility_timeout=visibility,
        watchdog_threshold=watchdog,
    )
    proposed = working(wanted, FACTS)

    assert proposed is not None
    calibrate(proposed, FACTS)
    assert proposed.max_processing_time == wanted.max_processing_time


def test_what_no_message_could_be_worked_on_with_is_refused_when_the_loop_is_built():
    with pytest.raises(TypeError, match="lease_extender"):
        MainLoopConfig(lease_extender=5)
    with pytest.raises(TypeError, match="adapter must be one such as OpenAIAdapter"):
        MainLoop("gpt-5", InMemoryMailbox())


@pytest.mark.parametrize(
    ("make", "wrong", "meant"),
    [
        (InMemoryMailbox, "boddy", "body"),
        (SqliteMailbox, "pth", "path"),
        (DeadLetterPolicy, "max_delivery", "max_deliveries"),
    ],
)
def test_the_argument_that_is_meant_is_named(make, wrong, meant):
    with pytest.raises(TypeError, match=f"no argument '{wrong}'. Did you mean '{meant}'"):
        make(**{wrong: 1})
