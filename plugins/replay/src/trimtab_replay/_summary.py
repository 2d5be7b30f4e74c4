"""What each provider did over many runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import attrs

from trimtab_replay._results import Note, Replayed


@attrs.define
class ProviderSummary:
    """What one provider did.

    Attributes:
        nudges: how often it spoke.
        tokens: what its texts would have cost, an estimate.
        first_calls: of each run in which it spoke, the call after which it first did.
    """

    name: str
    nudges: int = 0
    tokens: int = 0
    first_calls: list[int] = attrs.field(factory=list)

    @property
    def runs(self) -> int:
        """In how many runs it spoke."""
        return len(self.first_calls)

    @property
    def typical_first_call(self) -> float | None:
        """The median of `first_calls`; None if it never spoke."""
        from statistics import median  # needed for a screen only

        return median(self.first_calls) if self.first_calls else None


@attrs.define
class Summary:
    """Adds up runs; memory grows with the runs that were spoken in, by one number each.

    Args:
        names: providers that were asked; those that never spoke are listed too.

    Attributes:
        notes: in how many runs something was noted, by what, whose and why; not what was
            suppressed.
    """

    names: Iterable[str] = ()
    runs: int = 0
    calls: int = 0
    touched: int = 0
    notes: Counter[tuple[str, str, str]] = attrs.field(factory=Counter)
    _providers: dict[str, ProviderSummary] = attrs.field(factory=dict)

    def __attrs_post_init__(self) -> None:
        for name in self.names:
            self._providers[name] = ProviderSummary(name)

    def add(self, replayed: Replayed) -> None:
        """Add one run."""
        self.runs += 1
        self.calls += replayed.calls
        self.touched += bool(replayed.decisions)
        seen: set[str] = set()
        for decision in replayed.decisions:
            provider = self._of(decision.provider)
            provider.nudges += 1
            provider.tokens += decision.tokens
            if decision.provider not in seen:
                seen.add(decision.provider)
                provider.first_calls.append(decision.call)
        self.notes.update({_key(note) for note in replayed.notes if note.event != "suppressed"})

    def _of(self, name: str) -> ProviderSummary:
        return self._providers.setdefault(name, ProviderSummary(name))

    @property
    def providers(self) -> tuple[ProviderSummary, ...]:
        """All providers, in the order in which they are asked."""
        return tuple(self._providers.values())

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Yield the table for people, its head first."""
        yield "provider", "runs", "nudges", "first call", "per 100 calls", "tokens"
        for one in self.providers:
            first = one.typical_first_call
            yield (
                one.name,
                f"{one.runs:,}",
                f"{one.nudges:,}",
                "–" if first is None else f"{first:g}",
                f"{100 * one.nudges / self.calls:.2f}" if self.calls else "–",
                f"{one.tokens:,}",
            )


def _key(note: Note) -> tuple[str, str, str]:
    return note.event, note.provider, note.message
