"""Arguments that a call lacks, and that an answer names."""

from __future__ import annotations

from trimtab.text import LazyPattern
from trimtab_signals._changes import TIES, Arguments, Change
from trimtab_signals._parts import OPEN, SHUT

_NAMED_FIELD = LazyPattern(
    r'(?<!\w)(?:missing\w*|required\w*|fields?|param\w*|argument\w*|property|path|pointer|loc)"?'
    r'\s{0,3}[:=]\s{0,3}\[?\s{0,3}(?:"(?:body|path|query)",\s?)?"(?:body)?[/#.]{0,2}([a-z_]\w{1,30})"'
)
_LACKING = (
    r"(?:missing|missed|lack\w{0,9}|fehl[et]\w{0,9}|manqu\w{1,9}|falta\w{0,9}|manca\w{0,9}|saknas"
    r"|puuttu\w{1,3}|mangler|brak\w{0,9}|chybí|hiányz\w{1,9}|eksik|ontbre\w{1,9}|отсутств\w{1,9}|缺\w{0,3}"
    r"|欠\w{0,4}|누락\w{0,3}|thiếu|kurang|λείπ\w{0,6}|חסר\w{0,2}|відсутн\w{1,9}|lipse\w{1,9})"
)
_MISSES = LazyPattern(
    rf"(?i:{_LACKING})"
    r"[^\n:\uff1a]{0,30}?(?:[:\uff1a]\s?[\"'`\u201e\u201c\u00ab]?([a-z_][\w-]{1,30}"
    r"(?:, ?[a-z_][\w-]{1,30}){0,3})[\"'`\u201d\u201c\u00bb]?[.。]?(?:\Z|[\"\n])"
    r"|[\u201e\u201c\u00ab]([a-z_][\w-]{1,30})[\u201d\u201c\u00bb])"
)
"""The word for what lacks, in the languages that answers are seen in, before a name that ends the
line; without the word a line may end with any word after a colon."""
_EMPTY = LazyPattern(r"[:\uff1a] ?([a-z_]\w{1,30}) ?\(([^()\n]{1,40}[,/|][^()\n]{1,40})\)\W{0,3}\Z")
"""A name that ends an answer, with what it may be in brackets."""
_FIELD = (
    r"(?:f(?:ie|e|ä)ld\w*|fält\w*|felt\w*|champ|campo|câmpul|veld|pol[ea]|поле|mező|kolom|alan\w*|πεδίο|kenttä|trường|字段|項目"
    r"|필드|שדה|حقل|param\w*|paramètre|параметр|argument|propert\w*|attribut\w*|option|flag|column"
    r"|value for)"
)
"""What an argument is called, and what is said of one that must be there, in the languages that
answers are seen in: next to each other they say that it is the name between them that lacks."""
_NEEDED = (
    r"(?:obb?ligat\w*|obrigat\w*|required|requis\w*|requer\w*|missing|specify|null value"
    r"|no(?= value)|not (?:given|present|provided|set|supplied)|ang[ei]\w{1,6}|pflicht\w*"
    r"|erforderlich|vereist|verplicht|påkrev\w*|krävs|povinn\w*|wymagan\w*|kötelező|zorunlu\w*|обяза\w*|обов\W?яз\w*"
    r"|obavez\w*|задълж\w*|υποχρεωτ\w*|必須|必填|필수|wajib|bắt buộc|pakollinen|مطلوب|חובה)"
)
_NAME = rf"{OPEN}?\s?-{{0,2}}([a-z_][\w-]{{1,30}})\s?{SHUT}?"
_NEEDS = LazyPattern(
    rf"(?i:\b{_FIELD})(?:\(s\))?\W{{1,4}}?{_NAME}[^\n]{{0,25}}?(?i:{_NEEDED}|{_LACKING})"
    rf"|(?i:{_NEEDED}|{_LACKING})[^\n]{{0,25}}?(?i:{_FIELD})(?:\(s\))?\W{{1,4}}?{_NAME}(?!\w)"
    rf"|{OPEN}\s?([a-z_][\w-]{{1,30}})\s?{SHUT}[^\n\"'`]{{0,25}}?(?i:{_NEEDED})"
    rf"(?![^\n]{{0,20}}{OPEN})"
    rf'|(?i:{_NEEDED}\w{{0,3}})"\s?:\s?\[\s?"([a-z_]\w{{1,30}})"'
    r"|KeyError: '([a-z_]\w{1,30})'"
    # Turkish and Hungarian put the word for a field behind the name
    rf"|{_NAME} (?:alan\u0131\w*|mezője)[^\n]{{0,25}}?(?i:{_NEEDED}|{_LACKING})"
    rf"|(?i:{_LACKING}) a {_NAME} mező"
    # the name ends the answer, is one in JSON, or begins it
    rf"|(?i:\b{_FIELD})[^\n:]{{0,20}}?(?i:{_NEEDED}|{_LACKING})[^\n:]{{0,20}}?"
    r":\s?([a-z_]\w{1,30})\W{0,2}\Z"
    rf'|"(?i:{_FIELD})"\s?:\s?"([a-z_]\w{{1,30}})"'
    rf"|(?i:{_NEEDED})[^\n]{{0,25}}?\s([a-z]{{1,20}}_\w{{1,30}})\W?\Z"
    rf"|\A\W{{0,3}}([a-z_]\w{{1,30}}): [^\n]{{0,20}}(?i:{_FIELD})[^\n]{{0,20}}(?i:{_NEEDED})"
    r"|required[^\n]{0,60}:\s{1,8}--([a-z][\w-]{1,30})"
    r"|(?i:enter|give|provide|supply)\W{1,3}([a-z]{1,20}_\w{1,30})(?!\w)"
    rf'|:\s?\{{\s?"([a-z_]\w{{1,30}})"\s?:\s?"[^"\n]{{0,60}}?(?i:{_NEEDED})'
)
_BLAMED = LazyPattern(
    r'"([A-Za-z_]\w{1,30})"\s?:\s?\[\s?"[^"\n]{0,100}?[ \u3000][^"\n]{1,100}"\s?\]'
)
"""A field with what is wrong with it, as frameworks for web services tell it."""
_NO_FIELD = LazyPattern(
    r"(?i)(?:\w{1,20}_)?(?:errors?|details?|messages?|reasons?|warnings?|hints?)"
)
_PLAIN = LazyPattern(r'(?<![\w.-])([a-z][a-z_]{2,30})(?![\w.-]|"\s?:)')
_ALPHABET = LazyPattern(r"[\u0370-\u1dff\u2e80-\ufeff]")
_NO_FIELDS = frozenset(
    {"denied", "error", "failed", "false", "invalid", "none", "null", "rejected"}
)


def emptied(text: str, _: str, arguments: Arguments) -> Change | None:
    """Return the name that ends an answer, and is followed by what it may be."""
    found = _EMPTY.search(text)
    if found is None or found[1] in arguments:
        return None
    return Change(f'{found[1]} ("{found[2]}")', lacks=True)


def missing(text: str, _: str, arguments: Arguments) -> Change | None:
    """Return a field that an object in JSON names, and that the call lacks."""
    found = _NAMED_FIELD.search(text) or _MISSES.search(text)
    name = next(filter(None, found.groups()), "") if found is not None else ""
    return Change(name, lacks=True) if name and name not in arguments else None


def needed(text: str, _: str, arguments: Arguments) -> Change | None:
    """Return the name that stands between the words for a field and for what must be there."""
    for found in (*_BLAMED.finditer(text), *_NEEDS.finditer(text)):
        name = next(filter(None, found.groups()), "")
        is_given = not arguments.keys().isdisjoint((name, name.replace("-", "_")))
        if not is_given and name not in (*TIES, *_NO_FIELDS) and not _NO_FIELD.fullmatch(name):
            return Change(name, lacks=True)
    return None


def foreign(text: str, _: str, arguments: Arguments) -> Change | None:
    """Return the one plain name in an answer of another alphabet: a field that the call lacks."""
    if not _ALPHABET.search(text):
        return None
    names = [name for name in _PLAIN.findall(text) if name not in _NO_FIELDS]
    is_one = len(names) == 1 and names[0] not in {*arguments, *arguments.values()}
    return Change(names[0], lacks=True) if is_one else None
