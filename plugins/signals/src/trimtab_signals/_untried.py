"""Which other tool a text may propose to an agent that is stuck.

A model mostly takes the tool that is named, so one is named only if much speaks for it. What each
tool is called and says of itself is compared with the answer that came back, with what the user
asked for, and with what the call handed over. How much each of these counts was fitted to moments
in some forty languages whose right next call is known (`tests/bench/words/fit.py`). A tool that
changes something needs more evidence than one that looks, and none is proposed that takes
something away, unless the answer names it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import attrs

from trimtab import GuidanceContext
from trimtab.events import CallOrigin, UserMessage
from trimtab.text import LazyPattern
from trimtab_signals._calls import Calls
from trimtab_signals._helpers import helpers_of
from trimtab_signals._profiles import ENDING, GENERIC, ToolProfiles, guess, name_words, tool_name
from trimtab_signals._records import CallRecord
from trimtab_signals._tool_words import FILES, Forms, ToolWords, plain_words, stem, words_of_tool
from trimtab_signals._ways_out import WayOut

_RECENT_CALLS = 8
_LAST_CALLS = 64
_MOST_ANSWERS = 4
_LONGEST_REQUEST = 2_000
"""Characters of a description in which a condition is looked for; it often stands late."""
_KEYS = LazyPattern(r"[{,](\w{1,40})=")
_PHRASE = LazyPattern(r'(\w{1,40})="[^"\s]{1,80}\s[^"]{1,80}"')
"""A field whose value is of several words; if the call wants an id, that has to be found."""
_FREE = frozenset(
    {"body", "code", "command", "content", "description", "message", "note", "prompt", "query",
     "question", "sql", "subject", "text", "title"}
)  # fmt: skip
"""Words of fields that take any text."""
_NAMES = LazyPattern(r"[\w.-]+")
_QUOTED_NAME = LazyPattern(r"(?<=`)\w{1,64}(?=[`(])|(?<=\bcall )\w{1,64}|(?<=\brun )\w{1,64}")
"""A plain word names a tool only so: what an answer speaks of is what some tool is called, too."""
_ON_REQUEST = LazyPattern(
    r"(?i)only (?:when|if|after) .{0,40}(?:ask|request|instruct|tell|told)"
    r"|explicitly (?:asked|requested)|do not use (?:this|it) unless"
)
_NEVER = frozenset({"create_goal", "CronList", "get_goal", "ListAgents", "Monitor", "update_goal"})
"""Tools of common agents that serve their user's requests; hooks do not tell descriptions."""
_PATH = LazyPattern(r"(?<![\w:/.])(?:~|\.{1,2}|[\w-]{1,64}|[A-Za-z]:)?[/\\][\w./\\-]{2,}")
_LEAST = 4
"""Letters of a word that is more than grammar; most other scripts need fewer."""


@attrs.frozen
class Evidence:
    """What speaks for one tool.

    The first five are words that it shares, each counted by how few of the agent's tools have it.

    Attributes:
        answer: with the answers of the calls that failed.
        news: with those answers, apart from what was handed over or tried.
        task: with what the user asked for, apart from what was handed over or tried.
        tried: with what was tried.
        fields: with the names of what was handed over.
        finds: whether it finds or lists things, and shares more than a little.
        finds_named: whether it finds things, where words were handed over as for a name.
        explains, prepares, takes: what its verb does.
        costs: whether it does what nobody does only to go on.
        called: whether it was called before and did not fail.
    """

    answer: float
    news: float
    task: float
    tried: float
    fields: float
    finds: float
    finds_named: float
    explains: float
    prepares: float
    takes: float
    costs: float
    called: float


WEIGHTS = Evidence(
    answer=0.9,
    news=1.6,
    task=1.1,
    tried=0.8,
    fields=0.7,
    finds=1.7,
    finds_named=1.5,
    explains=1.0,
    prepares=1.4,
    takes=-1.2,
    costs=-2.2,
    called=-2.6,
)
"""Logarithms of odds, from `python tests/bench/words fit`; `_NONE` is that of naming no tool."""
_SHARED = ("answer", "news", "task", "tried", "fields")
_A_LITTLE = 0.3
"""Of a word: less is shared with what half of the tools say."""
_HALF_A_WORD = 0.5
"""Of what was asked for, or is new in the answer: a change that shares neither did harm."""
_ONE_WORD = 1.1
"""By one word alone, such as "sign", nothing tells what is to be signed."""
_NONE = 1.0
_LIKELY_LOOK = 0.2
_LIKELY_CHANGE = 0.4
"""With these, and weights of the other sets, each set's moments get the right tool at 150 of 188,
and none that does harm. A look that does not help does none, a change may."""


@attrs.frozen
class _Problem:
    """What an agent is stuck with.

    Attributes:
        names: what the answers hold that is the name of a tool.
        answer: words of the answers.
        news: those of them that were neither handed over nor tried.
        fields: words of the names of what was handed over.
        tried: words of the tools that were tried.
        task: words of the task, the same.
        called: tools that were called before and did not fail.
        files: whether a shell or a path is in it.
        named: whether words were handed over as for a name.
        looks: whether what was tried only looks.
    """

    names: frozenset[str]
    answer: Forms
    news: Forms
    task: Forms
    tried: Forms
    fields: Forms
    called: frozenset[str]
    files: bool
    named: bool
    looks: bool


def _problem_of(
    calls: Sequence[CallRecord], tried: Collection[str], known: Mapping[str, ToolWords], task: str
) -> _Problem:
    ours = [call for call in calls[-_RECENT_CALLS:] if call.tool in known]
    hard = [call for call in ours if call.failed or call.tool in tried] or ours[-2:]
    answers = list({call.output_hash: call.output for call in hard}.values())[-_MOST_ANSWERS:]
    said = "\n".join(answers)
    params = [call.params_text for call in hard[-_MOST_ANSWERS:]]
    keys = {key for text in params for key in _KEYS.findall(text)}
    given = Forms(word for text in params for word in plain_words(_KEYS.sub(" ", text)))
    tools = {*tried, *(call.tool for call in hard)}
    done = Forms(word for name in tools for word in known[name].words)

    def others(text: str) -> Forms:
        words = (
            word for word in plain_words(text) if len(word) >= (_LEAST if word.isascii() else 2)
        )
        return Forms(word for word in words if word not in given and word not in done)

    return _Problem(
        names=frozenset(
            name for name in _NAMES.findall(said) if not (name.isalpha() and name.islower())
        ).union(_QUOTED_NAME.findall(said)),
        answer=Forms(plain_words(said)),
        news=others(said),
        task=others(task),
        tried=done,
        fields=Forms(word for key in keys for word in plain_words(key) if word not in GENERIC),
        called=frozenset(call.tool for call in calls if not call.failed),
        files=any(call.command is not None for call in hard)
        or not FILES.isdisjoint(stem(word) for key in keys for word in name_words(key))
        or any(_PATH.search(text) is not None for text in (said, *params)),
        named=any(
            _FREE.isdisjoint(name_words(key)) for text in params for key in _PHRASE.findall(text)
        ),
        looks=all(known[name].reads for name in tools),
    )


class _Worth:
    """How much a word tells about one of the tools: the more, the fewer of them have it.

    Args:
        tools: words of all tools of the agent.
    """

    def __init__(self, tools: Collection[ToolWords]) -> None:
        self._tools = tools
        self._most = math.log(len(tools) + 1)
        self._of: dict[str, float] = {}

    def shared(self, tool: ToolWords, others: Forms) -> float:
        """Return the worth of the words of a tool that are among others, in any form."""
        return math.fsum(self._worth(word) for word in tool.words if word in others)

    def _worth(self, word: str) -> float:
        if word not in self._of:
            count = sum(word in tool.forms for tool in self._tools)
            self._of[word] = 1 - math.log(count) / self._most
        return self._of[word]


@attrs.frozen
class Choice:
    """What speaks for each tool of an agent, given a problem."""

    known: Mapping[str, ToolWords]
    problem: _Problem
    worth: _Worth

    def evidence(self, name: str) -> Evidence:
        """Return what speaks for a tool."""
        tool, problem = self.known[name], self.problem
        shared = {part: self.worth.shared(tool, getattr(problem, part)) for part in _SHARED}
        return Evidence(
            **shared,
            finds=tool.finds and shared["answer"] + shared["task"] + shared["fields"] > _A_LITTLE,
            finds_named=tool.finds and problem.named,
            explains=tool.explains,
            prepares=tool.prepares,
            takes=tool.takes,
            costs=tool.costs and not tool.reads,
            called=name in problem.called,
        )

    def concerns(self, evidence: Evidence) -> bool:
        """Return whether a look has to do with the problem.

        Agents have tools for themselves, such as their goals, their manual and their colleagues:
        a look, and yet of no use for what failed.
        """
        told = evidence.answer + evidence.task + evidence.fields
        if self.problem.files:
            return told >= 1
        return told + evidence.tried + evidence.finds_named + evidence.explains > 0

    def file_look(self, names: Sequence[str]) -> str:
        """Return what looks at files: what finds if a look was tried, else what reads."""
        found = [name for name in names if self.known[name].on_files and self.known[name].reads]
        finds = self.problem.looks
        return min(found, key=lambda name: (self.known[name].finds is not finds, name), default="")


def _odds(evidence: Evidence) -> float:
    """Return the odds that a tool is the one that helps, by its evidence alone."""
    values = zip(attrs.astuple(WEIGHTS), attrs.astuple(evidence), strict=True)
    return math.exp(math.fsum(weight * value for weight, value in values))


def choice_of(
    tools: Collection[str],
    tried: Collection[str],
    calls: Sequence[CallRecord],
    told: Mapping[str, str],
    task: str,
) -> Choice:
    """Return what is known of each tool of an agent that is stuck; see `proposed`."""
    every = {*tools, *tried}
    common = _common(every)
    known = {name: words_of_tool(name, told.get(name, ""), common) for name in every}
    return Choice(known, _problem_of(calls, tried, known, task), _Worth([*known.values()]))


def untried_tools(context: GuidanceContext, tried: Iterable[str]) -> tuple[str, ...]:
    """Return the tool of the agent to propose, ready to be shown; none if none promises enough.

    It is one, for of 20 texts with two names no second one was followed, and 3 led to a tool that
    they did not name; each of 20 with one name was followed.

    Args:
        context: the run.
        tried: names of the tools that are part of the problem.
    """
    calls = context.trajectory.follow(Calls)
    found = proposed(
        context.tools,
        set(tried),
        calls.profiles,
        calls=calls.recent(_LAST_CALLS),
        descriptions=context.tool_descriptions,
        task=task_of(context),
        asks=helpers_of(context).get(WayOut.ASK, ""),
    )
    return (tool_name(found),) if found else ()


def task_of(context: GuidanceContext) -> str:
    """Return what the user asked for last."""
    asked = (
        event.text
        for event in reversed(context.session[UserMessage].all())
        if event.run_id == context.run_id and not event.notification
    )
    return next(asked, "")[:_LONGEST_REQUEST]


def proposed(
    tools: Collection[str] | None,
    tried: Collection[str],
    profiles: ToolProfiles,
    *,
    calls: Sequence[CallRecord] = (),
    descriptions: Mapping[str, str] | None = None,
    task: str = "",
    asks: str = "",
) -> str:
    """Return the tool of an agent that most speaks for; empty if too little does for any.

    A tool that the answer names comes first, then the one whose call failed before an obstacle was
    cleared. Of a shell or of files those that look at files come last, and are always worth a look.
    Where it is likelier that none helps, the user is asked, if there is a tool for that.

    Args:
        tools: all that the agent has; None if unknown, then those of its own `calls` that
            succeeded once.
        tried: those that the problem is about.
        profiles: what is known about tools.
        calls: what was called lately, oldest first.
        descriptions: what tools say of themselves, by name, as far as known.
        task: what the user asked for.
        asks: the tool that asks the user; empty if there is none.
    """
    calls = [call for call in calls if call.caller is CallOrigin.MODEL]
    names = {call.tool for call in calls if not call.failed} if tools is None else set(tools)
    told = descriptions or {}
    choice = choice_of(names, tried, calls, told, task)
    if tools is None:
        choice = attrs.evolve(choice, problem=attrs.evolve(choice.problem, called=frozenset()))
    usable = sorted(name for name in names.difference(tried) if not _on_request(name, told))
    for name in usable:
        if name in choice.problem.names:
            return name
    cleared = _cleared(calls, tried, choice.known)
    if cleared is not None:
        return cleared
    others = [name for name in usable if name != asks and not _ends(name)]
    least = math.exp(_NONE) if asks else 0.0
    return _likeliest(choice, others, profiles, least) or asks


def _likeliest(choice: Choice, names: Sequence[str], profiles: ToolProfiles, least: float) -> str:
    """Return the tool that is likeliest to help, if it is likely enough for what it does."""
    found = {name: choice.evidence(name) for name in names}
    odds = {name: _odds(evidence) for name, evidence in found.items()}
    left = total = math.exp(_NONE) + math.fsum(odds.values())
    for name in sorted(names, key=lambda name: (-odds[name], name)):
        tool, evidence = choice.known[name], found[name]
        if _looks(name, tool, profiles):
            is_likely = odds[name] >= max(_LIKELY_LOOK * left, least)
            if is_likely and choice.concerns(evidence) and not evidence.called:
                return name
        elif odds[name] >= _LIKELY_CHANGE * total and _helps(tool, evidence):
            return name
        left -= odds[name]  # what may not be named leaves its share to the looks after it
    return choice.file_look(names) if choice.problem.files else ""


def _helps(tool: ToolWords, evidence: Evidence) -> bool:
    """Return whether a change makes what the answer speaks of, and takes nothing away for it."""
    shared = evidence.answer + evidence.task + evidence.tried
    is_new = max(evidence.news, evidence.task) >= _HALF_A_WORD
    is_told = evidence.answer >= 1 and is_new and shared > _ONE_WORD
    return is_told and not (tool.takes or tool.costs)


def _ends(name: str) -> bool:
    return not ENDING.isdisjoint(name_words(name)[:1])


def _looks(name: str, words: ToolWords, profiles: ToolProfiles) -> bool:
    """Return whether a tool is known to change nothing, from its words or by declaration."""
    profile = profiles.of(name)
    declared = profile.read_only is True and profile != guess(name)
    return not profile.polling and (words.reads or declared)


def _on_request(name: str, told: Mapping[str, str]) -> bool:
    return name in _NEVER or bool(_ON_REQUEST.search(told.get(name, "")[:_LONGEST_REQUEST]))


def _cleared(
    calls: Sequence[CallRecord], tried: Collection[str], known: Mapping[str, ToolWords]
) -> str | None:
    """Return the tool that failed first, if a change has succeeded since and it was not called."""
    failed: str | None = None
    changed = False
    for call in calls:
        if call.tool not in known:
            continue
        if call.tool == failed:
            failed, changed = (failed, False) if call.failed else (None, False)
        elif call.failed:
            failed = failed or (call.tool if call.tool not in tried else None)
        elif failed is not None and not known[call.tool].reads:
            changed = True
    return failed if changed else None


def _common(names: Collection[str]) -> frozenset[str]:
    """Return the words that most names have, such as that of their server."""
    counts = Counter(word for name in names for word in {*name_words(name)})
    many = max(len(names) / 2, 3)
    return frozenset(word for word, count in counts.items() if count > many)
