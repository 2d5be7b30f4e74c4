"""How many times: numerals from three on, beside the word for "times" of their language.

Both are closed classes, which no form tells: "five", "cinq" and "五" are words like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from trimtab.text import LazyPattern

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
_LONGEST = 12
"""Characters of a numeral."""


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
        before = text[max(0, found.start() - _LONGEST - 1) : found.start()]
        number = _NUMBER.search(before)
        count = int(number[0]) if number else _numeral(before, found)
        if count:
            yield count, found.start()
    for found in _SWAHILI.finditer(text):
        names = _numerals()["mara"]
        yield int(found[1]) if found[1].isdecimal() else names[found[1]], found.start()


def _numeral(before: str, found: re.Match[str]) -> int:
    counts = _numerals().get(found["spaced"] or found["unspaced"] or "", {})
    for size in range(min(_LONGEST, len(before)), 0, -1):
        count = counts.get(before[-size:])
        # Thai sets no space before a numeral either.
        if count and (found["unspaced"] or not _LETTER.search(before[:-size])):
            return count
    return 0
