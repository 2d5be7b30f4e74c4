"""The mark of a provider's own hooks, as pluggy knows it; pluggy need not be there to leave it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

if TYPE_CHECKING:
    from typing import TypedDict, Unpack

    class Options(TypedDict, total=False):
        """Options of pluggy's marker."""

        specname: str | None
        optionalhook: bool
        tryfirst: bool
        trylast: bool
        wrapper: bool
        hookwrapper: bool


Function = TypeVar("Function", bound=Callable[..., Any])

PROJECT = "trimtab"
MARK = f"{PROJECT}_impl"


@overload
def hookimpl(function: Function, /) -> Function: ...


@overload
def hookimpl(**options: Unpack[Options]) -> Callable[[Function], Function]: ...


def hookimpl(function: Any = None, /, **options: Any) -> Any:
    """Mark a method as the implementation of a hook: ``@hookimpl``, or ``@hookimpl(…)``.

    Args:
        function: the method.
        options: as for pluggy's marker. ``specname`` is the hook, where the method has another
            name; ``optionalhook=True`` passes over a hook that this release of trimtab lacks.
            The prompt decides on the order, and wrappers are refused.
    """

    def mark(function: Function) -> Function:
        setattr(function, MARK, options)
        return function

    return mark if function is None else mark(function)
