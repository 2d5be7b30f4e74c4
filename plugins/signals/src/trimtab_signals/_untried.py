"""Which other tools a text may propose to an agent that is stuck, and in what order.

A model mostly takes the first tool of a list. So the first is the one that tells most about what
went wrong: one that the failing answer names or speaks of, one that explains, one that looks at
what was to be changed; a tool that does much the same as the failing one comes late. A tool that
changes something is proposed only if the answer names it, or if it is the call that could not be
made before an obstacle was cleared: otherwise an obedient model does what nobody asked for.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

import attrs

from trimtab import GuidanceContext
from trimtab.events import CallOrigin, UserMessage
from trimtab.text import LazyPattern
from trimtab_signals._calls import Calls
from trimtab_signals._closing import size_of_pieces
from trimtab_signals._profiles import (
    CIRCUMSTANCES,
    EDITING,
    ENDING,
    EXPLAINING,
    FINDING,
    GENERIC,
    READING,
    SHELLS,
    SIGHTING,
    STATES,
    TIES,
    WRITING,
    ToolProfiles,
    guess,
    name_words,
    tool_name,
)
from trimtab_signals._records import CallRecord, describe_call
from trimtab_signals._ways_out import Asked, WayOut, asked_of, lacks_value

_MOST_TOOLS = 2
_LEAST_SCORE = 9
"""A look scores 10 for being one, less what speaks against it."""
_RECENT_CALLS = 8
_LAST_CALLS = 64
_MOST_ANSWERS = 4
_LONGEST_DESCRIPTION = 200
_LONGEST_REQUEST = 2_000
"""Characters of a description in which a condition is looked for; it often stands late."""
_STEM = 6
"""Letters by which words are compared, so that "remove" and "removing" match."""
_VERBS = READING | SIGHTING | FINDING | WRITING | SHELLS
_READS = READING | SIGHTING | FINDING
_WAITING = frozenset({"delay", "pause", "sleep", "wait"})
_SPANS = frozenset({"a", "for", "minutes", "ms", "s", "seconds", "time", "while"})
"""All that the name of a tool for waiting may hold besides: `pause_sale` does something else."""
_ASKING = frozenset({"ask", "clarify", "confirm", "input", "question"})
_PUT = frozenset({"for", "question", "questions"})
"""What follows "ask" where it is open who is asked; anything else is whom."""
_PEOPLE = frozenset(
    {"caller", "client", "customer", "guest", "human", "maintainer", "operator", "owner", "person",
     "patient", "user", "users"}
)  # fmt: skip
_WHOM = frozenset(
    {"assignee", "attendee", "bcc", "cc", "contact", "invitee", "participant", "recipient", "to"}
)
"""Fields that take a person, or the address of one."""
_KNOWN = frozenset({"contact", "directory", "member", "people", "person", "user"})
"""What holds people, in the names and descriptions of tools that find one."""
_WRONG = LazyPattern(
    r"(?i)\b(?:in|un)valid|not (?:a )?(?:valid|known)|unknown|no such|not[ _]found|n[o't]{2} exist"
    r"|no v[áa]lid|non valid|ungültig|nicht gültig|недейств|无效|無効|不正|유효하지"
)
_IDS = frozenset({"code", "id", "ids", "key", "number", "ref", "sku", "uri", "uuid"})
_GIVES_IDS = LazyPattern(r"(?i)\b(?:ids?|identifiers?|codes?|numbers?|keys?|refs?|skus?|uris?)\b")
"""What a description of a tool says that finds the value of a field such as `from_id`."""
_KEYS = LazyPattern(r"[{,](\w{1,40})=")
_PHRASED = LazyPattern(r'(\w{1,40})="(?:[^\W\d_]+[ .,/-]+){1,5}[^\W\d_]+"')
"""A field with words in it; if it is for an id, that has to be found, whatever the answer says."""
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
_FILES = frozenset(
    {"code", "content", "dir", "directory", "file", "folder", "line", "path", "tree"}
)
"""What the tools of those who work on files look at; with any of them a shell's failure is read."""
_BEFORE = LazyPattern(
    r"(?i)\b(?:(?:has|have|needs?) to (?:first )?be|must (?:first )?be) (?:first )?(\w{4,20})"
    r"|\b(\w{4,20}) (?:(?:it|them|this|the \w{1,20}) )?first\b"
    r"|\b(\w{4,20}) (?:it|them|this|the \w{1,20}) before\b"
    r"|\b(?:is|are|be) \w{2,20}ed (?:by|through|with) an? (\w{4,20})\b"
)
"""What an answer says has to be done before, or does what is wanted ("is released with a void").
That something was not done says less: of "not captured", to capture it may be the last thing that
the user wants."""
_TAKING = frozenset(
    {"cancel", "clear", "close", "delete", "destroy", "drop", "purge", "remove", "reset", "stop"}
)
"""Verbs of tools that take something away: such a step is proposed by its whole name alone."""
_PREPARING = frozenset(
    {"boot", "build", "calibrate", "connect", "copy", "fetch", "init", "load", "log", "mount",
     "open", "power", "prepare", "recall", "refresh", "start", "switch", "sync", "turn", "update"}
)  # fmt: skip
"""Verbs of what comes before the work, and takes nothing away."""
_COSTS = LazyPattern(
    r"(?i)\b(?:all|although|anyway|back to|costs?|ever(?:y\w+)?|force|good|instead|lost|off|pays?"
    r"|over\w{4,12})\b"
)
"""What a description says of a change that nobody makes only to go on."""
_SURE = 1.5
"""Two words of which one may be half another tool's; a look then has less than half of that."""
_LEAST_APART = 0.5
"""Half of a word that no other tool has."""
_LEADS = 2
"""Words of a description among which a verb at the end of a name stands if it is one: "file_read",
"Safely read a file"; `disable_check` switches a check off."""
_NO_THINGS = frozenset({"fetch", "find", "get", "retrieve"})
_LEAST_VERB = 4
"""Letters of a verb that is looked for inside of a word: "claim" in "claimed"."""
_LEAST_WORD = 4
"""Letters of a word that two texts share by more than grammar; most other scripts need fewer."""
_MISSING = LazyPattern(
    r"(?i)not[ _]found|no such|no \w+ (?:found|match)|no (?:match|result|route|entr|row|item|hit)"
    r"|\b0 \w+|unknown|n[o']t exist|\bnone\b|\[\]"
    # "unknown" and "not found" in the languages in which failures are known elsewhere
    r"|unbekannt|nicht gefunden|inconnu|introuvable|desconocid|no encontrad|não encontrad"
    r"|sconosciut|non trovat|неизвестн|не найден|не существует|未找到|找不到|不存在|ありません"
    r"|見つかりません|찾을 수 없|없습니다"
)


_SHOWS = LazyPattern(
    r"\A(?:(?:meg)?mutat|affich|arat|elenc|exib|felsorol|hiển|ispisuj|lijst|list|llist|liệt|loetle"
    r"|luettel|menampil|montr|mostr|muestr|näit|näyt|parāda|pokaz|pokaż|popis|prikaz|rodo|seznam|tampil"
    r"|toon|vis(?:a|ar|er)?\b|visualizz|wykaz|wyświetl|xem|zeig|zobraz|δείχν|εμφαν|вивод|вывод|показ"
    r"|список|מציג|מראה|عرض|يعرض|قائمة|แสดง|รายการ|列出|显示|查看|查詢|查询|顯示)"
    r"|\b(?:göster\w{0,3}|listele\w{0,3}|दिखा\S{0,3}(?: है)?)\Z"
    r"|(?:一覧|表示|보여|조회|표시)[\w ]{0,5}\Z"
)
_SEEKS = LazyPattern(
    r"\A(?:busc|caut|cerc|cherch|etsi|hled|mencari|meklē|otsi|pretraž|procur|recherch|such|szuk|tìm"
    r"|vyhled|wyszuk|zoek|slår\b.{0,60}\b(?:op|opp|upp)\b|αναζητ|знаход|ищет|поиск|търс|шука|מחפש|بحث"
    r"|يبحث|ค้น|搜尋|搜索|查找)"
    r"|\b(?:bulur|keres\w{0,2}|खोज\S{0,3}(?: है)?)\Z|(?:検索|검색)\w{0,4}\Z"
)
_FOREIGN_VERBS = (("find", _SEEKS), ("show", _SHOWS))
"""The verbs of a look in other languages, where the first clause of a description begins or ends
with it. None that is one of a change as well, as that for "apply" is in some: what a tool does of
which nothing else is known may be a change."""
_CLAUSE = LazyPattern(r"[.,;:(。、।]")
_ANY_WORD = LazyPattern(r"[A-Z]+(?![^\W\dA-Z_])|[^\W\d_][^\W\dA-Z_]*|\d+")


@lru_cache(maxsize=512)
def _spoken(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case; of a script without spaces pairs of its signs."""
    found: list[str] = []
    for word in _ANY_WORD.findall(text):
        if size_of_pieces(word):
            found += (word[at : at + 2] for at in range(max(len(word) - 1, 1)))
        else:
            found.append(word.lower())
    return tuple(found)


def _stem(word: str) -> str:
    """Return what forms of one word share: versions and version, installed and installation."""
    if len(word) > 3 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    return word[:_STEM]


def _stems(words: Iterable[str]) -> frozenset[str]:
    return frozenset(map(_stem, words))


_RECALLING = frozenset({"recall", "recalls", "remember"})
_TIES = _stems(TIES)
_EXPLAINING = _stems(EXPLAINING)
_FILE_STEMS = _stems(_FILES)
_VERB_STEMS = _stems(_VERBS)
_PEOPLE_STEMS = _stems(_KNOWN)
_STATES = _stems(STATES | CIRCUMSTANCES)
_GENERIC = _stems(GENERIC)
_NO_MATTER = _GENERIC | _TIES | _VERB_STEMS


@attrs.frozen
class _Words:
    """What a tool's name and description say.

    Attributes:
        verb: what it does; empty if unknown.
        nouns: stems of the other words of its name.
        told: stems of the description.
        gives_ids: whether the description speaks of ids.
    """

    verb: str
    nouns: frozenset[str]
    told: frozenset[str]
    gives_ids: bool

    @property
    def reads(self) -> bool:
        return self.verb in _READS


@lru_cache(maxsize=512)
def _words(name: str, description: str, common: frozenset[str]) -> _Words:
    full = name_words(name)
    words = [word for word in full if word not in common] or full
    told = _spoken(description)
    verb = full[0] if full and full[0] in _READS & common else _verb(words, told, description)
    nouns = [_stem(word) for word in words if word != verb]
    gives_ids = _GIVES_IDS.search(description) is not None
    return _Words(verb, frozenset(nouns), _stems(told) - _TIES, gives_ids)


def _verb(words: Sequence[str], told: Sequence[str], description: str) -> str:
    """Return the verb of a name; a description knows it best where the name leaves it open."""
    found = next((word for word in words if word in _VERBS), "")
    if found == "check" and words[-1] in ("in", "out", "off"):
        return "".join(words)  # checks a guest out, and looks at nothing
    if found == "recall" and told and told[0] not in _READS | _RECALLING:
        return told[0]  # takes a loan or a product back, and remembers nothing
    thing = bool(words) and found == words[-1] and found not in _NO_THINGS
    if found and not (thing and told and (told[0] in _READS or found not in told[:_LEADS])):
        return found
    first = _CLAUSE.split(description.lower())[0].strip()
    foreign = (verb for verb, says in _FOREIGN_VERBS if says.search(first))
    if told:
        return next(foreign, told[0])
    last = words[-1] if words else ""
    if _stem(last) in _STATES or (len(words) < 3 and _stem(last) in _EXPLAINING):
        return "get"
    return "list" if last != _stem(last) and last.endswith("s") else ""


@attrs.frozen
class _Problem:
    """What an agent is stuck with, in the words of its calls and of their answers.

    Attributes:
        names: what the answers hold that may be a tool's name.
        steps: what the answers say has to be done before, each in one word.
        said: stems of the words of the answers.
        told: the same without what was handed over, and without words that say nothing.
        verbs, objects: of the tools that were tried.
        things: what was handed over, by the names of the parameters.
        about: stems of what the tools that were tried say of themselves, up to the first stop.
        missing: whether something was not found.
        files: whether a shell or a path is in it.
        named: whether a person was named whom the tool does not know.
        ids: whether ids were handed over.
        recent: tools called lately.
    """

    names: frozenset[str]
    steps: frozenset[str]
    said: frozenset[str]
    told: frozenset[str]
    verbs: frozenset[str]
    objects: frozenset[str]
    things: frozenset[str]
    about: frozenset[str]
    missing: bool
    files: bool
    named: bool
    ids: bool
    recent: frozenset[str]

    @property
    def acting(self) -> bool:
        return not self.verbs <= _READS | SHELLS


def _problem_of(
    calls: Sequence[CallRecord],
    tried: Collection[str],
    known: Mapping[str, _Words],
    told: Mapping[str, str],
) -> _Problem:
    ours = [call for call in calls if call.tool in known]
    hard = [call for call in ours if call.failed or call.tool in tried] or ours[-2:]
    tools = {call.tool for call in hard} | (known.keys() & set(tried))
    answers = list({call.output_hash: call.output for call in hard}.values())[-_MOST_ANSWERS:]
    said = "\n".join(answers)
    params = [call.params_text for call in hard[-_MOST_ANSWERS:]]
    fields = {word for text in params for key in _KEYS.findall(text) for word in name_words(key)}
    given = _stems(word for text in params for word in _spoken(_KEYS.sub("", text)))
    verbs = frozenset(known[name].verb for name in tools)
    phrased = any(
        call.failed and _IDS.intersection(name_words(key))
        for call in hard
        for key in _PHRASED.findall(call.params_text)
    )
    missing = not verbs & EDITING and (
        phrased or not said.strip() or _MISSING.search(said) is not None
    )
    return _Problem(
        names=frozenset(
            name for name in _NAMES.findall(said) if not (name.isalpha() and name.islower())
        ).union(_QUOTED_NAME.findall(said)),
        steps=frozenset(
            next(filter(None, found.groups())).lower()
            for text in answers
            for found in _BEFORE.finditer(text)
        ),
        said=_stems(_spoken(said)),
        told=_stems(_spoken(said)) - given - _GENERIC - _TIES,
        verbs=verbs,
        objects=frozenset().union(*(known[name].nouns for name in tools)),
        things=_stems(fields) - _GENERIC,
        about=_stems(word for name in tools for word in _spoken(_first_of(told.get(name, ""))))
        - _stems(verbs)
        - _GENERIC
        - _TIES,
        missing=missing,
        files=any(call.command is not None for call in hard)
        or not _FILE_STEMS.isdisjoint(_stems(fields))
        or any(_PATH.search(text) is not None for text in (said, *params)),
        named=not _WHOM.isdisjoint(fields) and bool(_WRONG.search(said)),
        ids=not _IDS.isdisjoint(fields),
        recent=frozenset(call.tool for call in calls),
    )


def _first_of(description: str) -> str:
    """Return what a description says first; what follows is mostly about how to call the tool."""
    return description[:_LONGEST_DESCRIPTION].partition(".")[0]


def _comes_first(name: str, problem: _Problem) -> bool:
    """Return whether an answer says that what a tool does has to come first.

    "It has to be claimed before" names `claim_case` as well as its name would: its verb stands
    there in some form, and its object in the answer or among what was tried.
    """
    verb, *rest = name_words(name) or ("",)
    if len(verb) < _LEAST_VERB or verb in _TAKING or verb in _READS:
        return False
    if not any(word.startswith(verb) for word in problem.steps):
        return False
    objects = _stems(rest)
    return not objects or bool(objects & (problem.said | problem.objects | problem.things))


def _matches(words: _Words, problem: _Problem) -> bool:
    """Return whether a tool's object, or its purpose, has to do with the problem.

    Agents have tools for themselves, such as their goals, their manual and their colleagues: a
    look, and yet of no use for what failed.
    """
    about = words.nouns - _GENERIC
    theirs = problem.objects | problem.things | problem.told
    if about & (theirs | problem.about):
        return True
    described = words.told - _NO_MATTER - {_stem(words.verb)}
    if described & theirs or len(described & problem.about) > 1:  # one word is shared by chance
        return True
    if _stem(words.verb) in _EXPLAINING or (problem.named and _knows_people(words)):
        return True
    if problem.files:
        return not words.nouns - _FILE_STEMS
    return problem.missing and words.verb in FINDING


def _knows_people(words: _Words) -> bool:
    """Return whether a tool finds persons."""
    return words.reads and not _PEOPLE_STEMS.isdisjoint(words.nouns | words.told)


def _score(name: str, words: _Words, problem: _Problem) -> int:
    """Return how much a tool promises; only the order of scores matters."""
    finds = words.verb in FINDING
    score = 20 if name in problem.names or _comes_first(name, problem) else 0
    score += 10 if words.reads else 0
    if ENDING & {*name_words(name)} and (not words.reads or words.verb in ENDING):
        score -= 15  # `find_stop` ends nothing
    score -= 8 if name in problem.recent else 0
    score += 1 if finds == problem.missing else 0
    score += 3 if problem.missing and problem.ids and finds and words.gives_ids else 0
    if problem.files and problem.acting and words.nouns and words.nouns <= _FILE_STEMS:
        score += 2  # what was to be changed, before what is known about it
    if problem.named and _knows_people(words):
        score += 12  # more than a rule or a log is worth
    score += _spoken_of(words, problem, finds=finds)
    score += _likeness(words, problem, finds=finds)
    if _stem(words.verb) in _EXPLAINING:
        return score + 6
    return score


def _spoken_of(words: _Words, problem: _Problem, *, finds: bool) -> int:
    """Score what the answers and the arguments speak of."""
    news = problem.told - problem.objects - _stems(problem.verbs)
    found = len(words.nouns & news)
    score = 0
    if found:  # what is not found is not described either: find it
        score += min(4 + 2 * found, 10) if finds or not problem.missing else 2
        score += 5 if finds and problem.missing else 0
    elif words.told & news:
        score += 3  # more than what it shares with what was tried
    if words.nouns & problem.things:
        return score + 3
    return score + (2 if words.told & (problem.things | problem.objects) else 0)


def _likeness(words: _Words, problem: _Problem, *, finds: bool) -> int:
    """Score a look at the very things that those that were tried are about."""
    score = -1 if words.verb in problem.verbs else 0
    if not words.nouns & problem.objects:
        return score
    if finds and problem.missing:
        return score + 5
    return score + ((2 if finds else 5) if problem.acting and words.reads else 0)


def _worth(
    known: Mapping[str, _Words], problem: _Problem, task: frozenset[str]
) -> Mapping[str, float]:
    """Return how much each tool shares with the answers and the task, but not with what was tried.

    A word counts the more, the fewer of the agent's own tools have it, in whatever language. What
    the user wants to know counts double: an answer mostly speaks of what was tried.
    """
    counts = Counter(stem for words in known.values() for stem in words.nouns | words.told)
    most = math.log(len(known) + 1)
    wanted = task - problem.things - problem.objects - problem.about
    return {
        name: sum(
            (1 - math.log(counts[stem]) / most) * ((stem in problem.told) + 2 * (stem in wanted))
            for stem in (words.nouns | words.told) - _NO_MATTER - {_stem(words.verb)}
            if len(stem) >= _LEAST_WORD or not stem.isascii()
        )
        for name, words in known.items()
    }


def _step(
    known: Mapping[str, _Words],
    problem: _Problem,
    told: Mapping[str, str],
    looks: Collection[str],
    names: Collection[str],
) -> str:
    """Return the tool that makes what the answer lacks; empty if none does for sure.

    It alone, of those that change something, has words of the answer that were not handed over: so
    it was at 7 of 7 of 200 kept moments, where the tool that shares most was one of harm at every
    second. It has two, or one and prepares something; and a look has fewer.
    """
    news = problem.told - problem.objects - problem.things - problem.about
    shares = _worth(known, attrs.evolve(problem, told=news), frozenset())
    acts = sorted(
        (shares[name], name) for name in set(names) - set(looks) if not ENDING & {*name_words(name)}
    )
    if len(acts) < 2 or acts[-2][0] > _LEAST_APART:
        return ""
    share, name = acts[-1]
    look = max((shares[other] for other in looks), default=0.0)
    said = told.get(name, "")
    verbs = {*name_words(name)[:1], *_spoken(said)[:1]}
    is_told = share >= _SURE > 2 * look
    prepares = bool(verbs & _PREPARING) and share >= 1 and share > look
    is_sure = is_told or prepares
    return name if is_sure and not verbs & _TAKING and not _COSTS.search(said) else ""


def untried_tools(context: GuidanceContext, tried: Iterable[str]) -> tuple[str, ...]:
    """Return the tool of the agent to propose, ready to be shown; none if none promises anything.

    That it has not tried on a problem: what the failing answer names, else one that reads and
    explains. It is one, for of 20 texts with two names no second one was
    followed, and 3 led to a tool that they did not name; each of 20 with one name was followed.

    Args:
        context: the run.
        tried: names of the tools that are part of the problem.
    """
    calls = context.trajectory.follow(Calls)
    recent, told = calls.recent(_LAST_CALLS), context.tool_descriptions
    names = ranked(
        context.tools, tried, calls.profiles, calls=recent, descriptions=told, task=_task(context)
    )
    return tuple(map(tool_name, names[:1]))


def _task(context: GuidanceContext) -> str:
    """Return what the user asked for last."""
    asked = (
        event.text
        for event in reversed(context.session[UserMessage].all())
        if event.run_id == context.run_id and not event.notification
    )
    return next(asked, "")[:_LONGEST_REQUEST]


def ranked(
    tools: Iterable[str] | None,
    tried: Iterable[str],
    profiles: ToolProfiles,
    *,
    calls: Sequence[CallRecord] = (),
    descriptions: Mapping[str, str] | None = None,
    task: str = "",
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
        task: what the user asked for.
    """
    calls = [call for call in calls if call.caller is CallOrigin.MODEL]
    names = {call.tool for call in calls if not call.failed} if tools is None else set(tools)
    used = set(tried)
    common = _common(names)
    told = descriptions or {}
    known = {
        name: _words(name, told.get(name, "")[:_LONGEST_DESCRIPTION], common)
        for name in (names | used if tools is None else names)
    }
    problem = _problem_of(calls[-_RECENT_CALLS:], used, known, told)
    cleared = _cleared(calls, used, known)
    worth = _worth(known, problem, _stems(_spoken(task)))
    looks = frozenset(name for name in names if _looks(name, known[name], profiles))
    step = _step(known, problem, told, looks, names - used) if tools is not None else ""
    cleared = cleared or step
    scores = {
        name: _score(name, known[name], problem) + worth[name] + (40 if name == cleared else 0)
        for name in names - used
        if name == cleared
        or name in problem.names
        or _comes_first(name, problem)
        or (
            name in looks
            and not _on_request(name, told)
            and (_matches(known[name], problem) or worth[name] >= 1)
        )
    }
    good = [name for name, score in scores.items() if score >= _LEAST_SCORE]
    theirs = problem.told | problem.things | problem.about
    overlap = {name: len((known[name].told | known[name].nouns) & theirs) for name in good}
    return tuple(sorted(good, key=lambda name: (-scores[name], -overlap[name], name))[:_MOST_TOOLS])


def asked_of_last(context: GuidanceContext, tools: Collection[str]) -> Asked | None:
    """Return what the answer of the last call asks for, if that is one of `tools`.

    Args:
        context: the run.
        tools: those that the problem is about.
    """
    last = context.trajectory.follow(Calls).recent(1)
    if not last or last[0].tool not in tools:
        return None
    asked = asked_of(last[0])
    if asked is None and last[0].failed and WayOut.ASK in helpers_of(context):
        given = describe_call(last[0], _LONGEST_DESCRIPTION)
        if lacks_value(given) and not _PATH.search(given):
            return Asked(WayOut.ASK, last[0].output)  # what only the user has was left out
    return asked


def helpers_of(context: GuidanceContext) -> Mapping[WayOut, str]:
    """Return the tools by which an agent can do what an answer asks for: wait, or ask its user.

    Args:
        context: the run.
    """
    return helpers(context.tools or (), context.tool_descriptions)


def helpers(tools: Iterable[str], descriptions: Mapping[str, str]) -> Mapping[WayOut, str]:
    """Return the tool that waits and the one that asks, as far as `tools` have them.

    Args:
        tools: all that the agent has.
        descriptions: what they say of themselves, by name, as far as known.
    """
    found: dict[WayOut, str] = {}
    for name in sorted(tools, reverse=True):
        words = name_words(name)
        if words and words[0] in _WAITING and _SPANS.issuperset(words[1:]):
            found[WayOut.LATER] = name
        elif _asks(words, name_words(_first_of(descriptions.get(name, "")))):
            found[WayOut.ASK] = name
    return found


def _asks(words: Sequence[str], told: Sequence[str]) -> bool:
    """Return whether a tool puts a question to a person."""
    if words[:1] == ["ask"] and len(words) > 1 and words[1] not in _PUT:
        return True
    if _PEOPLE.isdisjoint(words) and _PEOPLE.isdisjoint(told):
        return False
    return not _ASKING.isdisjoint(words) or (bool(told) and told[0] in _ASKING)


def _looks(name: str, words: _Words, profiles: ToolProfiles) -> bool:
    """Return whether a tool is known to change nothing, from its words or by declaration."""
    profile = profiles.of(name)
    declared = profile.read_only is True and profile is not guess(name)
    return not profile.polling and (words.reads or declared)


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
