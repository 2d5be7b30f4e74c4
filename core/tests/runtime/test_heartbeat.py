"""Heartbeats and their callbacks."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from trimtab import Heartbeat, ManualClock


def fail():
    raise RuntimeError("broken callback")


def test_elapsed_counts_from_the_last_beat():
    clock = ManualClock()
    heart = Heartbeat(clock)
    clock.advance(5)
    assert heart.elapsed() == 5
    heart.beat()
    assert heart.elapsed() == 0


def test_callbacks_run_in_order():
    heart, seen = Heartbeat(), []
    heart.add_callback(lambda: seen.append(1))
    heart.add_callback(lambda: seen.append(2))
    heart.beat()
    assert seen == [1, 2]


def test_a_broken_callback_stops_no_other_and_is_reported():
    heart, seen = Heartbeat(), []
    heart.add_callback(fail)
    heart.add_callback(lambda: seen.append(1))
    heart.beat()
    assert seen == [1]
    assert [str(error) for error in heart.faults] == ["broken callback"]


def test_faults_are_bounded():
    heart = Heartbeat()
    heart.add_callback(fail)
    for _ in range(50):
        heart.beat()
    assert len(heart.faults) == 20


def test_beats_of_many_threads_all_reach_the_callback():
    heart, seen = Heartbeat(), []
    heart.add_callback(lambda: seen.append(1))
    with ThreadPoolExecutor(4) as pool:
        for _ in range(400):
            pool.submit(heart.beat)
    assert len(seen) == 400


def test_beats_are_counted():
    heart = Heartbeat()
    heart.beat()
    heart.beat()
    assert heart.beats == 2


def test_a_declared_silence_counts_down_and_is_a_beat():
    clock = ManualClock()
    heart = Heartbeat(clock)
    heart.expect(600)
    clock.advance(100)
    assert (heart.expected(), heart.beats) == (500, 1)
    clock.advance(501)
    assert heart.expected() == 0.0


def test_a_declared_silence_ends_with_its_block_and_a_beat():
    clock = ManualClock()
    heart = Heartbeat(clock)
    with heart.expect(600):
        clock.advance(30)
    assert (heart.expected(), heart.elapsed(), heart.beats) == (0.0, 0, 2)


def test_the_longest_of_two_declared_silences_counts():
    heart = Heartbeat(ManualClock())
    long = heart.expect(600)
    with heart.expect(60):
        heart.beat()
        assert heart.expected() == 600
    assert heart.expected() == 600
    long.end()
    assert heart.expected() == 0.0


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_a_silence_without_a_length_is_refused(seconds):
    with pytest.raises(ValueError, match="finite number of seconds above 0"):
        Heartbeat().expect(seconds)
