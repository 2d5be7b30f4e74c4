"""A provider that is ready to be called: what the prompt's runtime is made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from trimtab.feedback.types import FeedbackTrigger
    from trimtab.plugins.settings import ProviderConfig
    from trimtab.plugins.source import Source
    from trimtab.runtime.host import DecisionPoint

Method = Callable[..., Any]


@attrs.frozen(kw_only=True, eq=False, repr=False)
class LoadedProvider:
    """One validated provider of one prompt.

    An object that satisfies its kind's protocol has its methods here, which take ``context=``
    by keyword, `check` by position; an object that marks its hooks itself has them in `hooks`,
    by position too. It has one or the other, never both, and may have run hooks besides.

    Attributes:
        source: where it comes from.
        config: the prompt's settings for it.
        instance: the object itself.
        hooks: its own ``@hookimpl`` methods by name of the hook: those of its kind, ``run_opened``
            and ``run_closed``.
        points: decision points at which it is asked; empty for other kinds than guidance.
        trigger: when feedback is asked for; None for other kinds.
        classify: of a `GuidanceProvider`, else None.
        provide: of a `GuidanceProvider` or `FeedbackProvider`, else None.
        should_run: of a `FeedbackProvider`, else None.
        check: of a `TaskCompletionChecker`, else None; may be ``async def``.
    """

    source: Source
    config: ProviderConfig
    instance: Any
    hooks: Mapping[str, Callable[[Any], Any]] = attrs.field(factory=dict)
    points: frozenset[DecisionPoint] = frozenset()
    trigger: FeedbackTrigger | None = None
    classify: Method | None = None
    provide: Method | None = None
    should_run: Method | None = None
    check: Method | None = None
