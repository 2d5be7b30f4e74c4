"""What a shell command does, as far as its words tell."""

from __future__ import annotations

import re
from functools import lru_cache

from trimtab.text import LazyPattern

Words = tuple[str, ...]

_SEPARATORS = LazyPattern(r"\|\||&&|[;|\n]")
_QUOTED = LazyPattern(r"'[^']*+'|\"(?:[^\"\\]++|\\.)*+\"", re.DOTALL)
_ASSIGNMENT = LazyPattern(r"(?<!\w)[A-Za-z_]\w*=\S*$")
_REDIRECT = LazyPattern(r"(?<![0-9&<-])>{1,2}\s*(?!/dev/null|&)|\btee\b|<<")
_REDIRECTS = (">", "<<", "tee")
_WAIT = LazyPattern(r"(?:^|[;&|(\n]|\bdo)[^\S\n]*(?:sleep|wait|watch|inotifywait)\b")
_AWAITS = LazyPattern(
    r"(?i)\bConnectTimeout=|\s--(?:connect-timeout|retry|wait|wait-timeout|watch)\b|\bwait-for\b"
    r"|\bnc\s+-\S*z|\bpg_isready\b"
)
_BACKGROUND = LazyPattern(r"(?<!&)&\s*(?:$|\n|echo\b|sleep\b)|\bnohup\b|\bsetsid\b")
_WRAPPERS = frozenset({"sudo", "time", "nohup", "env", "exec", "command", "builtin", "nice"})
_ASIDE = frozenset({"cd", "pushd", "popd", "export", "set", "source", ".", "unset", "ulimit"})
_READERS = frozenset(
    {
        "ag", "awk", "basename", "cat", "cd", "cmp", "column", "comm", "command", "cut", "date",
        "df", "diff", "dirname", "du", "echo", "egrep", "env", "export", "false", "fd", "fgrep",
        "file", "find", "grep", "head", "hexdump", "hostname", "id", "jq", "ldd", "less", "ls",
        "man", "md5sum", "more", "netstat", "nl", "nm", "objdump", "od", "pgrep", "popd",
        "printenv", "printf", "ps", "pushd", "pwd", "readlink", "realpath", "rg", "sed", "set",
        "sha1sum", "sha256sum", "sleep", "sort", "ss", "stat", "strings", "tac", "tail", "test",
        "tr", "tree", "true", "type", "uname", "uniq", "uptime", "wait", "wc", "whereis",
        "which", "whoami", "xxd", "yq", "[",
    }
)  # fmt: skip
# PowerShell's own verbs for what only looks.
_CMDLET = LazyPattern(
    r"(?i)(?:compare|find|format|get|measure|read|resolve|select|sort|test|where)-[a-z]+$"
)
# Words that tell of any program that it only looks: ``npm view``, ``aws s3 ls``.
_LOOKS = frozenset(
    {
        "cat", "describe", "diff", "get", "head", "info", "inspect", "list", "log", "logs", "ls",
        "ps", "query", "search", "show", "stat", "status", "tail", "version", "view",
    }
)  # fmt: skip
_READING = {
    "git": frozenset(
        {"blame", "branch", "describe", "diff", "grep", "log", "ls-files", "remote", "rev-parse",
         "show", "status", "shortlog", "cat-file", "ls-tree", "rev-list"}
    ),
    "gh": frozenset({"api", "checks"}),
    "systemctl": frozenset({"is-active", "is-enabled", "list-units"}),
    "docker": frozenset({"images"}),
    "curl": frozenset({""}),  # its options say what it stores
}  # fmt: skip
_CHANGING_FLAGS = LazyPattern(r"\s-(?:i\b|-in-place|delete|exec|execdir|-?output|X|d\b|-data)")
_STORES = LazyPattern(
    r" (?:-[a-zA-Z]*[OTF]|-[a-zA-Z]*o(?! ?/dev/null)|--(?:remote-name|upload-file|form"
    r"|request)\b)"
)
_NEGATIVE = frozenset(
    {"[", "ag", "cmp", "command", "diff", "egrep", "fgrep", "grep", "pgrep", "rg", "test", "which"}
)
_ELSEWHERE = frozenset({"docker", "kubectl", "podman", "ssh", "timeout", "xargs"})
_QUOTES = LazyPattern("['\"]")
_FIRST_WORDS = 12
"""Words of a command in a command, among which a program that only looks is named."""
_LONGEST = 2_000
"""Characters: scripts are longer, and what they do is not read from their first words."""
_KEPT = 256
"""Commands that are remembered; those of the last turns come again."""
_FED = LazyPattern(
    r"\b(?:echo|printf)\b(?:\s+-\w+)*\s+(?:'[^']*'|\"(?:\\.|[^\"\\])*\"|[\w./:;-]+)\s*\|(?!\|)"
    r"|<<<\s*(?:'[^']*'|\"(?:\\.|[^\"\\])*\"|\S+)",
    re.DOTALL,
)


def _bare(command: str) -> str:
    """Return `command` with what is quoted taken out: a separator in quotes separates nothing."""
    return _QUOTED.sub("''", command) if "'" in command or '"' in command else command


def segments(command: str) -> tuple[Words, ...]:
    """Return the words of each simple command in `command`, wrappers and assignments dropped."""
    return _segments(command[:_LONGEST])


@lru_cache(maxsize=_KEPT)
def _segments(command: str) -> tuple[Words, ...]:
    found = []
    for part in _SEPARATORS.split(_bare(command)):
        words = part.strip(" \t(){}&").split()
        while words and (words[0] in _WRAPPERS or _assigns(words[0])) and words[1:2] != ["-v"]:
            words = words[1:]
        if words:
            found.append(tuple(words))
    return tuple(found)


def _assigns(word: str) -> bool:
    return "=" in word and _ASSIGNMENT.match(word) is not None


def _program(words: Words) -> str:
    return words[0].rsplit("/", 1)[-1]


def operation(command: str) -> str:
    """Return what `command` is about: its first program that does something, with its verb."""
    return _operation(command[:_LONGEST])


@lru_cache(maxsize=_KEPT)
def _operation(command: str) -> str:
    for words in _segments(command):
        if _program(words) in _ASIDE:
            continue
        verb = next((w for w in words[1:3] if w[0].isalpha() and w.isidentifier()), "")
        return f"{_program(words)} {verb}".strip()
    return ""


@lru_cache(maxsize=512)
def without_input(command: str) -> str:
    """Return a command that gives a program a text to read, without that text; empty where it
    gives none. Two commands of one form ask one program about two texts.
    """
    command = command[:_LONGEST]
    if "|" not in command and "<<<" not in command:
        return ""
    form = str(_FED.sub("~", command))
    return form if form != command else ""


def reads_only(command: str) -> bool:
    """Tell whether `command` can't change anything: every program in it is known to read."""
    return len(command) <= _LONGEST and _only_reads(command)


@lru_cache(maxsize=_KEPT)
def _only_reads(command: str) -> bool:
    if not all(map(_reads, _segments(command))):
        return False
    bare = _bare(command)
    if _CHANGING_FLAGS.search(bare):
        return False
    return not any(sign in bare for sign in _REDIRECTS) or _REDIRECT.search(bare) is None


def _reads(words: Words) -> bool:
    program = _program(words)
    if program in _READERS or _CMDLET.match(program):
        return True
    if program == "curl" and _STORES.search(" ".join(words)):
        return False
    verbs = _READING.get(program, frozenset())
    return "" in verbs or any(word in verbs or word in _LOOKS for word in words[1:4])


def waits(command: str) -> bool:
    """Tell whether `command` waits by itself, as ``sleep 30 && check`` does."""
    if "sleep" not in command and "wait" not in command and "watch" not in command:
        return False
    return _WAIT.search(_bare(command[:_LONGEST])) is not None


def awaits(command: str) -> bool:
    """Tell whether `command` tries for a while before it gives up, e.g. to reach a machine."""
    return _AWAITS.search(command[:_LONGEST]) is not None


def starts_background(command: str) -> bool:
    """Tell whether `command` leaves a process running behind it."""
    return _BACKGROUND.search(_bare(command[:_LONGEST])) is not None


def expects_status(command: str, code: int) -> bool:
    """Tell whether exit status `code` means "no" here and not a failure, as grep's 1 does."""
    if code != 1:
        return False
    parts = segments(command)
    if not parts:
        return False
    if _program(parts[-1]) in _ELSEWHERE:
        return _asks_elsewhere(command)
    return _program(parts[-1]) in _NEGATIVE


def _asks_elsewhere(command: str) -> bool:
    """Tell whether what a command runs on another machine, or in a container, ends by asking."""
    inner = segments(_QUOTES.sub(" ", command[:_LONGEST]))
    return bool(inner) and not _NEGATIVE.isdisjoint(inner[-1][:_FIRST_WORDS])
