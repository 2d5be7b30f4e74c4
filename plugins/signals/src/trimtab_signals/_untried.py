"""Which other tools a text may propose to an agent that is stuck, and in what order.

A model mostly takes the first tool of a list. So the first is the one that tells most about what
went wrong: one that the failing answer names or speaks of, one that explains, one that looks at
what was to be changed; a tool that does much the same as the failing one comes late. A tool that
changes something is proposed only if the answer names it, or if it is the call that could not be
made before an obstacle was cleared: otherwise an obedient model does what nobody asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

import attrs

from trimtab import GuidanceContext
from trimtab.events import CallOrigin
from trimtab.text import LazyPattern
from trimtab_signals._calls import Calls
from trimtab_signals._profiles import (
    READING,
    SHELLS,
    STATES,
    WRITING,
    ToolProfiles,
    name_words,
)
from trimtab_signals._records import CallRecord
from trimtab_signals._tool_words import (
    CIRCUMSTANCES,
    CREATING,
    EDITING,
    ENDING,
    EXPLAINING,
    FINDING,
    GENERIC,
    SIGHTING,
)

_MOST_TOOLS = 2
"""A model takes the first name; a second one helps where the first is wrong."""
_LEAST_SCORE = 9
"""A look that shares neither object nor purpose with the problem scores 10 for being a look, less
what speaks against it."""
_RECENT_CALLS = 8
_LAST_CALLS = 64
_MOST_ANSWERS = 4
_LONGEST_DESCRIPTION = 200
_LONGEST_REQUEST = 2_000
"""Characters of a description in which a condition is looked for; it often stands late."""
_STEM = 6
"""Letters by which words are compared, so that "remove" and "removing" match."""
_VERBS = READING | SIGHTING | WRITING | SHELLS
_READS = READING | SIGHTING
_KEYS = LazyPattern(r"[{,](\w{1,40})=")
_NAMES = LazyPattern(r"[\w.-]+")
_ON_REQUEST = LazyPattern(
    r"(?i)only (?:when|if|after) .{0,40}(?:ask|request|instruct|tell|told)"
    r"|explicitly (?:asked|requested)|do not use (?:this|it) unless"
)
_NEVER = frozenset({"create_goal", "CronList", "get_goal", "ListAgents", "Monitor", "update_goal"})
"""Tools of common agents that serve their user's requests; hooks do not tell descriptions."""
_PATH = LazyPattern(r"(?<![\w:/.])(?:~|\.{1,2}|[\w-]{1,64}|[A-Za-z]:)?[/\\][\w./\\-]{2,}")
_FAR = frozenset({"browser", "internet", "online", "url", "web", "website"})
_MISSING = LazyPattern(
    r"(?i)not[ _]found|no such|no \w+ (?:found|match)|no (?:match|result|route|entr|row|item|hit)"
    r"|\b0 \w+|unknown|n[o']t exist|\bnone\b|\[\]"
)


def _stem(word: str) -> str:
    """Return what forms of one word share: versions and version, installed and installation."""
    if len(word) > 3 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    return word[:_STEM]


def _stems(words: Iterable[str]) -> frozenset[str]:
    return frozenset(map(_stem, words))


_EXPLAINING = _stems(EXPLAINING)
_STATES = _stems(STATES | CIRCUMSTANCES)
_GENERIC = _stems(GENERIC)


@attrs.frozen
class _Words:
    """What a tool's name and description say.

    Attributes:
        verb: what it does; empty if unknown.
        nouns: stems of the other words of its name.
        told: stems of the description.
    """

    verb: str
    nouns: frozenset[str]
    told: frozenset[str]

    @property
    def reads(self) -> bool:
        return self.verb in _READS


@lru_cache(maxsize=512)
def _words(name: str, description: str, common: frozenset[str]) -> _Words:
    words = [word for word in name_words(name) if word not in common] or name_words(name)
    told = name_words(description)
    verb = _verb(words, told)
    return _Words(verb, _stems(word for word in words if word != verb), _stems(told))


def _verb(words: Sequence[str], told: Sequence[str]) -> str:
    """Return the verb of a name; a description knows it best where the name leaves it open."""
    found = next((word for word in words if word in _VERBS), "")
    if found == "check" and words[-1] in ("in", "out", "off"):
        return "".join(words)  # checks a guest out, and looks at nothing
    thing = bool(words) and found == words[-1]
    if found and not (thing and told and told[0] in _READS):
        return found
    if told:
        return told[0]
    last = words[-1] if words else ""
    if _stem(last) in _STATES or (len(words) < 3 and _stem(last) in _EXPLAINING):
        return "get"
    return "list" if last != _stem(last) and last.endswith("s") else ""


@attrs.frozen
class _Problem:
    """What an agent is stuck with, in the words of its calls and of their answers.

    Attributes:
        names: what the answers hold that may be a tool's name.
        told: stems of the words of the answers.
        verbs, objects: of the tools that were tried.
        things: what was handed over, by the names of the parameters.
        missing: whether something was not found.
        local: whether what was not found is a file.
        recent: tools called lately.
    """

    names: frozenset[str]
    told: frozenset[str]
    verbs: frozenset[str]
    objects: frozenset[str]
    things: frozenset[str]
    missing: bool
    local: bool
    recent: frozenset[str]

    @property
    def reading(self) -> bool:
        return self.verbs <= _READS

    @property
    def acting(self) -> bool:
        return not self.verbs <= _READS | SHELLS

    @property
    def creating(self) -> bool:
        return bool(self.verbs & CREATING)


def _problem_of(
    calls: Sequence[CallRecord], tried: Collection[str], known: Mapping[str, _Words]
) -> _Problem:
    ours = [call for call in calls if call.tool in known]
    hard = [call for call in ours if call.failed or call.tool in tried] or ours[-2:]
    tools = {call.tool for call in hard} | (known.keys() & set(tried))
    answers = list({call.output_hash: call.output for call in hard}.values())[-_MOST_ANSWERS:]
    said = "\n".join(answers)
    params = [call.params_text for call in hard[-_MOST_ANSWERS:]]
    fields = {word for text in params for key in _KEYS.findall(text) for word in name_words(key)}
    given = _stems(word for text in params for word in name_words(_KEYS.sub("", text)))
    verbs = frozenset(known[name].verb for name in tools)
    missing = not verbs & EDITING and (not said.strip() or bool(_MISSING.search(said)))
    return _Problem(
        names=frozenset(_NAMES.findall(said)),
        told=_stems(name_words(said)) - given - _GENERIC,
        verbs=verbs,
        objects=frozenset().union(*(known[name].nouns for name in tools)),
        things=_stems(fields) - _GENERIC,
        missing=missing,
        local=missing and _PATH.search(said) is not None,
        recent=frozenset(call.tool for call in calls),
    )


def _score(name: str, words: _Words, problem: _Problem) -> int:
    """Return how much a tool promises; only the order of scores matters."""
    finds = words.verb in FINDING
    score = 20 if name in problem.names else 0
    score += 10 if words.reads else 0
    score -= 15 if ENDING & {*name_words(name)} else 0
    score -= 8 if name in problem.recent else 0
    score -= 15 if problem.local and _FAR & {*name_words(name)} else 0
    score += 1 if finds == problem.missing else 0
    score += _spoken_of(words, problem, finds=finds)
    score += _likeness(words, problem, finds=finds)
    if _stem(words.verb) in _EXPLAINING:
        return score + 6
    if words.nouns & _EXPLAINING:  # a log or a rule explains what it is about, and nothing else
        about = (words.nouns - _EXPLAINING) | words.told
        return score + (6 if about & (problem.objects | problem.things | problem.told) else 0)
    seen = words.nouns & problem.objects and not words.nouns & problem.things
    return score + (2 if words.nouns & _STATES and not seen else 0)


def _spoken_of(words: _Words, problem: _Problem, *, finds: bool) -> int:
    """Score what the answers and the arguments speak of."""
    verbs = _stems(problem.verbs)
    news = problem.told - problem.objects - verbs
    found = len(words.nouns & news)
    score = 2 if words.told & verbs else 0
    if found:  # what is not found is not described either: find it
        score += min(4 + 2 * found, 10) if finds or not problem.missing else 2
        score += 5 if finds and problem.missing else 0
    elif words.told & news:
        score += 2
    if words.nouns & problem.things:
        return score + 3
    return score + (1 if words.told & (problem.things | problem.objects) else 0)


def _likeness(words: _Words, problem: _Problem, *, finds: bool) -> int:
    """Score what a tool shares with those that were tried."""
    score = -3 if words.verb in problem.verbs else 0
    shared = words.nouns & problem.objects
    if not shared:
        return score
    score += 4 if problem.acting and shared & problem.told else 0
    score -= 1 if words.nouns - problem.objects - problem.told - _EXPLAINING else 0
    return score + _sight(words, problem, named=bool(shared & problem.things), finds=finds)


def _sight(words: _Words, problem: _Problem, *, named: bool, finds: bool) -> int:
    """Score a look at the very things that the problem is about."""
    if finds and problem.missing:
        return 5
    if named:
        return 0
    if problem.reading or words.verb in problem.verbs or not words.reads:
        return -3
    if not problem.acting:
        return 0
    if problem.creating:  # what is yet to be made can't be looked at, only what is like it
        return 4 if finds else 1
    return 2 if finds else 5


def untried_tools(context: GuidanceContext, tried: Iterable[str]) -> tuple[str, ...]:
    """Return up to two tools of the agent to propose, the most helpful first.

    Those that it has not tried on a problem: first what the failing answer names, then those that
    read and explain. None if no tool promises anything.

    Args:
        context: the run.
        tried: names of the tools that are part of the problem.
    """
    calls = context.trajectory.follow(Calls)
    return ranked(
        context.tools,
        tried,
        calls.profiles,
        calls=calls.recent(_LAST_CALLS),
        descriptions=context.tool_descriptions,
    )


def ranked(
    tools: Iterable[str] | None,
    tried: Iterable[str],
    profiles: ToolProfiles,
    *,
    calls: Sequence[CallRecord] = (),
    descriptions: Mapping[str, str] | None = None,
) -> tuple[str, ...]:
    """Return up to two tools of an agent that it has not tried on a problem.

    A tool that the failing answer names comes first, and the one whose call failed before an
    obstacle was cleared; then those that read and explain, speak of what the answer speaks of, or
    look at what was to be changed. Tools that change something are left out otherwise.

    Args:
        tools: all that the agent has; None if unknown, then those of its own `calls` that
            succeeded once, as far as they read or are named in the answer.
        tried: those that the problem is about.
        profiles: what is known about tools.
        calls: what was called lately, oldest first; the last eight choose the order.
        descriptions: what tools say of themselves, by name, as far as known.
    """
    calls = [call for call in calls if call.caller is CallOrigin.MODEL]
    names = {call.tool for call in calls if not call.failed} if tools is None else set(tools)
    used = set(tried)
    common = _common(names)
    told = descriptions or {}
    known = {
        name: _words(name, told.get(name, "")[:_LONGEST_DESCRIPTION], common) for name in names
    }
    problem = _problem_of(calls[-_RECENT_CALLS:], used, known)
    cleared = _cleared(calls, used, known)
    scores = {
        name: _score(name, known[name], problem) + (40 if name == cleared else 0)
        for name in names - used
        if name == cleared
        or name in problem.names
        or (_looks(name, known[name], profiles) and not _on_request(name, told))
    }
    good = [name for name, score in scores.items() if score >= _LEAST_SCORE]
    overlap = {name: len(known[name].told & problem.told) for name in good}
    return tuple(sorted(good, key=lambda name: (-scores[name], -overlap[name], name))[:_MOST_TOOLS])


def _looks(name: str, words: _Words, profiles: ToolProfiles) -> bool:
    """Return whether a tool is known to change nothing."""
    profile = profiles.of(name)
    return not profile.polling and (words.reads or profile.read_only is True)


def _on_request(name: str, told: Mapping[str, str]) -> bool:
    return name in _NEVER or bool(_ON_REQUEST.search(told.get(name, "")[:_LONGEST_REQUEST]))


def _cleared(
    calls: Sequence[CallRecord], tried: Collection[str], known: Mapping[str, _Words]
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
