"""The provider, and what it says to the agent.

Texts name what changed the behaviour of a model: the call with its arguments, how often and with
what answer, a plain prohibition, and concrete next tools. See the package's README.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import attrs

from trimtab import (
    NOT_RELEVANT,
    ClassificationResult,
    DecisionPoint,
    GuidanceInjection,
    number,
    whole_number,
)
from trimtab.text import level_texts, quote, shorten
from trimtab.trajectory import Following
from trimtab_doom_loop._loop import Loop, LoopKind
from trimtab_doom_loop._projection import Limits, LoopProjection
from trimtab_signals import (
    Asked,
    Change,
    ToolProfiles,
    WayOut,
    advice,
    asked_of_last,
    helpers_of,
    tool_name,
    untried_tools,
)

if TYPE_CHECKING:
    from trimtab import GuidanceContext, RunContext

TEXTS: Mapping[int, str] = {
    1: "Turn {turn}: {seen} {stop} {next}",
    2: "Turn {turn}, this goes on: {seen} {stop} {next}",
    3: "Turn {turn}, still the same: {seen} Stop. {next}",
}
"""By level: nudge, firmer, way out; see `DoomLoopDetector.texts`."""

SEED = (
    "Detected repeated unsuccessful pattern. Consider a different approach or consult "
    "the planning tool to reassess strategy."
)
"""The specification's sentence, ``wording = "seed"``."""

_SEEN: Mapping[LoopKind, str] = {
    LoopKind.REPEAT: "You made the call {call} {times} times in a row{answer}.",
    LoopKind.CYCLE: "You repeated the same {length} turns {times} times with the same answers, "
    "{call} among them.",
    LoopKind.LIKE_CYCLE: "You repeated much the same {length} turns {times} times with the same "
    "answers, {call} among them.",
    LoopKind.INTERLEAVED: "You made the call {call} {times} times{answer}; what you did in "
    "between made no difference.",
    LoopKind.REJECTED: "{tool} rejected almost the same call {times} times{answer}.",
    LoopKind.WAITING: "You waited with {call} {times} times and nothing changed{answer}.",
    LoopKind.BATCH: "One response asked {times} times for the same call {call}.",
    LoopKind.SAME_ANSWER: "{times} calls of {tool} in a row had various arguments, and all after "
    "the first brought nothing new{answer}.",
    LoopKind.SAME_ERROR: "{times} calls of {tool} in a row failed in the same way{answer}.",
    LoopKind.SAME_CONTENT: "{times} calls of {tool} brought the same content.",
    LoopKind.SAME_PAGE: "{times} calls of several tools in a row got one and the same "
    "answer{answer}.",
    LoopKind.ELSEWHERE: "{times} changes with {tool} named one file, but the answers show "
    "another{answer}.",
    LoopKind.REWORDED: "{times} requests to {tool} in much the same words had the same "
    "effect{answer}.",
    LoopKind.STALLED: "{times} of your last {length} turns are much alike, the latest with {tool}.",
    LoopKind.TEXT: "You wrote the same text in {times} responses{answer}.",
    LoopKind.CHANT: "One response repeats a passage {times} times{answer}.",
}
_STOP: Mapping[LoopKind, str] = {
    LoopKind.WAITING: "Do not ask again now: find out what holds it up.",
    LoopKind.BATCH: "",
    LoopKind.ELSEWHERE: "Do not edit again before you have opened the right file.",
    LoopKind.TEXT: "Do not write it again.",
    LoopKind.CHANT: "Do not write it again.",
}
_AGAIN = "Do not call {tool} like this again now."
_CALL_ONE = "Call {untried}."
_OTHERWISE = "First call a tool that only shows something about what the answer names."
"""Told to read an answer again, or to do what it asks for, the model ends the task or does harm."""
_IN_DOUBT = "Go on with the next step of the task. If you are stuck, say what blocks you."
_IN_DOUBT_STILL = (
    "If each call is for something else, go on as before. If not, do something else, or say what"
    " blocks you."
)
"""Told of what it has, or that it repeats, a model ends the task, and told of a tool it calls that.
To do something else it is told where the loop goes on."""
_ASK = "Or ask your user: call {asks}."
_OR = "Or say what blocks you."
"""Open at every level: where only the user can help, a list of tools led to calls that nobody
asked for."""
_NEXT: Mapping[LoopKind, str] = {
    LoopKind.BATCH: "Ask for it once.",
    LoopKind.TEXT: "Take the next step, or finish.",
    LoopKind.CHANT: "Take the next step, or finish.",
}
_FIRM_FROM = 0.85
"""Confidence from which the agent is told not to call again, and sent elsewhere. Below it no
text has a ban or names a tool to call, and the first one does not show the call again: at a false
alarm in mid-work a list took the right call away in 10 of 10 cases and a ban in 8 of 8, and a model
repeats a call that it reads."""
LONGEST = 300
"""Characters of a built-in text."""
_LONGEST_OWN = 500
"""As long as a nudge may be, so that no text of a user is cut."""
_LONGEST_QUOTES = (80, 70, 60, 50, 40, 30, 24, 16)
_LONGEST_CALL = 90
"""A call is named, not quoted: enough to tell it from others, on one line."""
_NOTHING_LEFT = quote("")


def seen(
    loop: Loop,
    longest_quote: int = _LONGEST_QUOTES[0],
    *,
    quoted: bool = True,
    named: bool = True,
) -> str:
    """Return what was seen, with numbers; names and quotes are bounded."""
    call = _short_call(loop.call, min(_LONGEST_CALL, 2 * longest_quote))
    told = _SEEN[loop.kind]
    return (told.replace(" in a row", "") if loop.apart else told).format(
        tool=tool_name(loop.tool),
        call=call if named else f"{tool_name(loop.tool)}(…)",
        times=loop.times,
        length=loop.length,
        answer=_answer(loop, longest_quote) if quoted else "",
    )


def _refused(loop: Loop, change: Change | None) -> str:
    """Return what was refused, if it is known: a weak model repeats a call that it reads."""
    if change is None or loop.kind not in (LoopKind.REPEAT, LoopKind.INTERLEAVED):
        return ""
    tool = tool_name(loop.tool)
    if change.refused:
        return f"{tool} refused {change.refused} {loop.times} times."
    return f"{tool} failed {loop.times} times." if change.lacks else ""


def _short_call(call: str, longest: int) -> str:
    """Return a call as it was described, cut inside of its brackets."""
    return call if len(call) <= longest else f"{shorten(call.removesuffix(')'), longest - 1)})"


def _answer(loop: Loop, longest: int) -> str:
    if loop.kind in (LoopKind.TEXT, LoopKind.CHANT):
        return f": {quote(loop.output, longest)}"
    said = _quoted(loop.output, longest)
    return f" and got {said}" if loop.kind is LoopKind.REPEAT else f" ({said})"


def _quoted(output: str, longest: int) -> str:
    if not output.strip():
        return "an empty answer"
    said = quote(output, longest)
    return "an answer without readable characters" if said == _NOTHING_LEFT else said


def text_for(
    loop: Loop,
    level: int,
    texts: Mapping[int, str],
    *,
    asked: Asked | None = None,
    untried: Sequence[str] = (),
    helpers: Mapping[WayOut, str] | None = None,
    turn: int = 0,
) -> str:
    """Return the text of `level` about `loop`: a built-in one has at most 300 characters."""
    template = texts.get(level)
    rest = _Rest(asked if loop.kind not in _NEXT else None, untried, helpers or {}, turn)
    if template is not None:
        text = _filled(template, loop, rest, _LONGEST_QUOTES[0])
        return shorten(text, _LONGEST_OWN)
    made = (_filled(TEXTS[level], loop, rest, longest) for longest in _LONGEST_QUOTES)
    return next((text for text in made if len(text) <= LONGEST), "") or shorten(
        _filled(TEXTS[level], loop, attrs.evolve(rest, untried=()), _LONGEST_QUOTES[-1]), LONGEST
    )


@attrs.frozen
class _Rest:
    """What a text is filled with, besides the loop."""

    asked: Asked | None
    untried: Sequence[str]
    helpers: Mapping[WayOut, str]
    turn: int


def _way_out(loop: Loop, asked: Asked | None, names: str, helpers: Mapping[WayOut, str]) -> str:
    """Return what to do: what the answer asks for, before other tools are named."""
    if asked is not None:
        helper = helpers.get(asked.way, "")
        how = advice(asked, tool_name(loop.tool), helper and tool_name(helper))
        return f"{how} {_OR}"
    if loop.confidence < _FIRM_FROM:
        return _IN_DOUBT
    if names:
        return f"{_CALL_ONE.format(untried=names)} {_OR}"
    asks = helpers.get(WayOut.ASK, "")
    return f"{_OTHERWISE} {_ASK.format(asks=tool_name(asks)) if asks else _OR}"


def _filled(template: str, loop: Loop, rest: _Rest, longest: int) -> str:
    names = " or ".join(rest.untried)
    asked = rest.asked
    follow = _NEXT.get(loop.kind) or _way_out(loop, asked, names, rest.helpers)
    in_doubt = follow == _IN_DOUBT
    stop = _STOP.get(loop.kind, _AGAIN)
    if in_doubt or (stop is _AGAIN and asked is not None):
        stop = ""  # a model that reads first that it must not call the tool calls another one
    # Twice the same quote would be half of the text; a user's own text may have no other.
    is_own = template not in TEXTS.values()
    is_first = template == TEXTS[1]
    if asked is not None:  # the same call with something else is wanted: it is not shown again
        is_named = not (is_first and asked.quoted)
    else:
        is_named = not is_first or loop.confidence >= _FIRM_FROM
    is_quoted = is_own or (is_named and (asked is None or not asked.quoted))
    change = None if asked is None or is_own else asked.change
    what = _refused(loop, change) or seen(loop, longest, quoted=is_quoted, named=is_named)
    text = template.format(
        seen="" if is_first and in_doubt and "{call}" in _SEEN[loop.kind] else what,
        stop=stop.format(tool=tool_name(loop.tool)),
        next=_IN_DOUBT_STILL if in_doubt and not is_first else follow,
        evidence=_quoted(loop.output, longest),
        tool=tool_name(loop.tool),
        call=_short_call(loop.call, _LONGEST_CALL),
        untried=names,
        times=loop.times,
        length=loop.length,
        turn=rest.turn,
    )
    return " ".join(text.split())


@attrs.frozen(kw_only=True)
class DoomLoopDetector(Following[LoopProjection]):
    """Detects circular patterns that show a stuck agent.

    Args:
        similarity_threshold: share (0.0–1.0) from which arguments are near-equal. Only when the
            answer brings nothing new do they count as repeats, and then later than equal ones;
            below 0.85 as early as arguments that differ by a number; at 1.0 never.
        window_size: longest sequence looked for, in actions; a batch is one action.
        max_repetitions: how many times a sequence must occur; the last time it may be open.
        in_doubt: whether to tell of actions, too, that no rule takes for a loop, but that are
            so much alike as those of loops mostly are. Then the text names what was seen, and
            leaves to the agent what follows. Not with a `similarity_threshold` of 1.0.
        texts: by level (1, 2, 3), instead of the built-in ones; fields ``{seen}`` (the sentence
            on what was seen), ``{stop}`` (the prohibition), ``{next}`` (what to do), ``{call}``,
            ``{times}``, ``{evidence}`` (the answer), ``{untried}`` (a tool of the agent that is
            not in the loop), ``{tool}``, ``{length}``, ``{turn}``.
        wording: ``"seed"`` for the specification's sentence, word for word, at every level.

    Raises:
        ValueError: an option is out of its bounds.
    """

    similarity_threshold: float = attrs.field(default=0.85, validator=number(0.0, 1.0))
    window_size: int = attrs.field(default=5, validator=[whole_number(1), attrs.validators.le(32)])
    max_repetitions: int = attrs.field(
        default=3, validator=[whole_number(2), attrs.validators.le(32)]
    )
    texts: Mapping[int, str] = attrs.field(
        factory=dict,
        validator=level_texts(
            _LONGEST_OWN,
            **dict.fromkeys(("seen", "stop", "next", "call", "evidence", "untried", "tool"), ""),
            times=0,
            length=0,
            turn=0,
        ),
    )
    wording: Literal["", "seed"] = ""
    in_doubt: bool = attrs.field(default=True, validator=attrs.validators.instance_of(bool))

    name = "doom-loop"
    category = "loop"
    decision_points = (DecisionPoint.PRE_TOOL_SELECTION, DecisionPoint.PRE_RESPONSE)

    def projection(self, context: RunContext) -> LoopProjection:
        """Return what finds the loops of a run."""
        similarity = self.similarity_threshold
        in_doubt = self.in_doubt and similarity < 1
        limits = Limits(similarity, self.window_size, self.max_repetitions, in_doubt)
        return LoopProjection(limits, ToolProfiles(context.trajectory.tool_profiles))

    def _loop(self, context: GuidanceContext) -> Loop | None:
        followed = self.followed(context)
        if context.decision_point is DecisionPoint.PRE_RESPONSE:
            return followed.chant
        return followed.loop or followed.chant

    def classify(self, *, context: GuidanceContext) -> ClassificationResult:
        """Say whether the last action, or the last response, belongs to a loop."""
        loop = self._loop(context)
        if loop is None:
            return NOT_RELEVANT
        return ClassificationResult(True, loop.confidence, seen(loop), loop.episode, found=loop)

    def provide(self, *, context: GuidanceContext) -> GuidanceInjection:
        """Say what was seen: firmer each time, and finally suggest to consult someone."""
        loop: Loop = context.found
        return GuidanceInjection(
            key=f"doom-loop.{loop.kind.value.replace('_', '-')}",
            content=SEED if self.wording == "seed" else self._text(loop, context),
            priority=30,
            category=self.category,
        )

    def _text(self, loop: Loop, context: GuidanceContext) -> str:
        untried = untried_tools(context, loop.tools)
        level, turn = context.level_of(loop.episode), context.turn_count
        helpers = helpers_of(context)
        asked = asked_of_last(context, (loop.tool,))
        return text_for(
            loop, level, self.texts, asked=asked, untried=untried, helpers=helpers, turn=turn
        )
