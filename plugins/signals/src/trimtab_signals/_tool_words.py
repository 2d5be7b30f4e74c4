"""What the name of a tool and its own description say, in words that can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import attrs

from trimtab.text import LazyPattern
from trimtab_signals._closing import size_of_pieces
from trimtab_signals._normalise import unaccented
from trimtab_signals._profiles import (
    CIRCUMSTANCES,
    EXPLAINING,
    FINDING,
    NOUNS,
    READING,
    SHELLS,
    SIGHTING,
    STATES,
    WRITING,
    name_words,
)

LONGEST_DESCRIPTION = 200
"""Characters of a description that are read."""
_READS = (READING | SIGHTING | FINDING) - {"load"}
"""To load something mostly changes what it is loaded into."""
_VERBS = _READS | WRITING | SHELLS
_ON_FILES = frozenset(
    {"code", "content", "dir", "directory", "file", "folder", "line", "path", "tree"}
)
"""What the tools of those who work on files look at; with any of them a shell's failure is read."""
_LEADS = 2
"""Words of a description among which a verb at the end of a name stands if it is one: "file_read",
"Safely read a file"; `disable_check` switches a check off."""
_NO_THINGS = frozenset({"fetch", "get", "retrieve"})
_RECALLING = frozenset({"recall", "recalls", "remember"})
_STEM = 6
"""Letters by which words of English are compared with tables of words."""
_BEGINNING = 3
"""Letters that two forms of a word have in common at least."""
_SAME = 4, 0.6
"""Letters, and share of the longer word, that two forms of one word begin with: "котушки" and
"котушку", "socio" and "socia"."""
_ENDING = 3
"""Letters that a form may have more than the whole of another: "su" aside, "reel" and "reels"."""
_SHOWS = LazyPattern(
    r"\A(?:(?:meg)?mutat|affich|arat|consult|elenc|exib|felsorol|hiển|ispisuj|lijst|list|llist|liệt|loetle"
    r"|luettel|menampil|montr|mostr|muestr|näit|näyt|parāda|podaj|pokaz|pokaż|popis|prikaz|rodo|seznam|tampil"
    r"|toon|ver\b|vis(?:a|ar|er)?\b|visualizz|voir\b|wykaz|wyświetl|xem|zeig|zobraz|δείχν|εμφαν|вивод"
    r"|вывод|показ|список|מציג|מראה|عرض|يعرض|قائمة|แสดง|รายการ|列出|显示|查看|查詢|查询|顯示"
    # and those that check or read
    r"|comprueb|controll?a\b|ellenőr|kontroll?(?:er|iert|uje)|legge|liest|lit\b|lee\b|lees|læs|läs(?!s)|odczyt"
    r"|olvas|prüf|读取|讀取|sprawdz|tarkist|verific|vérif|перевір|провер|проверя|чита|检查|確認|확인)"
    r"|\b(?:göster\w{0,3}|listele\w{0,3}|दिखा\S{0,3}(?: है)?)\Z"
    # in German, Dutch and Hungarian the verb may end a name
    r"|\b(?:ab|an|auf|op|weer)?(?:fragen|lesen|listen|rufen|zeigen|lezen|tonen|vragen|kérdezés|listázás)\Z"
    r"|(?:一覧|表示|見る|確認する|보여|조회|표시|확인)[\w ]{0,5}\Z"
)
_SEEKS = LazyPattern(
    r"\A(?:busc|caut|cerc|cherch|encontr|etsi|find|finn|hae\b|hake|hitt|hled|localiz|lokalis|mencari|meklē|najd|nájd"
    r"|otsi|pretraž|procur|recherch|retrouv|such|szuk|søg|søk|sok\b|sök|talál|tìm|trouv|trova|vind"
    r"|vyhled|wyszuk|znajd|zoek|slår\b.{0,60}\b(?:op|opp|upp)\b|αναζητ|βρίσκ|знаход|ищет|наход|найти|поиск"
    r"|търс|шука|מוצא|מחפש|بحث|يبحث|ค้น|搜尋|搜索|查找)"
    r"|\b(?:(?:auf|op)?(?:suchen|zoeken)|nachschlagen|arar?|bulur|keres\w{0,2}|खोज\S{0,3}(?: है)?)\Z"
    r"|(?:検索|探|調べ|검색|찾)\w{0,4}\Z"
)
_TELLS = LazyPattern(
    r"\A(?:erläut|explic[aăá]|expliqu|forklar|(?:meg)?magyaráz|obja[sšś]n|razlož|selgita|selit"
    r"|skaidro|spieg|vysvětl|wyjaśni|εξηγ|объясн|обяснява|поясн|расшифр|розшифр|giải thích"
    r"|מסביר|شرح|يشرح|อธิบาย|解释|解釋|解説|説明|설명)"
    r"|\b(?:aç\u0131kla\w{0,2}|समझा\S{0,3}(?: है)?)\Z|(?:説明|解説|설명)[\w ]{0,5}\Z"
)
"""Without German and Swedish "explain", which are "declare" as well: a card is declared void."""
_FOREIGN_VERBS = (("find", _SEEKS), ("show", _SHOWS), ("explain", _TELLS))
"""The verbs of a look in other languages, where the first clause of a description begins or ends
with it. None that is one of a change as well, as that for "apply" is in some: what a tool does of
which nothing else is known may be a change."""
_AND = "(?:and|e|et|ja|och|og|şi|și|und|ve|và|y|és|και|и|та|及|和|と)"
_COMMA = r"[,、\uff0c·]"
_SHOWN = LazyPattern(
    rf"\A[^.;:(]{{1,60}}{_COMMA}(?! ?{_AND} )"
    rf"(?:[^.;:(,、\uff0c·]{{1,40}}{_COMMA}(?! ?{_AND} )|[^.;:(,]{{1,40}} {_AND} )"
    rf"|\A[^.;,(]{{1,60}}[:\uff1a][^.;:]{{1,40}}{_COMMA}"
    r"|\A(?!Dispose)\w+ (?:of|and their) "
)
"""What a look shows, in whatever language: several things side by side, which are no verbs, for the
word for "and" stands before the last alone; or what something has, after a colon or "of"."""
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
    r"(?i)(?<![^\W\d_])(?:all|although|anyway|back to|bypass|(?<!no )costs?|disable|emergency"
    r"|ever(?:y\w+)?|force|good|ignore|instead|lost|off|pays?|over\w{4,12}|skip|waive"
    # without something, in the languages that descriptions are written in
    r"|bez|fără|ilman|nélkül|ohne|olmadan|sans|sem|senza|sin|tanpa|uden|utan|uten|zonder|без|χωρίς"
    r"|بدون|ללא)(?! (?:c[ou]s[tť]|kost|frais|gebühr|gast|spes|opłat|poplat|ücret|biaya))"
    r"(?![^\W\d_])|없이"
    # what does damage, in those languages
    r"|(?<![^\W\d_])(?:be?schäd|beschadig|damag|dañ|danific|dannegg|deterior|endommag|hasar|poškod|poškoz"
    r"|skad|uszk|vahing|пошк|повре|повреж|βλάπ|φθείρ)|損|损|손상|تلف"
)
"""What a name or a description says of a change that nobody makes only to go on."""
_CLAUSE = LazyPattern(r"[.,;:(。、।]")
_ANY_WORD = LazyPattern(r"[A-Z]+(?![^\W\dA-Z_])|[^\W\d_][^\W\dA-Z_]*|\d+")


@lru_cache(maxsize=512)
def spoken(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case; of a script without spaces pairs of its signs."""
    found: list[str] = []
    for word in _ANY_WORD.findall(text):
        if size_of_pieces(word):
            found += (word[at : at + 2] for at in range(max(len(word) - 1, 1)))
        else:
            found.append(word.lower())
    return tuple(found)


def plain_words(text: str) -> tuple[str, ...]:
    """Return the same words without accents: names of tools and arguments are written so."""
    return tuple(word if word.isascii() else unaccented(word) for word in spoken(text))


def stem(word: str) -> str:
    """Return what forms of one English word share: versions and version, installed and install."""
    if len(word) > 3 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    return word[:_STEM]


_STATES = frozenset(map(stem, STATES | CIRCUMSTANCES))
_EXPLAINING = frozenset(map(stem, EXPLAINING))
FILES = frozenset(map(stem, _ON_FILES))


class Forms:
    """Words that are found in any of their forms, in whatever language.

    Args:
        words: in lower case.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._words = frozenset(words)
        self._begun: dict[str, list[str]] = {}
        for word in self._words:
            if word.isalpha():
                self._begun.setdefault(word[:_BEGINNING], []).append(word)

    def __contains__(self, word: str) -> bool:
        """Return whether a form of a word is one of these."""
        if word in self._words:
            return True
        return any(_is_form(word, other) for other in self._begun.get(word[:_BEGINNING], ()))


def _is_form(word: str, other: str) -> bool:
    """Return whether two words that begin alike are forms of one."""
    short, long = sorted((word, other), key=len)
    shared = next((at for at, letter in enumerate(short) if letter != long[at]), len(short))
    if shared == len(short) >= _BEGINNING and len(long) - shared <= _ENDING:
        return True
    least, share = _SAME
    return shared >= max(least, share * len(long))


@attrs.frozen
class ToolWords:
    """What a tool's name and description say.

    Attributes:
        verb: what it does; empty if unknown.
        words: all of its name and of its description, in lower case.
        forms: the same, to be found in any form.
        explains: whether it tells why something is as it is, or how it is done.
        on_files: whether its name speaks of nothing but files.
        prepares: whether it does what comes before the work.
        takes: whether it takes something away.
        costs: whether it says of a change what nobody does only to go on.
    """

    verb: str
    words: frozenset[str]
    forms: Forms
    explains: bool
    on_files: bool
    prepares: bool
    takes: bool
    costs: bool

    @property
    def reads(self) -> bool:
        """Whether it only shows something."""
        return self.verb in _READS

    @property
    def finds(self) -> bool:
        """Whether it finds or lists things."""
        return self.verb in FINDING


@lru_cache(maxsize=512)
def words_of_tool(name: str, description: str, common: frozenset[str]) -> ToolWords:
    """Return the words of a tool.

    Args:
        name: of the tool.
        description: what it says of itself; its beginning is read.
        common: words that most names have, such as that of their server.
    """
    description = description[:LONGEST_DESCRIPTION]
    full = name_words(name)
    words = [word for word in full if word not in common] or full
    told = spoken(description)
    verb = full[0] if full and full[0] in _READS & common else _verb(name, words, told, description)
    every = frozenset((*plain_words(name), *plain_words(description))) - common - _READS
    verbs = {*full[:1], *words[:1], *told[:1]}
    return ToolWords(
        verb=verb,
        words=every,
        forms=Forms(every),
        explains=any(stem(word) in _EXPLAINING for word in (verb, *words)),
        on_files=FILES.issuperset(stem(word) for word in words if word != verb),
        prepares=not verbs.isdisjoint(_PREPARING) and (verb in _PREPARING or verb not in _READS),
        takes=not verbs.isdisjoint(_TAKING),
        costs=_COSTS.search(f"{' '.join(full)} {description}") is not None,
    )


def _verb(name: str, words: Sequence[str], told: Sequence[str], description: str) -> str:
    """Return the verb of a name; a description knows it best where the name leaves it open."""
    found = next((word for word in words if word in _VERBS), "")
    if found == "check" and words[-1] in ("in", "out", "off"):
        return "".join(words)  # checks a guest out, and looks at nothing
    if found == "recall" and told and told[0] not in _READS | _RECALLING:
        return told[0]  # takes a loan or a product back, and remembers nothing
    thing = bool(words) and found == words[-1] and found not in _NO_THINGS
    if found and not (thing and told and (told[0] in _READS or found not in told[:_LEADS])):
        is_done = found in _READS and told and told[0] in WRITING - NOUNS
        return told[0] if is_done else found
    first = _CLAUSE.split(description.lower())[0].strip()
    named = " ".join(spoken(name))
    foreign = (
        verb for text in (first, named) for verb, says in _FOREIGN_VERBS if says.search(text)
    )
    if told:
        return next(foreign, "show" if _SHOWN.search(description) else told[0])
    last = words[-1] if words else ""
    if stem(last) in _STATES or (len(words) < 3 and stem(last) in _EXPLAINING):
        return "get"
    return "list" if last != stem(last) and last.endswith("s") else ""
