"""What identifies a failure in the text of one, and the line that a person would quote.

A runner prints the same frame around every failure: a heading, a count, a hint. What differs is
the exception with its message, the test's name, the place of a compiler's error. Those lines
identify a failure; the frame doesn't.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from trimtab.text import LazyPattern
from trimtab_signals._normalise import bounded, lowered, plain_text

_LONGEST_LINE = 400
_LINES = 400
"""Bound the time; an error is named near an end of what a program printed."""
_KEPT = 6
_WEAK_KEPT = 4
"""Lines that name a problem; those that only may do so are fewer."""

_NAMED = LazyPattern(
    r"(?:^|[\s.:>(])[A-Z]\w*(?:Error|Exception|Failure|Fault|Panic|Interrupt|Exit)\b"
    r"(?: ?\[[^\]]{0,60}\])?:? ?[^\s:]"
    r"|^(?:Error|Exception|Fatal error|Uncaught \w+|Caused by|panic|fatal)\b[:!] ?\S"
    r"|\bpanicked at\b|^E\s{2,}\S"
)
_COMPILED = LazyPattern(
    r"^[A-Z]{1,4}\d{2,5}\b.{0,4}\s\w|^L: *\d+ \| P: *\d+ \| +\w+ \||^\S{1,200}\.\w{1,6}:\d+:\d+: \S"
    r"|:\d+(?::\d+)?:? (?:fatal )?(?:error|warning)\b|\(\d+,\d+\): error\b"
    r"|\berror(?:\[\w+\]| [A-Z]{1,6}\d+)|^\s*\d+:\d+\s+error\b|\bundefined reference\b"
)
_COMPARED = LazyPattern(
    r"\bFailed asserting\b|\bexpected\b.{0,300}\b(?:actual|be|but|got|received|to|was)\b"
    r"|^\W*(?:expected|received|actual|got|want|left|right|code)\b ?:|\bgot\b.{0,300}\bwant\b"
    r"|\bassert\w*\b.{0,300}(?:[!=]=|\bfailed\b)",
    re.IGNORECASE,
)
_TEST = LazyPattern(
    r"^\W*(?:FAILED|FAIL|ERROR|not ok)\b\W+[\w./]|^\s*(?:✕|✖|✗|✘|×|●)\s+\S|^--- FAIL"
    r"|^\s*\d{1,3}\) \S|\bFAILED$|\.\.\. FAILED|^rspec \S|^(?:CONFLICT|ENOENT|EACCES"
    r"|E[A-Z]{4,})\b"
)
_LABELLED = LazyPattern(
    r"(?:^|[\s\]])(?:error|ERROR|fatal|FATAL|Error)\b(?:\W{1,3}|\s)\w|\bunexpected EOF\b"
)
# This one and `_FRAMED` are searched for in text in lower case.
_TELLING = LazyPattern(
    r"error|err!|exception|fail|fatal|no rule|cannot|can't|could not|denied|refused|not found"
    r"|no such|invalid"
    r"|unknown|timed? ?out|missing|unable|must|exceeded|forbidden|unauthorized|blocked|rejected"
    r"|n(?<!\wn)ot\b|fehler|fehlgeschl|f(?<!\wf)ehlt\b|ungültig|verweigert|kann nicht"
    r"|erreur|échec|échou|impossible|introuvable"
    r"|fallo\b|falló|fallid|falha|falhou|no se (?:pud|pued)|não (?:foi|pode|exist|encontr)"
    r"|ошибк|не удалось|отказано|не найден|невозможно|impossibile|non trovat|f(?<!\wf)out|mislukt"
    r"|błąd|h(?<!\wh)ata\b|başar[i\u0131]s[i\u0131]z|错误|失败|无法|不存在|找不到|超时"
    r"|出错|拒绝|异常|エラー|失敗|できません|見つかりません|タイムアウト"
    r"|오류|실패|찾을 수 없|거부|초과"
)
_NO_FAILURE = LazyPattern(
    r"(?<!\w)\w+[\"']?\s?[=:]\s?(?:\[\]|\{\}|0|false|none|null|\"\")(?![\w.])"
    r"|\b(?:no|0|zero|without) (?:\w+ )?(?:errors?|exceptions?|fail(?:ed|ures?))\b"
    r"|\b(?:aucune?|keine?|nessun|ohne|sans|sem|sin|без|нет) (?:\w+ )?(?:erreurs?|erros?|errore?s?"
    r"|fehler|ошибок)\b|(?:无|没有|未发现)(?:任何)?(?:错误|异常|失败)"
    r"|エラー(?:なし|はありません)|오류 ?없음",
    re.IGNORECASE,
)
_FRAME = LazyPattern(
    r"^\W*(?:\d+ )?(?:\w+ )?(?:errors?|failed|failing|failures?|problems?|issues?|stderr|stdout"
    r"|output|traceback \(most recent call last\))\W*$"
    r"|^[\s=_*#~-]*\d+ (?:\w+ ){0,2}(?:errors?|failed|failing|failures?|problems?|issues?"
    r"|warnings?)"
    r"\b[^:]*$|^\W*(?:Tests?|Test Suites?|Test Files)\b.*\d+ \w+|^FAILED \("
    r"|^=+.*=+$|^=+ ?\[.{1,200}\] (?:FAIL|PASS)$|^_+.*_+$|^note:"
    r"|^\(Background on|^npm ERR! A complete"
    r"|^(?:For|See|Try|Use|Run|Re-run|Please|To|Hint|hint)\b|^\s*throw\b|^> Task|^\W*at \S"
    r"|^\s*(?:raise|return|if|for|while|def|class|import|from)\b"
    r"|^Your proposed edit\b|^ERRORS:$|^\s*File \"|^subprocess\.|^make(?:\[\d+\])?: \*\*\* \["
    r"|^Found \d+ \w+(?: \w+)?\W*$|^Assertion with \S+ failed$|^Assert\.\w+\(\) Failure$"
    r"|^Warning: Tool \w+ not found|^\W*(?:FAILED|FAIL)\W*$|^Test session"
    r"|^\[ERROR\] (?:Tests run|Failures:|Errors:|->|Re-run|To see|$)"
    r"|^\[INFO\]|^warning:",
    re.IGNORECASE,
)
_FRAMED = LazyPattern(
    r"tests? completed\b|t(?<!\wt)here (?:was|were) \d|g(?<!\wg)enerated an exception\b"
    r"|r(?<!\wr)eturned non-zero\b|e(?<!\we)(?:lifecycle\b|xit(?:ed)?\b.{0,20}\d+\W*$)"
    r"|did not complete successfully|process completed with"
)
# Source that a tool shows beside its complaint.
_SOURCE = LazyPattern(r"^\s*(?:>\s*)?\d+\s?[:|]|^\s*\|")
# A harness that names the whole command before it says what became of it.
_WRAPPED = LazyPattern(r"^.{0,80}Command '\[?[^\n]{20,}\]?' (?=timed out|returned|died)")
_BUILD_STEP = LazyPattern(r"^#\d+ (?:\d+\.\d+ )?")
_TAGS = LazyPattern(r"^(?:</?[\w:]{1,40}>\s*)+|(?:\s{0,8}</[\w:]{1,40}>){1,8}$")
_STATUS = LazyPattern(
    r"^\W*(?:(?:the )?(?:process|command|shell|script) )?"
    r"(?:(?:failed|finished|completed|exited|terminated) with )?"
    r"(?:exit(?:ed)?(?: with)?(?: (?:code|status))?|(?:return|exit)[ _]?code|status|code)"
    r"\W{1,3}-?\d+(?:</\w{1,20}>)?\W*$",
    re.IGNORECASE,
)
_BULLET = LazyPattern(r"^[-*•] (?=[A-Z]{1,4}\d{2,5} )")
_MUTE = LazyPattern(
    r"^[\W_]*(?:error|errors|failed|failure|output|stderr|stdout)?[\W_]*$", re.IGNORECASE
)
_CLASSES = (_NAMED, _COMPILED, _COMPARED, _TEST, _LABELLED)


def lines_of(text: str) -> list[str]:
    """Return the lines of a failure's text that say something, without colours and tags."""
    lines = []
    for raw in plain_text(bounded(text)).splitlines()[:_LINES]:
        line = raw[:_LONGEST_LINE].rstrip()
        if line[:1] == "#":
            line = _BUILD_STEP.sub("", line)
        if _STATUS.match(line):
            continue
        if "<" in line:
            line = _TAGS.sub("", line.strip())
        if "Command '" in line:
            line = _WRAPPED.sub("Command ", line)
        if line and not _MUTE.match(line):
            lines.append(line)
    return lines


def excerpt(text: str) -> str:
    """Return the output `text` as a sentence quotes it; empty if nothing is left.

    Colours are left out, and what the harness of a shell puts around the output.
    """
    lines = (line.rstrip() for line in plain_text(bounded(text)).splitlines()[:_LINES])
    told = (_TAGS.sub("", line.strip()) for line in lines if not _STATUS.match(line))
    said = "\n".join(line for line in told if line)
    # One tag alone is no frame: the text of an object is often written in such brackets.
    return said or ("" if "</" in text or not _TAGS.fullmatch(text.strip()) else text.strip())


def identifying(lines: Iterable[str]) -> list[str]:
    """Return the lines that are other lines where the failure is another one.

    Exceptions with their messages, names of tests, places of compilers' errors and what was
    compared; of a text without any of them the first lines that sound like a failure.
    """
    all_lines = list(lines)
    strong = [line for line in all_lines if _rank(line) < len(_CLASSES)]
    if strong:
        return strong if len(strong) <= 2 * _KEPT else strong[:_KEPT] + strong[-_KEPT:]
    weak, said = [], []
    for line in all_lines:
        if _TELLING.search(lowered(line)):
            weak.append(line)
            if not _aside(line):
                said.append(line)
                if len(said) == _WEAK_KEPT:
                    break
    return (said or weak)[:_WEAK_KEPT] or [last_word(all_lines)] if all_lines else []


def key_line(text: str) -> str:
    """Return the line of the `text` of a failure that a person would quote; empty if there is none.

    That is the last exception of a traceback, else the first complaint that is specific.
    """
    return best_line(lines_of(text)).strip()


def sounds_like_failure(text: str) -> bool:
    """Tell whether a text holds a word of failure, other than to say that there is none."""
    return _TELLING.search(lowered(_NO_FAILURE.sub("", text))) is not None


def best_line(lines: Sequence[str]) -> str:
    """Return the line of `lines` that says most about a failure."""
    if not lines:
        return ""
    line = _best(lines)
    if line.endswith(":"):  # what is wrong stands below
        below = lines[lines.index(line) + 1 :][:1]
        return " ".join([line, *(other.strip() for other in below)])
    return _BULLET.sub("", line.lstrip())


def _best(lines: Sequence[str]) -> str:
    best, best_rank = "", len(_CLASSES)
    in_traceback = any(line.lstrip().startswith("Traceback") for line in lines)
    for line in lines:
        rank = _rank(line)
        if rank < best_rank or (rank == best_rank == 0 and in_traceback and rank < len(_CLASSES)):
            best, best_rank = line, rank
    if best:
        return best
    if in_traceback:
        return lines[-1]
    said = next((line for line in lines if _TELLING.search(lowered(line)) and not _aside(line)), "")
    return said or last_word(lines)


def last_word(lines: Sequence[str]) -> str:
    """Return the last line that is no hint or heading, else the last."""
    return next((line for line in reversed(lines) if not _aside(line)), lines[-1])


@lru_cache(maxsize=2048)
def _rank(line: str) -> int:
    """Return how specific a line is: 0 names an exception, the number of classes says nothing."""
    if _aside(line):
        return len(_CLASSES)
    stripped = line.strip()
    return next(
        (rank for rank, pattern in enumerate(_CLASSES) if pattern.search(stripped)), len(_CLASSES)
    )


@lru_cache(maxsize=2048)
def _aside(line: str) -> bool:
    if _SOURCE.match(line) is not None:
        return True
    line = line.strip()
    return _FRAME.match(line) is not None or _FRAMED.search(lowered(line)) is not None
