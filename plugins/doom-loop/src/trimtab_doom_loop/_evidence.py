"""What the last actions show together, where no rule finds a loop in them.

Each fact adds points, and more of it mostly more. The points are fitted, by
``python tests/bench/evidence.py fit``, to cases and recorded runs in many languages. No fact is
about words, so that the same run in another language gets the same points, and what is found is
told as a doubt: the agent goes on if it knows better.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice, takewhile
from math import inf, log1p
from typing import NamedTuple

from trimtab_doom_loop._actions import Action
from trimtab_doom_loop._effects import has_moved
from trimtab_doom_loop._excuses import watched
from trimtab_doom_loop._kept import Actions
from trimtab_doom_loop._loop import Loop, LoopKind, loop_of
from trimtab_doom_loop._repeats import follows_news
from trimtab_doom_loop._similarity import different_things, each_names_its_own, numbered_names
from trimtab_signals import CallRecord, is_aside, span_of

_WINDOW = 24
"""Actions that are looked back at; more teach nothing, and cost time."""
_ALIKE = 0.7
"""Share of the words of two texts that are in both, if they are alike."""
_LATELY, _OF_LATE = 4, 12
_UNKNOWN = -1.0
"""Below every pause."""
_WATCH = log1p(300.0)
"""Pause that no model takes before a call."""
_LEAST, _MOST, _GROWTH = 0.6, 0.8, 0.1
"""Confidence of what is only just told, of the surest, and for each point above that."""


class Facts(NamedTuple):
    """What is seen at one action and in the last 24 before it.

    Attributes:
        equal: how many of these made the same calls and got the same answers.
        in_a_row: how many of the latest that made the same calls did, since anything was changed.
        answers: how many got the same answer, from any tool.
        alike: how many calls of the tool got an answer in much the same words.
        tool: how many are calls of the tool.
        same_tool: how many of them come last.
        kinds: share of different actions among the last twelve.
        new: share of words in the last four answers that neither an earlier answer nor the
            arguments hold.
        asked_new: share of words in the arguments of the last four that no earlier one had.
        failures: how many fail in a row.
        size: characters of the answer, as ``log(1 + n)``.
        asked_size: characters of the arguments, as ``log(1 + n)``.
        pause: seconds since the same calls ended, as ``log(1 + s)``; -1 if unknown, or new.
        things: 1 if the last calls of the tool are about different things, such as those of a list.
    """

    equal: float
    in_a_row: float
    answers: float
    alike: float
    tool: float
    same_tool: float
    kinds: float
    new: float
    asked_new: float
    failures: float
    size: float
    asked_size: float
    pause: float
    things: float


START = -3.31
"""Where the sum begins."""
POINTS: Mapping[str, Sequence[tuple[float, float]]] = {
    "equal": (
        (2, 0.40),
        (3, 0.87),
        (12, -0.39),
    ),
    "in_a_row": (
        (2, 0.76),
        (3, 0.29),
    ),
    "answers": (
        (2, 0.47),
        (3, 0.55),
    ),
    "alike": (
        (2, 0.15),
        (3, 1.00),
    ),
    "tool": (
        (2, 0.14),
        (3, 0.35),
        (10, -0.43),
        (12, -0.29),
    ),
    "same_tool": (
        (3, 0.62),
        (4, 0.06),
    ),
    "kinds": (
        (0.57, -0.24),
        (0.71, -0.18),
    ),
    "new": (
        (0.02, -0.43),
        (0.19, -0.15),
    ),
    "asked_new": ((0.3, -0.19),),
    "failures": ((3, 1.35),),
    "size": (
        (2.94, 0.40),
        (3.58, 0.26),
        (3.74, 0.25),
        (3.91, 0.19),
        (4.14, 0.21),
        (5.44, -1.50),
        (7.41, -0.73),
    ),
    "asked_size": (
        (2.77, 0.08),
        (2.94, 0.06),
        (3.3, 0.18),
        (3.71, 0.27),
        (4.77, -0.94),
    ),
    "pause": ((1.95, 0.23),),
}
"""By fact: from which value on how many points are added. A loop is told above none."""


def points_of(facts: Facts) -> float:
    """Return how sure it is that this is a loop: logarithms of odds, above 0 where it is told.

    A list is gone through, and what is called after minutes is looked at from time to time.
    """
    if facts.things or facts.pause >= _WATCH:
        return -inf
    return START + sum(
        points
        for fact, steps in POINTS.items()
        for least, points in steps
        if getattr(facts, fact) >= least
    )


def worth_weighing(actions: Actions, times: int) -> bool:
    """Tell cheaply whether the last of `actions` may repeat something, `times` times or more.

    Waits, watches and command lines are left to the rules, which know how long the ones may last
    and what the others do; a change that was not made before is work, and so is a note on news. By
    points alone recorded runs that worked were told of them.
    """
    action = actions.kept[-1]
    call = action.calls[0]
    if len(action.calls) > 1 or call.command is not None or is_aside(call.tool):
        return False
    if actions.newest_is_news and not actions.may_repeat(action):
        return False
    is_work = action.earlier < 0 and call.profile.writes and not call.failed
    if is_work or action.excused or actions.count_alike(call) < times or action.waits:
        return False
    if has_moved(actions):
        return False
    of_tool = [one for one in actions.alike_in_tool(call) if len(one.calls) == 1][::-1]
    if watched(actions, action, of_tool[0].number, [span_of(one.calls[-1]) for one in of_tool]):
        return False
    same = [one.number for one in of_tool if one.asked == action.asked]
    return call.reads or len(same) < 2 or not follows_news(call, [*actions.since(same[0] + 1)])


def find_by_evidence(actions: Actions, times: int) -> Loop | None:
    """Find a loop by all facts together.

    Args:
        actions: whose last one is judged.
        times: how many actions must be much alike.
    """
    if not worth_weighing(actions, times):
        return None
    points = points_of(facts_of(actions))
    if points <= 0:
        return None
    last = _window(actions)
    action = last[-1]
    call = action.calls[0]
    like = sum(_is_like(one, action) for one in last)
    if like < times:
        return None
    return loop_of(
        LoopKind.STALLED,
        call,
        times=like,
        length=action.number - last[0].number + 1,
        members=frozenset({call.fingerprint, f"{LoopKind.STALLED} {call.tool}"}),
        confidence=min(_MOST, _LEAST + _GROWTH * points),
    )


def facts_of(actions: Actions) -> Facts:
    """Return what is seen at the last of `actions`; see `find_by_evidence`."""
    every = _window(actions)
    action, last = every[-1], every[:-1]
    call = action.calls[0]
    of_tool = [one for one in last if one.calls[0].tool == call.tool]
    same = [one for one in last if one.asked == action.asked]
    lately = every[-_OF_LATE:]
    new, asked_new = _new(every)
    since = max(
        (one.number for one in last if one.changes and one.asked != action.asked), default=-1
    )
    return Facts(
        equal=sum(one.kind == action.kind for one in same),
        in_a_row=_in_a_row(same, lambda one: one.kind == action.kind and one.number > since),
        answers=sum(one.calls[0].output_fingerprint == call.output_fingerprint for one in last),
        alike=sum(_share(one.seen.said, action.seen.said) >= _ALIKE for one in of_tool),
        tool=len(of_tool),
        same_tool=_in_a_row(last, lambda one: one.calls[0].tool == call.tool),
        kinds=len({one.kind for one in lately}) / len(lately),
        new=new,
        asked_new=asked_new,
        failures=_in_a_row(every, lambda one: one.calls[0].failed),
        size=log1p(call.size),
        asked_size=log1p(len(call.params_text)),
        pause=_pause(same, action),
        things=_are_different([one.calls[0] for one in [*of_tool[-_LATELY:], action]]),
    )


def _window(actions: Actions) -> list[Action]:
    """Return the last actions of one call: which of several stands for them, only a name tells."""
    last = islice(reversed(actions.kept), _WINDOW + 1)
    return [one for one in last if len(one.calls) == 1][::-1]


def _in_a_row(actions: Sequence[Action], is_so: Callable[[Action], bool]) -> int:
    """Return of how many of the latest actions something is so."""
    return sum(1 for _ in takewhile(is_so, reversed(actions)))


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / (len(one | other) or 1)


def _is_like(one: Action, action: Action) -> bool:
    """Tell whether two actions are much alike: in what they ask, or in what one tool answers."""
    return one.calls[0].tool == action.calls[0].tool and (
        one.asked == action.asked
        or _share(one.seen.said, action.seen.said) >= _ALIKE
        or _share(one.seen.asked, action.seen.asked) >= _ALIKE
    )


def _are_different(calls: Sequence[CallRecord]) -> bool:
    asked = len({call.fingerprint for call in calls})
    return asked == len(calls) > 1 and (
        each_names_its_own(calls) or different_things(calls) or numbered_names(calls)
    )


def _new(every: Sequence[Action]) -> tuple[float, float]:
    """Return the shares of new words in the last answers and in their arguments."""
    told: set[str] = set()
    given: set[str] = set()
    shares = []
    for one in every:
        said, asked = one.seen
        new, asked_new = said - asked - told, asked - given
        shares.append((len(new) / (len(said) or 1), len(asked_new) / (len(asked) or 1)))
        told |= said
        given |= asked
    lately = shares[-_LATELY:]
    return sum(new for new, _ in lately) / len(lately), sum(new for _, new in lately) / len(lately)


def _pause(same: Sequence[Action], action: Action) -> float:
    ended = same[-1].calls[-1].ended if same else None
    started = action.calls[0].started
    if ended is None or started is None:
        return _UNKNOWN
    return log1p(max(0.0, started - ended))
