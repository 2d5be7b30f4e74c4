"""Versions and version specifiers (PEP 440), as far as checking installed packages needs them.

`packaging` is the library for this, but it is no dependency of trimtab's, and a check that
holds only where it happens to be installed would be two checks. A test compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import attrs

from trimtab._plugins.metadata import requirement_name

_VERSION = re.compile(
    r"v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[-_.]?(?P<pre>alpha|a|beta|b|preview|pre|c|rc)[-_.]?(?P<pre_n>\d*))?"
    r"(?P<post>-(?P<post_implicit>\d+)|[-_.]?(?:post|rev|r)[-_.]?(?P<post_n>\d*))?"
    r"(?P<dev>[-_.]?dev[-_.]?(?P<dev_n>\d*))?"
    r"(?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"(?P<operator>===|==|!=|~=|<=|>=|<|>)\s*(?P<version>[^\s,;()]+)")
_PREFIX = re.compile(r"v?(?:\d+!)?\d+(?:\.\d+)*\.\*", re.IGNORECASE)
_PRE = {"alpha": "a", "beta": "b", "preview": "rc", "pre": "rc", "c": "rc"}
_Key = tuple[Any, ...]


@attrs.frozen
class Version:
    """A version, ready to be compared by `public` (without its local part) or `key`."""

    epoch: int
    release: tuple[int, ...]
    pre: tuple[str, int] | None
    post: int | None
    dev: int | None
    local: str

    @property
    def public(self) -> _Key:
        """Sort key of all but the local part: dev < pre < release < post."""
        release = _without_zeros(self.release)
        if self.pre is None and self.post is None and self.dev is not None:
            pre: _Key = (0,)
        else:
            pre = (1, *self.pre) if self.pre else (2,)
        post = -1 if self.post is None else self.post
        return self.epoch, release, pre, post, (1,) if self.dev is None else (0, self.dev)

    @property
    def base(self) -> _Key:
        """Sort key of epoch and release alone."""
        return self.epoch, _without_zeros(self.release)


def _without_zeros(release: tuple[int, ...]) -> tuple[int, ...]:
    end = len(release)
    while end > 1 and release[end - 1] == 0:
        end -= 1
    return release[:end]


def parse_version(text: str) -> Version | None:
    """Read a version; None where it is none."""
    match = _VERSION.fullmatch(text.strip())
    if match is None:
        return None
    word = (match["pre"] or "").lower()
    post = match["post_implicit"] or match["post_n"] or 0
    return Version(
        epoch=int(match["epoch"] or 0),
        release=tuple(map(int, match["release"].split("."))),
        pre=(_PRE.get(word, word), int(match["pre_n"] or 0)) if word else None,
        post=int(post) if match["post"] else None,
        dev=int(match["dev_n"] or 0) if match["dev"] else None,
        local=re.sub(r"[-_]", ".", match["local"] or "").lower(),
    )


@attrs.frozen
class Clause:
    """One comparison of a specifier, e.g. ``>=0.1``."""

    operator: str
    text: str

    def admits(self, text: str) -> bool:
        """Say whether a version passes; pre-releases count as any other."""
        if self.operator == "===":
            return text.strip().lower() == self.text.lower()
        version = parse_version(text)
        if version is None:
            return False
        if self.text.endswith(".*"):
            return _begins(version, self.text[:-2]) is (self.operator == "==")
        bound = parse_version(self.text)
        return bound is not None and _COMPARE[self.operator](version, bound)

    @property
    def well_formed(self) -> bool:
        """Whether the operator can take that version."""
        if self.operator == "===":
            return True
        if self.text.endswith(".*"):
            return self.operator in ("==", "!=") and bool(_PREFIX.fullmatch(self.text))
        bound = parse_version(self.text)
        if bound is None or (bound.local and self.operator not in ("==", "!=")):
            return False
        return self.operator != "~=" or len(bound.release) > 1


def _begins(version: Version, prefix: str) -> bool:
    bound = parse_version(prefix)
    if bound is None or bound.epoch != version.epoch:
        return False
    length = len(bound.release)
    padded = version.release + (0,) * (length - len(version.release))
    return padded[:length] == bound.release


def _equal(version: Version, bound: Version) -> bool:
    if version.public != bound.public:
        return False
    return not bound.local or version.local == bound.local


def _less(version: Version, bound: Version) -> bool:
    """Compare exclusively: a pre-release of the bound does not pass either."""
    early = bound.pre is not None or bound.dev is not None
    return version.public < (bound if early else attrs.evolve(bound, dev=0)).public


def _greater(version: Version, bound: Version) -> bool:
    """Compare exclusively: a post-release of the bound does not pass either."""
    plain = bound.post is None and bound.dev is None
    kin = plain and version.base == bound.base and version.pre == bound.pre
    return version.public > bound.public and not kin


def _compatible(version: Version, bound: Version) -> bool:
    prefix = bound.release[:-1]
    padded = version.release + (0,) * (len(prefix) - len(version.release))
    same = version.epoch == bound.epoch and padded[: len(prefix)] == prefix
    return same and version.public >= bound.public


_COMPARE: dict[str, Callable[[Version, Version], bool]] = {
    "==": _equal,
    "!=": lambda version, bound: not _equal(version, bound),
    "<": _less,
    ">": _greater,
    "<=": lambda version, bound: version.public <= bound.public,
    ">=": lambda version, bound: version.public >= bound.public,
    "~=": _compatible,
}


@attrs.frozen
class Requirement:
    """A distribution and the versions of it that will do.

    Args:
        name: normalised.
        clauses: comparisons that must all pass.
        marker: a condition on the environment, unread; empty where there is none.
    """

    name: str
    clauses: tuple[Clause, ...] = ()
    marker: str = ""

    def admits(self, version: str) -> bool:
        """Say whether an installed version will do."""
        return all(clause.admits(version) for clause in self.clauses)


_REQUIREMENT = re.compile(
    r"\s*[A-Za-z0-9][A-Za-z0-9._-]*\s*(?:\[[^\]]*\])?\s*\(?(?P<spec>[^;()]*)\)?\s*(?:;(?P<marker>.*))?"
)


def parse_requirement(text: str) -> Requirement | None:
    """Read a requirement such as ``acme-nudges>=0.1,<0.2``; None where it is none."""
    match = _REQUIREMENT.fullmatch(text)
    name = requirement_name(text)
    if match is None or not name:
        return None
    parts = [part.strip() for part in match["spec"].split(",") if part.strip()]
    found = [_CLAUSE.fullmatch(part) for part in parts]
    clauses = tuple(Clause(one["operator"], one["version"]) for one in found if one)
    if len(clauses) != len(parts) or not all(clause.well_formed for clause in clauses):
        return None
    return Requirement(name, clauses, (match["marker"] or "").strip())
