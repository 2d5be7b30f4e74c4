"""What the user asks of the agent: how often, and one call at a time.

Numerals from three on and the word for "times" of a language are closed classes, which no form
tells: "five", "cinq" and "五" are words like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import attrs

from trimtab.text import LazyPattern
from trimtab_signals._normalise import lowered
from trimtab_signals._particles import in_turn
from trimtab_signals._profiles import name_words

# These are for text in lower case.
_NUMBERS = {
    "two": 2, "twice": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "twelve": 12, "fifteen": 15, "twenty": 20, "fifty": 50, "hundred": 100,
    "zwei": 2, "drei": 3, "fünf": 5, "zehn": 10, "zwanzig": 20, "dix": 10, "diez": 10,
}  # fmt: skip
# A number of things, in which the words of a tool's name may stand: "five front flips".
_THINGS = LazyPattern(
    r"(?<![\w.,-])(\d{1,3}|" + "|".join(_NUMBERS) + r") ((?:[^\W\d_]{2,24} ){0,2}[^\W\d_]{3,24})"
)
_BANNED = LazyPattern(
    r"(?:\b(?:not|never|no|without|stop|nicht|keine?|nie|ne|pas|jamais|nunca|não|не|нельзя)\b|n't\b"
    r"|不要|别|勿|ないで|마세요|말고)[^.!?\n]{0,80}$"
)
_ALONE = LazyPattern(
    r"\b(?:one|a single|1)(?: (?:tool|function|request|call|query|file|command|step|thing))?"
    r"(?: calls?)?(?: at a time| per (?:turn|message|step|response)| each turn)"
    r"|\b(?:rate[- ]limited?|(?:only|just) (?:\w+ ){0,2}one (?:tool|function) call"
    r"|ein \w{4,20} pro \w{4,20})\b"
)
_LONGEST = 20_000
"""Characters of a message; longer ones are files that the user pasted."""
_LONGEST_ORDER = 600
"""Characters of a message that is an order to repeat and nothing else."""
_SHORTEST_NAME = 4
"""Letters of a word in a tool's name that stands in few others."""
_CLAUSE = 100
"""Characters before an order in which a ban of it would stand."""


# A number, or a name with one in it, and what lies between two numbers. Some scripts set no space.
_ITEM = LazyPattern(
    r"(?a:(?<![\w.,-])(?:(\d{1,6}) ?[-–—~] ?(\d{1,6})(?![\w-]|[.,]\d)|[a-z_]*\d[\w-]*))"
)
_MOST_ITEMS = 256
"""Items of one list; a longer one is a file."""
_FIRST = 3
"""What the first numeral of a language counts; twice is no repetition that needs an order."""
_ENGLISH = "three four five six seven eight nine ten eleven twelve"
_SPACED = {
    "times run runs iterations rounds repetitions attempts tries samples": _ENGLISH,
    "mal": "drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "fois": "trois quatre cinq six sept huit neuf dix onze douze",
    "veces": "tres cuatro cinco seis siete ocho nueve diez once doce",
    "vezes": "três quatro cinco seis sete oito nove dez onze doze",
    "volte": "tre quattro cinque sei sette otto nove dieci undici dodici",
    "vegades cops": "tres quatre cinc sis set vuit nou deu",
    "ori": "trei patru cinci șase șapte opt nouă zece",
    "keer maal": "drie vier vijf zes zeven acht negen tien",
    "gånger": "tre fyra fem sex sju åtta nio tio",
    "gange ganger": "tre fire fem seks syv sju/otte åtte/ni ti",
    "kertaa": "kolme neljä viisi kuusi seitsemän kahdeksan yhdeksän kymmenen",
    "korda": "kolm neli viis kuus seitse kaheksa üheksa kümme",
    "szor szer ször": "három négy öt hat hét nyolc kilenc tíz",
    "razy raz": "trzy cztery pięć sześć siedem osiem dziewięć dziesięć",
    "krát krat": "tři/tri čtyři/štyri/štiri pět/päť/pet šest sedm/sedem osm/osem devět/deväť/devet",
    "puta": "tri četiri pet šest sedam osam devet deset",
    "kartus kartų": "tris keturis penkis šešis septynis aštuonis devynis dešimt",
    "reizes": "trīs četras piecas sešas septiņas astoņas deviņas desmit",
    "herë": "tre/tri katër pesë gjashtë shtatë tetë nëntë dhjetë",
    "kez kere defa": "üç dört beş alt\u0131 yedi sekiz dokuz on",
    "kali": "tiga empat lima enam tujuh delapan/lapan sembilan sepuluh",
    "lần": "ba bốn năm sáu bảy tám chín mười",
    "mara": "tatu nne tano sita saba nane tisa kumi",
    "beses": "tatlong apat_na limang anim_na pitong walong siyam_na sampung",
    "aldiz": "hiru lau bost sei zazpi zortzi bederatzi hamar",
    "раз раза разів рази пъти пута пати": (
        "три четыре/чотири/четири пять/п'ять/пет шесть/шість/шест семь/сім/седем/седам/седум"
        " восемь/вісім/осем/осам/осум девять/дев'ять/девет десять/десет"
    ),
    "φορές": "τρεις τέσσερις πέντε έξι εφτά/επτά οκτώ/οχτώ εννιά/εννέα δέκα",
    "مرات مرّات": "ثلاث أربع خمس ست سبع ثماني تسع عشر",
    "بار مرتبه": "سه/تین چهار/چار پنج/پانچ شش/چھ هفت/سات هشت/آٹھ نه/نو ده/دس",
    "פעמים": "שלוש ארבע חמש שש שבע שמונה תשע עשר",
    "बार": "तीन चार पाँच/पांच छह/छः सात आठ नौ दस",
    "বার": "তিন চার পাঁচ ছয় সাত আট নয় দশ",
    "անգամ": "երեք չորս հինգ վեց յոթ ութ ինը տասը",
}
"""The words for "times" in a language, and its numerals; a solidus divides two of one number."""
_UNSPACED = {
    "次 回 遍 度": "三 四 五 六 七 八 九 十",
    "번 회": "세 네 다섯 여섯 일곱 여덟 아홉 열",
    "ครั้ง รอบ": "สาม สี่ ห้า หก เจ็ด แปด เก้า สิบ",
    "ჯერ": "სამ ოთხ ხუთ ექვს შვიდ რვა ცხრა ათ",
}
"""The same, where a word may follow at once."""


_WORD = LazyPattern(
    rf"[ \u200c\u00a0-]?(?:(?P<spaced>{'|'.join(' '.join(_SPACED).split())})(?![^\W\d_])"
    rf"|(?P<unspaced>{'|'.join(' '.join(_UNSPACED).split())})"
    r"|(?<=\d)x(?=\s*(?:$|[.,;!?)\n]|please|bitte|in a row)))"
)
_SWAHILI = LazyPattern(r"\bmara (\d{1,4}|tatu|nne|tano|sita|saba|nane|tisa|kumi)\b")
"""The numeral stands behind."""
_NUMBER = LazyPattern(r"(?<!\d[.,])(?<!\d)\d{1,4}\Z")
_LETTER = LazyPattern(r"[^\W\d_]\Z")
_LONGEST_NUMERAL = 12
"""Characters of a numeral."""


@attrs.frozen
class Orders:
    """What the latest message of the user asks for.

    Args:
        times: how often it wants a thing done, 0 where it doesn't say.
        alone: it wants one call at a time.
        things: how many of what it names, each in up to three words.
        items: numbers, and names with a number in them, that it lists.
    """

    times: int = 0
    alone: bool = False
    things: tuple[tuple[int, str], ...] = ()
    items: frozenset[str] = frozenset()

    def of_tool(self, tool: str) -> int:
        """Return how many it wants of what `tool` makes or does; 0 where it doesn't say."""
        words = [word for word in name_words(tool) if len(word) >= _SHORTEST_NAME]
        return max((n for n, thing in self.things if any(w in thing for w in words)), default=0)


NO_ORDERS = Orders()


@lru_cache(maxsize=8)
def orders_in(message: str) -> Orders:
    """Return the orders that a user's message gives."""
    text = lowered(message[:_LONGEST])
    alone = _is_alone(text)
    if len(text) > _LONGEST_ORDER:
        return Orders(alone=alone)  # a report or a file, in which such words are about other things
    counts = [
        count
        for count, end in times_in(text)
        if _BANNED.search(text[max(0, end - _CLAUSE) : end]) is None
    ]
    times = max(counts, default=0)
    things = tuple((_number(found[1]), found[2]) for found in _THINGS.finditer(text))
    return Orders(times if times > 2 else 0, alone, things, items_of(text))


def items_of(text: str) -> frozenset[str]:
    """Return the numbers and the names with a number in them that stand in `text` in lower case,
    at most 256, and the numbers of a range.

    Args:
        text: such as "books 41-47 and b12".
    """
    items: set[str] = set()
    for found in _ITEM.finditer(text):
        if found[1] is None:
            items.add(found[0])
        elif 0 < int(found[2]) - int(found[1]) < _MOST_ITEMS:
            items.update(map(str, range(int(found[1]), int(found[2]) + 1)))
        if len(items) >= _MOST_ITEMS:
            break
    return frozenset(items)


def wants_one_at_a_time(text: str) -> bool:
    """Tell whether a text, such as a system prompt or a policy, asks for one call at a time."""
    return _is_alone(lowered(text[:_LONGEST]))


def _is_alone(text: str) -> bool:
    return in_turn(text) or _ALONE.search(text) is not None


def _number(word: str) -> int:
    return int(word) if word.isdecimal() else _NUMBERS[word]


@lru_cache(maxsize=1)
def _numerals() -> dict[str, dict[str, int]]:
    """Return the numerals of a language by each of its words for "times"."""
    found: dict[str, dict[str, int]] = {}
    for words, names in (_SPACED | _UNSPACED).items():
        counts = {
            one.replace("_", " "): count
            for count, same in enumerate(names.split(), _FIRST)
            for one in same.split("/")
        }
        found.update(dict.fromkeys(words.split(), counts))
    return found


def times_in(text: str) -> Iterator[tuple[int, int]]:
    """Yield how many times a text in lower case says, each with the place where that ends.

    Args:
        text: such as "ring the bell five times", in any of some forty languages.
    """
    for found in _WORD.finditer(text):
        before = text[max(0, found.start() - _LONGEST_NUMERAL - 1) : found.start()]
        number = _NUMBER.search(before)
        count = int(number[0]) if number else _numeral(before, found)
        if count:
            yield count, found.start()
    for found in _SWAHILI.finditer(text):
        names = _numerals()["mara"]
        yield int(found[1]) if found[1].isdecimal() else names[found[1]], found.start()


def _numeral(before: str, found: re.Match[str]) -> int:
    counts = _numerals().get(found["spaced"] or found["unspaced"] or "", {})
    for size in range(min(_LONGEST_NUMERAL, len(before)), 0, -1):
        count = counts.get(before[-size:])
        # Thai sets no space before a numeral either.
        if count and (found["unspaced"] or not _LETTER.search(before[:-size])):
            return count
    return 0
