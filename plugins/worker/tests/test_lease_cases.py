"""Public faults of leases as tests; the ids are those of the collection of lease cases."""

import random

import attrs
import pytest

from trimtab import Heartbeat
from trimtab_worker import (
    CalibrationError,
    Capped,
    Granted,
    LeaseCapNear,
    LeaseExtender,
    LeaseExtenderConfig,
    LeaseLost,
    LeaseState,
    Lost,
    MailboxFacts,
    MainLoopConfig,
    ReceiptHandleExpiredError,
    Unknown,
    calibrate,
)

SQS_LIKE = MailboxFacts(engine="SQS", fenced=False, reports_loss=False, max_total=43_200)
PLAIN = MailboxFacts(engine="fake", fenced=True, reports_loss=True)


def config(interval=60, extension=300, **values):
    lease = LeaseExtenderConfig(interval=interval, extension=extension, **values.pop("lease", {}))
    return MainLoopConfig(lease_extender=lease, **values)


# A. Calibration.


def test_a1_a_long_first_lease_is_never_shortened(stage):
    lease = stage.attach(stage.fake.message(visibility=1800))
    stage.beat(after=5)
    stage.pass_time(1400, beat_every=60)

    assert lease.deadline >= 1790
    assert stage.asked == []
    stage.pass_time(400, beat_every=60)
    assert all(when + seconds >= 1800 for when, seconds in stage.asked)
    assert stage.asked


def test_a1_in_memory_an_early_beat_leaves_the_first_lease_alone(stage):
    stage.memory.send("x")
    (message,) = stage.memory.receive(visibility=1800)
    stage.attach(message)
    stage.beat(after=5)
    stage.pass_time(1700)

    assert list(stage.memory.receive()) == []


def test_a2_the_seeds_table_is_refused_with_its_numbers_and_one_that_works():
    table = config(
        interval=60,
        extension=300,
        visibility_timeout=1800,
        max_processing_time=600,
        watchdog_threshold=720,
    )
    with pytest.raises(CalibrationError) as refused:
        calibrate(table, PLAIN)

    said = str(refused.value)
    assert "extension is 300 s, but max_processing_time (longest_silence is not given)" in said
    assert "600 s + interval 60 s + margin 10 s = 670 s" in said
    assert "extension=670" in said
    calibrate(
        config(
            interval=60,
            extension=670,
            visibility_timeout=1800,
            max_processing_time=600,
            watchdog_threshold=720,
        ),
        PLAIN,
    )


def test_a2_a_declared_operation_of_600_seconds_holds_the_lease(stage):
    lease = stage.attach(stage.fake.message(visibility=300))
    stage.pass_time(5)
    with stage.heartbeat.expect(600):
        stage.pass_time(600)
    stage.pass_time(5)

    assert lease.state is LeaseState.HELD
    assert stage.names() == []


def test_a3_work_longer_than_a_lease_that_is_not_extended_is_refused():
    with pytest.raises(CalibrationError, match=r"6000 s, but leases are not extended .* 3600 s"):
        calibrate(
            config(lease={"enabled": False}, visibility_timeout=3600, max_processing_time=6000),
            PLAIN,
        )


def test_a4_an_extension_shorter_than_two_slow_calls_is_refused():
    slow = attrs.evolve(PLAIN, call_timeout=12)
    with pytest.raises(CalibrationError, match=r"extension is 10 s, but two calls .* = 27 s"):
        calibrate(config(interval=3, extension=10, longest_silence=2), slow)


def test_a4_a_slow_call_makes_the_lease_shaky_before_it_is_lost(stage):
    stage.fake.answer = Unknown("timed out")
    lease = stage.attach(stage.fake.message(visibility=30), interval=5, extension=30)
    stage.beat(after=6)

    assert lease.state is LeaseState.SHAKY
    stage.pass_time(30, beat_every=2)
    assert stage.names() == ["LeaseShaky", "LeaseLost"]


def test_a6_a_lease_shorter_than_asked_is_noticed_and_kept(stage):
    stage.fake.answer = lambda seconds: Granted(min(seconds, 30))
    lease = stage.attach(stage.fake.message(visibility=30), interval=60, extension=300)
    stage.pass_time(300, beat_every=3)

    assert lease.state is LeaseState.HELD
    assert stage.names() == ["LeaseGrantDiffers"]
    assert stage.events[0].granted == 30
    assert stage.events[0].asked > 60


def test_a7_the_lease_of_a_later_attempt_is_no_shorter(stage):
    stage.memory.send("x")
    for _ in range(2):
        (message,) = stage.memory.receive(visibility=180)
        message.nack()
    (message,) = stage.memory.receive(visibility=180)
    lease = stage.attach(message, interval=10, extension=60)

    assert lease.remaining() == 180 - lease.config.safety


# B. Limits in total.


def test_b4_a_limit_of_ones_own_is_reported_with_its_reason(stage):
    stage.attach(stage.fake.message(visibility=300), max_total=3600)
    stage.pass_time(4000, beat_every=30)

    near = next(event for event in stage.events if isinstance(event, LeaseCapNear))
    assert (near.limit, near.reason) == (3600, "max_total of LeaseExtenderConfig")
    assert near.remaining > 300
    assert max(when + seconds for when, seconds in stage.asked) <= 3600
    assert stage.names() == ["LeaseCapNear", "LeaseLost"]


def test_b5_work_longer_than_all_extensions_is_refused():
    with pytest.raises(CalibrationError, match=r"max_processing_time is 6 s, but .* 5 s after"):
        calibrate(
            config(
                interval=0.5,
                extension=2,
                lease={"max_total": 5},
                longest_silence=0.5,
                max_processing_time=6,
            ),
            attrs.evolve(PLAIN, call_timeout=0.1),
        )


# C. Lost leases.


def test_c1_the_old_owner_is_told_and_the_new_owner_keeps_its_lease(stage):
    stage.memory.send("x")
    (old,) = stage.memory.receive(visibility=60)
    stage.clock.advance(61)
    (new,) = stage.memory.receive(visibility=60)

    assert isinstance(old.extend(600), Lost)
    stage.clock.advance(60)
    assert new.deliveries == 2
    assert len(stage.memory.receive()) == 1


def test_c1_a_refusal_ends_the_lease_for_good_with_one_event(stage):
    stage.fake.answer = Lost("delivered again")
    lease = stage.attach(stage.fake.message(visibility=300))
    stage.pass_time(1000, beat_every=10)

    assert len(stage.asked) == 1
    assert [(event.reason, event.final) for event in stage.events] == [("delivered again", True)]
    assert (lease.state, lease.final) == (LeaseState.LOST, True)


def test_c3_the_fence_is_the_attempt_not_the_name_of_the_worker(stage):
    stage.memory.send("x")
    (first,) = stage.memory.receive(visibility=10)
    stage.clock.advance(11)
    (second,) = stage.memory.receive(visibility=10)

    assert not first.ack()
    assert second.ack()


def test_c5_a_late_extension_that_is_accepted_is_reported_as_regained(stage):
    lease = stage.attach(stage.fake.message(visibility=60), interval=10, extension=60)
    stage.pass_time(61)
    stage.beat()

    assert stage.names() == ["LeaseLost", "LeaseRegained"]
    assert stage.events[0].final is False
    assert lease.state is LeaseState.HELD


def test_c8_where_the_engine_reports_no_loss_the_local_deadline_decides(stage):
    stage.fake.facts = attrs.evolve(stage.fake.facts, reports_loss=False)
    lease = stage.attach(stage.fake.message(visibility=60), interval=10, extension=60)
    stage.pass_time(61)
    stage.beat()

    assert stage.names() == ["LeaseLost"]
    assert (lease.state, stage.asked) == (LeaseState.LOST, [])


def test_c9_an_expired_receipt_handle_is_a_loss_and_work_goes_on(stage, caplog):
    class Foreign:
        id = "f"
        calls = 0

        def extend_visibility(self, seconds):
            self.calls += 1
            raise ReceiptHandleExpiredError("gone")

    message = Foreign()
    lease = stage.attach(message)
    stage.pass_time(600, beat_every=10)

    assert (message.calls, lease.final) == (1, True)
    assert "lease of message f is lost: gone" in caplog.text


# D. Failures that pass.


def test_d3_a_storm_of_beats_makes_no_storm_of_calls(stage):
    stage.fake.answer = Unknown("down")
    stage.attach(stage.fake.message(visibility=300))
    stage.clock.advance(60)
    for _ in range(10_000):
        stage.clock.advance(0.001)
        stage.heartbeat.beat()
        stage.keeper.step()

    assert 1 <= len(stage.asked) <= 6


def test_d3_calls_back_off_until_the_lease_ends(stage):
    stage.fake.answer = Unknown("down")
    stage.attach(stage.fake.message(visibility=300))
    stage.pass_time(600, step=0.25, beat_every=1)
    pauses = [b - a for (a, _), (b, _) in zip(stage.asked, stage.asked[1:], strict=False)]

    assert max(pauses) <= 46
    assert pauses[:3] == sorted(pauses[:3]) or min(pauses) >= 0.25
    assert stage.names().count("LeaseShaky") == 1


def test_d5_a_late_answer_counts_from_the_moment_of_the_question(stage):
    def slow(seconds):
        stage.clock.advance(30)
        return Granted(60)

    stage.fake.answer = slow
    lease = stage.attach(stage.fake.message(visibility=60), interval=10, extension=60, margin=1)
    stage.clock.advance(10)
    stage.heartbeat.beat()
    stage.keeper.step()

    assert lease.deadline == 10 + 60 - 1


@pytest.mark.parametrize("error", [KeyError("odd"), SystemExit(3), GeneratorExit(), MemoryError()])
def test_d7_a_strange_error_is_an_unknown_outcome(stage, error):
    def fail(seconds):
        raise error

    stage.fake.answer = fail
    lease = stage.attach(stage.fake.message(visibility=300))
    stage.beat(after=61)

    assert lease.state is LeaseState.SHAKY
    assert type(error).__name__ in stage.events[0].error


def test_d7_one_failure_does_not_end_the_lease(stage):
    answers = iter([Unknown("503"), None])
    stage.fake.answer = lambda seconds: next(answers, None)
    lease = stage.attach(stage.fake.message(visibility=300))
    stage.pass_time(900, beat_every=10)

    assert lease.state is LeaseState.HELD
    assert stage.names() == ["LeaseShaky"]


# E. The end of the block.


def test_e4_nothing_is_registered_after_the_blocks(stage):
    for number in range(2):
        stage.attach(stage.fake.message(identifier=str(number)))
    stage.release()

    assert len(stage.keeper) == 0
    assert stage.heartbeat._callbacks == ()


def test_e5_attaching_twice_is_an_error_and_leaves_the_first_alone(stage):
    extender = LeaseExtender(LeaseExtenderConfig(), keeper=stage.keeper)
    with extender.attach(stage.fake.message(visibility=300), stage.heartbeat) as lease:
        with pytest.raises(RuntimeError, match="already attached"):
            with extender.attach(stage.fake.message(), stage.heartbeat):
                pass
        stage.pass_time(900, beat_every=10)
        assert lease.state is LeaseState.HELD
    with extender.attach(stage.fake.message(), stage.heartbeat):
        pass


def test_e5_a_disabled_extender_may_nest(stage):
    extender = LeaseExtender(LeaseExtenderConfig(enabled=False), keeper=stage.keeper)
    with extender.attach(stage.fake.message(), stage.heartbeat):
        with extender.attach(stage.fake.message(), stage.heartbeat):
            stage.pass_time(900, beat_every=10)

    assert stage.asked == []


def test_e6_beats_within_an_inner_block_extend_the_outer_lease(stage):
    outer = stage.attach(stage.fake.message(identifier="outer"))
    inner = LeaseExtender(LeaseExtenderConfig(), keeper=stage.keeper)
    with inner.attach(stage.fake.message(identifier="inner"), stage.heartbeat):
        stage.pass_time(100, beat_every=10)
    stage.pass_time(600, beat_every=10)

    assert outer.state is LeaseState.HELD
    late = [name for when, name, _ in stage.fake.asked if when > 101]
    assert set(late) == {"outer"}


# F. Who beats.


def test_f1_a_stuck_worker_loses_its_message_in_stall_plus_extension(stage):
    stage.memory.send("x")
    (message,) = stage.memory.receive(visibility=60)
    stage.attach(message, interval=10, extension=60)
    stage.pass_time(100, beat_every=5)
    stage.pass_time(55)
    assert list(stage.memory.receive()) == []
    stage.pass_time(6)

    assert [one.deliveries for one in stage.memory.receive()] == [2]


def test_f10_without_a_thread_attaching_fails_before_the_work(stage, monkeypatch):
    import threading

    from trimtab_worker import Keeper

    def fail(self):
        raise RuntimeError("can't start new thread")

    keeper = Keeper()
    monkeypatch.setattr(threading.Thread, "start", fail)
    worked = []
    with pytest.raises(RuntimeError, match="can't start"):
        with LeaseExtender(keeper=keeper).attach(stage.fake.message(), stage.heartbeat):
            worked.append(1)

    assert (worked, len(keeper)) == ([], 0)


def test_f12_of_ten_jobs_only_the_stuck_one_loses_its_lease(stage):
    hearts = [Heartbeat(stage.clock) for _ in range(10)]
    leases = [
        stage.attach(stage.fake.message(identifier=str(n)), heartbeat=heart)
        for n, heart in enumerate(hearts)
    ]
    for _ in range(60):
        stage.clock.advance(10)
        for heart in hearts[1:]:
            heart.beat()
        stage.keeper.step()

    assert [lease.lost for lease in leases] == [True] + [False] * 9


# G. Clocks.


def test_g1_only_durations_count_whatever_the_wall_clock_says(stage):
    from datetime import timedelta

    lease = stage.attach(stage.fake.message(visibility=300))
    stage.clock.set_wall(stage.clock.now() + timedelta(hours=10))
    stage.pass_time(900, beat_every=10)

    assert lease.state is LeaseState.HELD
    assert stage.names() == []


def test_g3_a_lease_that_ended_during_suspension_is_noticed_at_once(stage):
    lease = stage.attach(stage.fake.message(visibility=120), interval=10, extension=120)
    stage.beat(after=5)
    stage.clock.advance(200)
    stage.keeper.step()

    assert lease.lost
    assert stage.names() == ["LeaseLost"]


def test_g3_the_clock_of_leases_includes_suspension():
    import time

    from trimtab_worker import LEASE_CLOCK

    if not hasattr(time, "CLOCK_BOOTTIME"):
        pytest.skip("this system can't tell suspension")
    assert abs(LEASE_CLOCK.monotonic() - time.clock_gettime(time.CLOCK_BOOTTIME)) < 1


# H, I.


def test_h10_a_process_that_lives_is_no_proof_of_work(stage):
    lease = stage.attach(stage.fake.message(visibility=300))
    stage.pass_time(301)

    assert lease.lost
    assert stage.asked == []


# Cases that others reported in public, for the extender.


def test_lease_12h_cap_is_announced_and_never_passed(stage):
    stage.fake.facts = SQS_LIKE
    stage.attach(stage.fake.message(visibility=300))
    stage.pass_time(43_000, step=10, beat_every=30)
    stage.beat()
    stage.pass_time(400, beat_every=100)

    assert max(when + seconds for when, seconds in stage.asked) <= 43_200
    assert all(when < 43_200 for when, _ in stage.asked)
    near = next(event for event in stage.events if isinstance(event, LeaseCapNear))
    assert 590 <= near.remaining <= 610


def test_lease_12h_cap_as_the_engine_reports_it(stage):
    stage.fake.answer = Capped(43_200)
    stage.attach(stage.fake.message(visibility=300))
    stage.pass_time(1000, beat_every=10)

    assert len(stage.asked) == 1
    assert stage.names() == ["LeaseCapNear", "LeaseLost"]


def test_lease_hung_but_alive_is_not_extended(stage):
    stage.attach(stage.fake.message(visibility=300))
    stage.beat(after=10)
    stage.pass_time(390)
    stage.pass_time(400)

    assert stage.asked == []
    assert [type(event) for event in stage.events] == [LeaseLost]


def test_lease_max_extensions_bounds_them_and_says_so(stage):
    stage.attach(stage.fake.message(visibility=120), interval=30, extension=120, max_extensions=60)
    stage.pass_time(2070, beat_every=30)
    extended = len(stage.asked)
    stage.pass_time(2070, beat_every=30)

    assert extended <= 60
    assert len(stage.asked) == 60
    assert stage.names() == ["LeaseCapNear", "LeaseLost"]


def test_lease_partial_batch_failure_spoils_no_other_lease(stage):
    stage.fake.refused = "m2"
    leases = [stage.attach(stage.fake.message(identifier=name)) for name in ("m1", "m2", "m3")]
    stage.beat(after=200)

    states = [lease.state for lease in leases]
    assert states == [LeaseState.HELD, LeaseState.SHAKY, LeaseState.HELD]


def test_lease_stop_before_delete_asks_for_nothing_afterwards(stage):
    lease = stage.attach(stage.fake.message(visibility=30), interval=5, extension=30)
    stage.beat(after=10)
    asked = len(stage.asked)
    stage.pass_time(40)
    stage.release()
    stage.beat()
    stage.pass_time(60, beat_every=1)

    assert len(stage.asked) == asked
    assert lease.state is LeaseState.RELEASED


# Others of the kind.


def test_the_first_beat_counts_on_a_clock_that_starts_at_zero(stage):
    """A foreign message without a known lease is extended at its first beat."""
    lease = stage.attach(stage.fake.message(visibility=None))
    stage.beat(after=1)

    assert stage.asked == [(1.0, 300.0)]
    assert lease.remaining() == 290


def test_beats_before_the_lease_prove_nothing(stage):
    stage.heartbeat.beat()
    stage.attach(stage.fake.message(visibility=None))
    stage.pass_time(100)

    assert stage.asked == []


def test_a_beat_extends_at_most_once(stage):
    stage.attach(stage.fake.message(visibility=300))
    stage.beat(after=100)
    stage.pass_time(100)

    assert stage.asked == [(100.0, 300.0)]


def test_a_lease_lasts_from_the_beat_not_from_the_moment_of_asking(stage):
    stage.attach(stage.fake.message(visibility=300))
    stage.clock.advance(90)
    stage.heartbeat.beat()
    stage.clock.advance(20)
    stage.keeper.step()

    assert stage.asked == [(110.0, 280.0)]


def test_a_grant_is_never_longer_than_the_engine_grants(stage):
    stage.fake.facts = attrs.evolve(stage.fake.facts, max_grant=600)
    stage.attach(stage.fake.message(visibility=300))
    with stage.heartbeat.expect(5000):
        stage.pass_time(5000)

    assert max(seconds for _, seconds in stage.asked) <= 600
    assert stage.names() == []


@pytest.mark.parametrize("seed", range(20))
def test_a_healthy_worker_within_its_calibration_never_loses_its_lease(stage, seed):
    chance = random.Random(seed)
    interval, extension = 30.0, 120.0
    longest = extension - interval - 6 - 2
    lease = stage.attach(stage.fake.message(visibility=120), interval=interval, extension=extension)
    for _ in range(50):
        stage.pass_time(chance.uniform(0, longest))
        stage.heartbeat.beat()

    assert not lease.lost
    assert stage.names() == []


@pytest.mark.parametrize(
    "values",
    [
        {"interval": 0},
        {"interval": -1},
        {"extension": float("nan")},
        {"extension": float("inf")},
        {"interval": 101, "extension": 300},
        {"max_extensions": 0},
        {"margin": -1},
    ],
)
def test_l08_nonsense_is_refused(values):
    with pytest.raises(ValueError, match=r"must be a finite number above 0|more than a third"):
        LeaseExtenderConfig(**values)


def test_two_leases_in_one_block_are_both_kept(stage):
    first = stage.attach(stage.fake.message(identifier="a"))
    second = stage.attach(stage.fake.message(identifier="b"))
    stage.pass_time(900, beat_every=20)

    assert not first.lost
    assert not second.lost
    assert {name for _, name, _ in stage.fake.asked} == {"a", "b"}
