"""The loop detector's state over one run: an action is judged when its turn closes."""

from __future__ import annotations

from collections import deque
from itertools import chain, islice
from typing import NamedTuple

import attrs

from trimtab.trajectory import MessageRecord, TextRecord
from trimtab_doom_loop._actions import Action, writes_text
from trimtab_doom_loop._effects import Rejections, find_changes_astray, find_same_content
from trimtab_doom_loop._evidence import find_by_evidence
from trimtab_doom_loop._excuses import keeps_interval, waits_as_told
from trimtab_doom_loop._kept import Actions
from trimtab_doom_loop._like_rounds import find_like_rounds
from trimtab_doom_loop._loop import Loop, LoopKind
from trimtab_doom_loop._readings import LOOKED_BACK, without_readings
from trimtab_doom_loop._repeats import find_duplicates, find_interleaved, find_rounds
from trimtab_doom_loop._stagnation import (
    find_asked_in_other_words,
    find_known,
    find_same_answer,
    find_same_page,
)
from trimtab_doom_loop._texts import SHORTEST_TEXT, Sayings
from trimtab_signals import (
    NO_ORDERS,
    CallProjection,
    Orders,
    SavedCall,
    SavedTurn,
    Span,
    ToolProfiles,
    TurnRecord,
    brings_nothing,
    complains,
    digest,
    is_aside,
    items_of,
    normalise_text,
    orders_in,
    spaced,
    span_of,
)

_KEEP = 64
"""Actions that are kept at least: an interleaved call has others between its repeats."""
_NOTICES_KEPT = 16
_MEMBERS_KEPT = 64
"""What is remembered of one run's notices and of one loop's calls; a loop has a few of each."""
_LATELY = 8
"""Turns in which a loop that is found again is the same one."""
_DOUBT = 0.8
"""Confidence, at most, of a loop with readings between: they may be what it waits for."""
_WATCH = 300.0
"""Seconds before a call, with a notice in them, that no model takes for one: a timer has run."""
_TIME_APART = 4
"""Characters by which the lengths of two times differ."""


class Limits(NamedTuple):
    """The detector's options: with a similarity of 1, no other arguments count as repeats."""

    similarity: float
    longest: int
    times: int
    in_doubt: bool = True

    @property
    def kept(self) -> int:
        """How many of the last actions are kept."""
        return max(_KEEP, 3 * self.longest * self.times)


@attrs.frozen(kw_only=True)
class SavedLoops:
    """A `LoopProjection` as a snapshot keeps it; what follows from the turns is left out."""

    turns: tuple[SavedTurn, ...]
    thoughts: SavedLoops | None
    streak: int
    orders: Orders
    turn: int
    rejections: tuple[SavedCall, ...]
    rejected: tuple[int, int, int]
    sayings: tuple[tuple[str, ...], int, int]
    notices: tuple[str, ...]
    woken: Span | None
    loop: Loop | None
    latest: Loop | None
    chant: Loop | None


class LoopProjection(CallProjection):
    """Follows one run and finds the loops in its last actions.

    Attributes:
        loop: the loop that the last closed turn belongs to, None if it belongs to none.
        chant: the repetition of text that the last response belongs to, else None.
    """

    def __init__(self, limits: Limits, profiles: ToolProfiles | None = None) -> None:
        self.quiet = True
        self.loop: Loop | None = None
        self.chant: Loop | None = None
        self._latest: Loop | None = None
        self._limits = limits
        self._profiles = profiles or ToolProfiles()
        self._actions = Actions(limits.kept)
        self._rejections = Rejections(limits.times, limits.similarity)
        self._thoughts: LoopProjection | None = None  # of what was thought since the last deed
        self._streak = 0
        self._turns = 0
        self._obey(NO_ORDERS)
        self._sayings = Sayings(limits.times)
        self._notices: deque[str] = deque(maxlen=_NOTICES_KEPT)
        self._woken: Span | None = None  # of the last call before a notice

    # Calls -------------------------------------------------------------------------------------

    def turn_closed(self, turn: TurnRecord) -> None:
        """Judge the action of a turn, also as if nothing were read aside. A thought or a plan is
        no deed: those in a row are judged by themselves.
        """
        asked = turn.asked
        if [call for call in asked if is_aside(call.tool)]:
            deeds = tuple([call for call in turn.calls if not is_aside(call.tool)])
            if not any(call in asked for call in deeds):
                self._think(turn)
                return
            turn = TurnRecord(deeds, turn.number)
        self._thoughts = None
        self.judge(turn)
        actions, kept = self._actions, self._actions.kept
        if self.loop is not None or actions.newest_is_news or not kept or kept[-1].turn is not turn:
            return
        left = without_readings(list(kept)[-LOOKED_BACK:])
        if not left or left[-1].number != turn.number:
            return
        bare = self._like()
        for one in left:
            bare.judge(one)
        if (found := bare.loop) is not None:
            confidence = min(found.confidence, _DOUBT)
            self._belongs_to(attrs.evolve(found, apart=True, confidence=confidence))

    def _think(self, turn: TurnRecord) -> None:
        """Judge thoughts and plans beside those since the last deed."""
        self._thoughts = self._thoughts or self._like()
        self._thoughts.judge(turn)
        self._turns = turn.number + 1
        self._belongs_to(self._thoughts.loop)

    def _like(self) -> LoopProjection:
        """Return a projection of the same options and orders that knows of no actions.

        It has rules alone: it is given some of the turns, and what is weighed counts all.
        """
        other = LoopProjection(self._limits._replace(in_doubt=False), self._profiles)
        other._obey(self._orders)
        return other

    def judge(self, turn: TurnRecord) -> None:
        """Judge the action of a turn, without what was thought or planned in it."""
        if turn.calls is not turn.asked and len(turn.calls) != len(turn.asked):
            self._interfered()
        actions = self._actions
        before = actions.kept[-1] if actions.kept else None
        if self._woken and turn.asked and spaced([self._woken, span_of(turn.asked[0])], _WATCH):
            self._begin_anew()  # a timer has woken it for the next look of a watch
            before = None
        self._woken = None
        action = actions.add(turn)
        if action is None:
            return
        self._turns = turn.number + 1
        is_news = actions.newest_is_news
        same_tool = before is not None and before.calls[0].tool == action.calls[0].tool
        # What is news can only be old beside answers of the same tool.
        if (same_tool or not is_news) and self._teaches_nothing(action, before):
            self._streak, is_news = self._streak + 1, False
        else:
            self._streak = 1
        rejected, found = self._rejections.take(action.calls), None
        if action.earlier < 0 or not (
            waits_as_told(actions) or keeps_interval(actions, self._orders.items)
        ):
            if is_news:
                found = self._found_without_effect(same_tool=same_tool)
            else:
                found = self._found_in_repeats()
            found = found or rejected or find_same_page(actions, self._limits.times)
            if found is None and self._limits.in_doubt:
                found = find_by_evidence(actions, self._repeats)
            if (
                found is not None
                and found.kind is not LoopKind.REJECTED
                and self._is_listed(action)
            ):
                found = None
        self._belongs_to(found)

    def _is_listed(self, action: Action) -> bool:
        """Tell whether an action is the first of its tool for a thing that the user lists."""
        call = action.calls[0]
        items = self._orders.items
        if not items or call.failed or complains(call):
            return False
        alike = islice(self._actions.alike_in_tool(call), 1, None)
        asked = items & items_of(call.params_text.lower())
        listed = {item for item in asked if len(item) > 1}  # one digit stands in many a call
        return not listed.issubset(
            chain.from_iterable(items_of(one.calls[0].params_text.lower()) for one in alike)
        )

    def _belongs_to(self, found: Loop | None) -> None:
        """Note the loop that the last turn belongs to, if any."""
        self.loop = found and self._named(found)
        self._latest = self.loop or self._latest
        self.quiet = self.loop is None and self.chant is None

    def _found_in_repeats(self) -> Loop | None:
        """Find the loop of an action whose calls or answers were there before."""
        if self._orders.things:
            self._allow()
        (similarity, longest, times, _), repeats = self._limits, self._repeats
        actions, action, found = self._actions, self._actions.kept[-1], None
        if len(action.calls) >= times:
            found = find_duplicates(action, times)
        if found is None and not action.fresh:
            found = find_rounds(actions, longest, repeats)
        found = found or find_interleaved(actions, repeats + 1)
        if found is not None or action.excused or similarity >= 1:
            return found  # excused: it looks for what may change, whatever else its answers are
        if not action.news or (action.earlier >= 0 and writes_text(action.calls[0])):
            found = find_like_rounds(actions, longest, repeats, similarity)
        found = found or find_same_answer(actions, self._streak, repeats, similarity)
        return found or self._found_without_effect(same_tool=True)

    def _found_without_effect(self, *, same_tool: bool) -> Loop | None:
        """Find the loop of an action without effect, or that brings what is known otherwise."""
        actions, times = self._actions, self._limits.times
        if self._limits.similarity >= 1:
            return None
        found = find_changes_astray(actions, times) or find_same_content(actions, times)
        if found is None and same_tool:
            found = find_known(actions, self._repeats)
            found = found or find_asked_in_other_words(actions, self._repeats)
        return found

    def _teaches_nothing(self, action: Action, before: Action | None) -> bool:
        """Tell whether an action brought what the last one or those of the streak brought."""
        if before is None or before.brought == action.brought:
            return before is not None
        call, last = action.calls[0], before.calls[0]
        if call.tool != last.tool or len(action.calls) > 1 or call.failed or last.failed:
            return False
        if call.profile.writes:  # of what it tells, only a time may differ
            same_size = abs(call.size - last.size) <= _TIME_APART
            return same_size and call.output_fingerprint == last.output_fingerprint
        shortest, longest = sorted((call.size, last.size))
        if 2 * shortest < longest or longest <= SHORTEST_TEXT:
            return False
        if not self._actions.may_repeat(action):
            return False
        lately = islice(reversed(self._actions.kept), 1, self._streak + 1)
        earlier = (one.calls[0].pieces for one in lately)
        return bool(call.pieces) and brings_nothing(call.pieces, earlier)

    def _obey(self, orders: Orders) -> None:
        """Take over what the user asks for: more equal actions than that are a loop."""
        self._orders = orders
        self._repeats = max(self._limits.times, orders.times + 1)

    def _allow(self) -> None:
        """Allow as many as the user asks for of what a tool does, unless it only looks. If its
        calls differ, the number is theirs; what fails does none of them.
        """
        actions = self._actions
        done = (one for action in actions.kept for one in action.calls if not one.reads)
        tools = {one.tool: one for one in done if not complains(one)}
        wanted = [
            self._orders.of_tool(tool)
            for tool, one in tools.items()
            if actions.count(one) == actions.count_alike(one)
        ]
        self._repeats = max(self._limits.times, 1 + max([self._orders.times, *wanted]))

    def _named(self, found: Loop) -> Loop:
        """Return `found` under the name that the loop had, if it is one that was there lately."""
        before = self._latest
        found = attrs.evolve(found, turn=self._turns)
        if before is None or self._turns - before.turn > _LATELY:
            return found
        # What was told in doubt may be known for what it is later, and the other way round.
        in_doubt = LoopKind.STALLED in (before.kind, found.kind) and before.tool == found.tool
        if not in_doubt and not before.members & found.members:
            return found
        members = (
            before.members | found.members if len(before.members) < _MEMBERS_KEPT else found.members
        )
        return attrs.evolve(found, episode=before.episode, members=members)

    # Texts -------------------------------------------------------------------------------------

    def responded(self, text: TextRecord) -> None:
        """Judge what was said, in itself and beside what was said before."""
        chant = self._sayings.hear(text)
        self.chant = chant and attrs.evolve(chant, turn=self._turns)
        self.quiet = self.loop is None and self.chant is None

    # From outside ------------------------------------------------------------------------------

    def user_spoke(self, message: MessageRecord) -> None:
        """Start again; a notice that came before is ignored."""
        if message.notification:
            if self._actions.kept:
                self._woken = span_of(self._actions.kept[-1].calls[-1])
            notice = digest(normalise_text(message.text))
            if notice in self._notices:
                return
            self._notices.append(notice)
            self._interfered()
            return
        self._obey(orders_in(message.text))
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._sayings.clear()
        self._interfered()

    def _interfered(self) -> None:
        self._actions.clear()
        self._thoughts = None
        self._streak = 0
        self.loop = self.chant = self._latest = None
        self.quiet = True

    # State -------------------------------------------------------------------------------------

    def state(self) -> SavedLoops:
        """Return the kept turns, and what can't be derived from them."""
        rejections = self._rejections
        return SavedLoops(
            turns=tuple([SavedTurn.of(action.turn) for action in self._actions.kept]),
            thoughts=self._thoughts.state() if self._thoughts else None,
            streak=self._streak,
            orders=self._orders,
            turn=self._turns,
            rejections=tuple([call.state() for call in rejections.calls]),
            rejected=(rejections.total, rejections.in_a_row, rejections.settled),
            sayings=self._sayings.state(),
            notices=tuple(self._notices),
            woken=self._woken,
            loop=self.loop,
            latest=self._latest,
            chant=self.chant,
        )

    def load_state(self, state: SavedLoops) -> None:
        """Rebuild everything from what `state` returned."""
        self._interfered()
        for turn in state.turns:
            self._actions.add(turn.restored(self._profiles))
        if state.thoughts is not None:
            self._thoughts = self._like()
            self._thoughts.load_state(state.thoughts)
        self._streak = state.streak
        self._obey(state.orders)
        self._turns = state.turn
        rejected, rejections = state.rejections, self._rejections
        rejections.calls = tuple([call.restored(self._profiles) for call in rejected])
        rejections.total, rejections.in_a_row, rejections.settled = state.rejected
        self._sayings.load_state(state.sayings)
        self._notices.extend(state.notices)
        self._woken = state.woken
        self.loop, self._latest, self.chant = state.loop, state.latest, state.chant
        self.quiet = self.loop is None and self.chant is None
