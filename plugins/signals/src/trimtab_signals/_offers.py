"""What a call lacks, and may hold instead: fields that an answer names, values that it lists."""

from __future__ import annotations

from trimtab.text import LazyPattern
from trimtab_signals._changes import (
    TIES,
    Arguments,
    Change,
    choice_of,
    instead,
    is_named,
    stands,
    values_in,
)
from trimtab_signals._parts import LONGEST_TIME, OBJECT, OPEN, SHUT, WORDED

_PAIR = LazyPattern(
    r"(?<![^\s(\[{\"'])([\w+-]{1,24})(?: ?[=\u2013\u2192] ?| \()"
    r"([\w+-][\w +-]{0,23}?)\)?(?=[,;|/)\]}]|\Z)"
)
"""A code beside what it means."""
_JSON_LIST = LazyPattern(r'(?<!\w)(\w{1,40})"?\s{0,3}[:=]\s{0,3}\[([^\[\]{}\n]{2,300})\]')
_JSON_KEYS = LazyPattern(r"(?<!\w)([\"'])(\w{1,40})\1\s{0,3}:\s{0,3}\{([^\[\]{}\n]{7,400})\}")
_JSON_KEY = LazyPattern(r"(?:\A|,)\s{0,3}[\"']([^\"'\n]{1,40})[\"']\s{0,3}:")
"""What may be given, as the keys of an object that tells what each means or costs."""
_ONE_OF = LazyPattern(
    r"(?i:one of|(?<![^\W\d_])(?:allowed|valid|accepted|known|possible|supported)(?: \w{1,8})?"
    r"(?: (?:are|is))?)\s?[:\uff1a]?\s?([^\n:]{1,200})"
)
_IN_BRACKETS = LazyPattern(r"[(\[{\uff08]([^()\[\]{}\uff08\uff09\n:]{3,160})[)\]}\uff09]")
_BEHIND_COLON = LazyPattern(r"[:\uff1a]\s?(?!/)([^\n:\uff1a]{3,160}?)\s?[.。]?(?:\Z|\n)")
_QUOTE = rf"{OPEN}([^\"'`\u201d\u201c\u00bb\u300d\n]{{1,24}}){SHUT}"
_QUOTED = LazyPattern(_QUOTE)
_QUOTED_LIST = LazyPattern(
    rf"{_QUOTE}(?:(?:\s?[,;/|\u3001\uff0c]\s?(?:\w{{1,3}} )?|\s?\w{{1,5}} |\s?){_QUOTE}){{1,8}}"
)
"""Values side by side; two that stand apart are states: one that is, and one that is wanted."""
_CODE_LIST = LazyPattern(
    r"(?<![\w-])(?:[A-Z\d][A-Z\d_+-]{0,11}(?: ?[,|\u3001\uff0c] ?(?:\w{1,5} )?| \w{1,5} |/))"
    r"{1,7}[A-Z\d][A-Z\d_+-]{0,11}(?![\w-])"
)
_CODED = LazyPattern(r"(?<![\w-])(?=\d{0,11}[A-Z])(?!([A-Z])\1+\b)[A-Z\d][A-Z\d_+-]{0,11}(?![\w-])")
"""Codes, without a colon or brackets: N1, N2 or D1."""
_JSON_PROSE = LazyPattern(r'[:\[]\s?"([^"\n]{3,100}? [^"\n]{3,200})"')
_REMARK = LazyPattern(r"\s?\([^()\n:]{1,40}: ?[^()\n]{1,60}\)|\s\[\w{1,20}=[^\[\]\n]{1,200}\]")
_MOST_VALUES = 8
"""More do not fit into a text beside the rest."""
_FILE = LazyPattern(r"\w\.[a-z]{1,4}\Z")
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


def explained(text: str, _: str, arguments: Arguments) -> Change | None:
    """Return the code of a value, if an answer says of several codes what they mean: 3 = hard."""
    pairs = [(one.strip(), other.strip()) for one, other in _PAIR.findall(text)]
    for key, value in arguments.items() if len(pairs) > 1 else ():
        for one, other in pairs:
            if value.lower() in (one.lower(), other.lower()) and one != key:
                return instead(key, other if value.lower() == one.lower() else one, arguments)
    return None


def offered(text: str, key: str, arguments: Arguments) -> Change | None:
    """Return the values that stand beside one that was given, or beside its name."""
    worded = [name for name, value in arguments.items() if WORDED.search(value)]
    for said in _JSON_LIST.finditer(text):
        of = key or (worded[0] if len(worded) == 1 else _begun(arguments, said[2]))
        if of and said[2].count('"') != 2:  # one text, with a comma
            found = _chosen(of, list(values_in(said[2])), 2, arguments)
            if found is not None:
                return found
    keyed = _keyed(text, key, arguments)
    if keyed is not None:
        return keyed
    given = arguments.get(key, "")
    plain = _REMARK.sub(lambda remark: "" if given and given in remark[0] else remark[0], text)
    if OBJECT.search(plain):
        plain = "\n".join(_JSON_PROSE.findall(plain))
        if not plain or not key:
            return None
    if not key:  # of an open list of values the one argument in words takes one
        open_list = _BEHIND_COLON.search(text)
        values = list(values_in(open_list[1])) if open_list else []
        return _chosen(worded[0], values, 3, arguments) if len(worded) == 1 else None
    is_only = len(arguments) == 1 and bool(WORDED.search(given))
    if not (is_named(key, text) or (len(given) > 1 and stands(given, text)) or is_only):
        return None
    quoted = [
        [value.strip() for value in _QUOTED.findall(found[0]) if value.strip() not in (key, given)]
        for found in _QUOTED_LIST.finditer(plain)
    ]
    listed = [
        list(values_in(found[1]))
        for pattern in (_BEHIND_COLON, _IN_BRACKETS)
        for found in pattern.finditer(plain)
    ]
    cued = [list(values_in(found[1])) for found in _ONE_OF.finditer(plain)]
    made = [_chosen(key, values, 2, arguments) for values in (*cued, *quoted)]
    made += [_chosen(key, values, 3, arguments) for values in listed]
    if given.isalpha() and given.islower() and not OBJECT.search(text):
        coded = _CODE_LIST.search(text.partition(given)[2] or text)
        codes = [code[0] for code in _CODED.finditer(coded[0])] if coded else []
        made.append(_chosen(key, codes, 3 if coded and "/" in coded[0] else 2, arguments))
    return next((change for change in made if change is not None), None)


def _keyed(text: str, key: str, arguments: Arguments) -> Change | None:
    """Return the keys of an object that may be given: codes, or of a field named as the argument.

    Others are mostly fields of their own, such as the time and the id of a request.
    """
    if not WORDED.search(arguments.get(key, "")):
        return None
    for found in _JSON_KEYS.finditer(text):
        keys = _JSON_KEY.findall(found[3])
        is_named_alike = len(key) > 2 and found[2].lower().startswith(key.lower())
        if is_named_alike or all(map(_CODED.fullmatch, keys)):
            change = _chosen(key, keys, 2, arguments)
            if change is not None:
                return change
    return None


def _begun(arguments: Arguments, said: str) -> str:
    """Return the one argument whose value begins as one of a list does: Hindi, of hi, en, bn."""
    listed = [value.lower()[:3] for value in values_in(said) if len(value) > 1]
    keys = [key for key, value in arguments.items() if value.lower().startswith((*listed,))]
    return keys[0] if len(keys) == 1 else ""


def _chosen(key: str, values: list[str], least: int, arguments: Arguments) -> Change | None:
    if not least <= len(values) <= _MOST_VALUES or {key, arguments[key]} & set(values):
        return None
    if any(map(_FILE.search, values)) or len(arguments[key]) > LONGEST_TIME:
        return None  # parts of a path, or files; nor is a text one of several
    return choice_of(key, values, arguments)


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
