"""What every provider must hold to, as test classes that a package's own tests inherit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from typing import Any, ClassVar

from trimtab import (
    DecisionPoint,
    FeedbackProviderConfig,
    FeedbackTrigger,
    TrimtabError,
    enable,
)
from trimtab.events import ProviderKind
from trimtab.inspection import PluginInfo, discover, load, options_of, select
from trimtab_testing._lab import Lab
from trimtab_testing._player import Player
from trimtab_testing._runs import Call, Item, good_runs, odd_run

ODD_RUNS = 200
"""Enough that each kind of odd call comes up beside each other; they take about a second."""
_SPEAKS_UNASKED = ("is_policy", "paces_itself")
_RESTARTED = 12
"""So many odd runs are also played with a restart before each item; each costs a snapshot."""


class ProviderConformance:
    """The tests of every kind; use the class of the provider's kind.

    Attributes:
        name: the entry name of an installed provider.
        provider: a class or function that makes one, instead of `name`.
        options: what it is made with; where left out, the provider's defaults.
        speaks_on_good_runs: set it for a provider that speaks without a reason in the run; one
            with ``is_policy`` or ``paces_itself`` needs it not.
        most_time: the most that a call may cost with the provider, in multiples of the time that
            ``json.dumps`` and a hash of one call take in the same process.
    """

    kind: ClassVar[ProviderKind]
    name: ClassVar[str | None] = None
    provider: ClassVar[Callable[..., Any] | None] = None
    options: ClassVar[Mapping[str, Any]] = {}
    speaks_on_good_runs: ClassVar[bool] = False
    most_time: ClassVar[float] = 40.0

    def entry(self) -> PluginInfo | None:
        """Return the entry of an installed provider, else None."""
        return select(self.kind.value, self.name, discover()) if self.name else None

    def factory(self) -> Callable[..., Any]:
        """Return what makes the provider."""
        entry = self.entry()
        if entry is not None:
            made: Callable[..., Any] = load(entry)
            return made
        given = type(self).__dict__.get("provider") or type(self).provider
        assert given is not None, f"{type(self).__name__} sets neither `name` nor `provider`"
        return given.__func__ if isinstance(given, staticmethod) else given

    def make(self) -> Any:
        """Return a new provider."""
        return self.factory()(**self.options)

    def configured(self) -> Any:
        """Return a new provider as a prompt declares it."""
        return self.make()

    def player(self, **more: Any) -> Player:
        """Return a player with the provider alone.

        Args:
            more: further arguments of `Player`.
        """
        providers: dict[str, Any] = {self.kind.value: [self.configured]}
        return Player(points=[*DecisionPoint], faults="record", deadline=600.0, **providers, **more)

    def said(self, player: Player) -> list[tuple[str, ...]]:
        """Return all that was said, in order.

        Args:
            player: what played the run.
        """
        guidance = (("guidance", text) for text in player.texts)
        return [*guidance, *(("feedback", str(event.summary)) for event in player.feedback)]

    def play(self, items: Iterable[Item], *, restart: bool = False) -> Player:
        """Play a run with the provider alone, and return the player.

        Args:
            items: what happens.
            restart: whether to save and restore the session before each item.
        """
        player = self.player()
        for item in items:
            if restart:
                player.restart()
            player.play([item])
        return player

    def test_it_is_made_with_its_defaults(self) -> None:
        try:
            self.player()
        except TypeError as error:
            raise AssertionError(
                f"a prompt with it can't be built: {error}; let each option have a default, or give"
                " those that it needs in `options` of the test class"
            ) from error
        except TrimtabError as error:
            raise AssertionError(f"a prompt with it can't be built: {error}") from error

    def test_an_option_of_a_wrong_type_is_refused(self) -> None:
        factory = self.factory()
        lab = Lab(**{self.kind.value: {"tested": factory}})
        for option in options_of(factory):
            assert option.type, (
                f"the option {option.name!r} has no annotation, so nobody learns which values it"
                " takes"
            )
            assert refused(lab, self.kind, {**self.options, option.name: _Wrong()}), (
                f"the option {option.name!r} takes any object; a typo in a configuration goes"
                " unnoticed"
            )

    def test_odd_runs_bring_no_fault(self) -> None:
        for seed in range(ODD_RUNS):
            _no_fault(self.play(odd_run(seed)), f"odd_run({seed}) makes it fail")

    def test_the_same_run_brings_the_same_words(self) -> None:
        for seed in range(ODD_RUNS // 4):
            first, second = (self.said(self.play(odd_run(seed))) for _ in range(2))
            assert first == second, f"odd_run({seed}) brings other words the second time"

    def test_a_restart_at_any_step_changes_no_word(self) -> None:
        for seed in range(_RESTARTED):
            whole = self.said(self.play(odd_run(seed)))
            resumed = self.said(self.play(odd_run(seed), restart=True))
            assert whole == resumed, (
                f"odd_run({seed}) with a restart before each item brings other words: keep state "
                "in a projection, which is saved with the session, not in the provider"
            )

    def test_another_process_says_the_same(self) -> None:
        if self.name is None:
            return  # only what is installed can be made in another process
        said = {_in_process(_PLAYS, self.kind.value, self.name, seed=seed) for seed in ("1", "2")}
        assert len(said) == 1, (
            "processes with different hash seeds say different things: does it go through a set?"
        )

    def test_importing_it_does_nothing_else(self) -> None:
        entry = self.entry()
        if entry is None:
            return
        found = json.loads(_in_process(_IMPORTS, entry.module))
        assert found == [], f"importing {entry.module} {', '.join(found)}"

    def test_it_is_silent_while_work_moves_on(self) -> None:
        made_to_speak = (getattr(self.factory(), name, False) for name in _SPEAKS_UNASKED)
        if self.speaks_on_good_runs or any(made_to_speak):
            return
        for name, items in good_runs().items():
            said = self.said(self.play(items))
            assert not said, (
                f"in the honest run {name!r} it says {said[0][1]!r}; a provider that is meant to"
                " has `paces_itself = True` or `is_policy = True` in its class"
            )

    def _cost(self) -> float:
        """Return what a call costs more with it, in multiples of the yardstick."""
        calls = [Call("Bash", {"command": f"make part{n}"}, f"built {n}") for n in range(200)]
        alone = min(_seconds(lambda: Player().play(calls)) for _ in range(3))
        with_it = min(_seconds(lambda: self.play(calls)) for _ in range(3))
        return (with_it - alone) / len(calls) / _yardstick()

    def test_it_takes_little_time(self) -> None:
        if sys.gettrace() is not None:
            return  # a debugger or a coverage tool takes most of the time
        cost = self._cost()
        for _ in range(2):  # a machine at work may slow one measurement, and not the yardstick
            cost = cost if cost <= self.most_time else min(cost, self._cost())
        assert cost <= self.most_time, (
            f"a call costs {cost:.0f} times json.dumps and a hash; at most {self.most_time:.0f}"
        )


class GuidanceConformance(ProviderConformance):
    """What a guidance provider must hold to; inherit it and set `name` or `provider`."""

    kind = ProviderKind.GUIDANCE

    def test_asking_twice_changes_nothing(self) -> None:
        factory = self.factory()
        if not (isinstance(factory, type) and hasattr(factory, "classify")):
            return
        twice = type(factory.__name__, (factory,), {"classify": _classify_twice})
        for seed in range(_RESTARTED):
            asked = type(self)()
            asked.factory = lambda: twice  # type: ignore[method-assign]
            once = self.said(self.play(odd_run(seed)))
            assert once == self.said(asked.play(odd_run(seed))), (
                f"odd_run({seed}) brings other words if classify is called twice: "
                "classify may look, not change"
            )


class FeedbackConformance(ProviderConformance):
    """What a feedback provider must hold to; inherit it and set `name` or `provider`."""

    kind = ProviderKind.FEEDBACK
    speaks_on_good_runs = True  # it reports when its trigger is due

    def configured(self) -> Any:
        """Return the provider, asked after every call."""
        return FeedbackProviderConfig(self.make(), FeedbackTrigger(every_n_calls=1))


class CompletionConformance(ProviderConformance):
    """What a completion checker must hold to; inherit it and set `name` or `provider`."""

    kind = ProviderKind.COMPLETION
    speaks_on_good_runs = True  # it speaks only when it is asked

    def said(self, player: Player) -> list[tuple[str, ...]]:
        """Ask whether the agent may stop, and return the answer.

        Args:
            player: played to where the agent wants to stop.
        """
        checked = player.may_stop()
        _no_fault(player, "it fails")
        return [(checked.status.value, checked.feedback or "")]


class RecorderConformance(ProviderConformance):
    """What a recorder must hold to; inherit it and set `name` or `provider`."""

    kind = ProviderKind.RECORDER
    most_time = 200.0  # it writes all that happens

    def said(self, player: Player) -> list[tuple[str, ...]]:
        """Return the records of other packages, which a recorder may add to a run.

        Args:
            player: what played the run.
        """
        return [("record", type(record).__name__) for record in player.added]

    def test_it_is_silent_while_work_moves_on(self) -> None:
        for name, items in good_runs().items():
            assert not self.play(items).delivered, f"in {name!r} something spoke for it"

    def test_it_ends_with_the_run(self) -> None:
        for seed in range(_RESTARTED):
            player = self.play(odd_run(seed))
            player.run.close()
            _no_fault(player, f"odd_run({seed}), closed at its end, makes it fail")


def _no_fault(player: Player, what: str) -> None:
    """Fail with the first fault, below the traceback of what the provider raised."""
    for event, error in zip(player.faults, player.causes, strict=True):
        raise AssertionError(f"{what} in {event.hook}: {event.error}") from error


SUITES = {suite.kind.value: suite for suite in ProviderConformance.__subclasses__()}


class _Wrong:
    """No option takes it."""


def _classify_twice(self: Any, *, context: Any) -> Any:
    original: Callable[..., Any] = getattr(super(type(self), self), "classify")  # noqa: B009
    original(context=context)
    return original(context=context)


def refused(lab: Lab, kind: ProviderKind, options: Mapping[str, Any]) -> bool:
    """Return whether a provider can't be made with these options."""
    try:
        lab.prompt(**{kind.value: [enable("tested", **options)]})
    except TrimtabError:
        return True
    return False


def _seconds(work: Callable[[], object]) -> float:
    began = time.process_time()  # other programs on the machine do not count
    work()
    return time.process_time() - began


def _yardstick() -> float:
    call = {"tool": "Bash", "params": {"command": "make part"}, "result": "built " * 30}

    def work() -> None:
        for _ in range(1000):
            blake2b(json.dumps(call, sort_keys=True).encode()).digest()

    return min(_seconds(work) for _ in range(3)) / 1000


def _in_process(code: str, *arguments: str, seed: str = "0") -> str:
    """Run code in a fresh interpreter; return what it prints."""
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


_PLAYS = """
import sys
from trimtab_testing._conformance import SUITES
from trimtab_testing._runs import odd_run
suite = type("Suite", (SUITES[sys.argv[1]],), {"name": sys.argv[2]})()
print([suite.said(suite.play(odd_run(seed))) for seed in range(20)])
"""
_IMPORTS = """
import importlib, io, json, os, sys, threading
found = set()
def writes(path, mode, flags):
    if isinstance(path, int) or ".pyc" in str(path):
        return False  # what is open already; what Python keeps of a module
    return bool(set(mode) & set("wax+")) if mode else bool(flags & (os.O_WRONLY | os.O_RDWR))
def watch(event, arguments):
    if event in ("socket.connect", "socket.bind"):
        found.add("opens a connection")
    elif event in ("subprocess.Popen", "os.system", "os.fork"):
        found.add("starts a process")
    elif event == "open" and writes(*arguments):
        found.add("writes a file")
sys.addaudithook(watch)
real, sys.stdout, sys.stderr = sys.stdout, io.StringIO(), io.StringIO()
importlib.import_module(sys.argv[1])
if sys.stdout.getvalue() or sys.stderr.getvalue():
    found.add("prints")
if threading.active_count() > 1:
    found.add("starts a thread")
real.write(json.dumps(sorted(found)))
"""
