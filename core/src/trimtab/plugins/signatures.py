"""Rules about how a method takes its context."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from trimtab.errors import ProviderInvalid


def check_positional(method: Callable[..., Any], name: str, who: str) -> None:
    """Hold a hook against ``def NAME(self, context)``.

    pluggy never passes a keyword-only parameter and lets a default win over the caller, and
    finds neither at registration.

    Raises:
        ProviderInvalid: it takes anything else.
    """
    parameters = list(inspect.signature(method).parameters.values())
    wrong = next(filter(None, map(_fault, parameters)), "")
    if not wrong and [p.name for p in parameters] != ["context"]:
        wrong = f"takes ({', '.join(p.name for p in parameters)})"
    if wrong:
        raise ProviderInvalid(f"{name} of the {who} {wrong}; write: def {name}(self, context): …")


def _fault(parameter: inspect.Parameter) -> str:
    if parameter.kind is parameter.KEYWORD_ONLY:
        return f"has the keyword-only parameter {parameter.name!r}, which is never passed"
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        return f"has *{parameter.name}, which is never filled"
    if parameter.default is not parameter.empty:
        return f"has a default for {parameter.name!r}"
    return ""


def check_call(method: Callable[..., Any], name: str, who: str, *, by_keyword: bool) -> None:
    """Hold a protocol's method against the call that core makes.

    Args:
        method: the bound method.
        name: its name in the protocol.
        who: the provider, for the message.
        by_keyword: whether it is called as ``NAME(context=…)``, else as ``NAME(context)``.

    Raises:
        ProviderInvalid: it can't be called so.
    """
    try:
        signature = inspect.signature(method)
    except (TypeError, ValueError):
        return  # built in C, or hiding its signature
    try:
        signature.bind(context=None) if by_keyword else signature.bind(None)
    except TypeError as error:
        line = f"def {name}(self, {'*, ' * by_keyword}context): …"
        raise ProviderInvalid(
            f"{name} of the {who} can't be called with a context: {error}; write: {line}"
        ) from None


def check_synchronous(method: Callable[..., Any], name: str, who: str) -> None:
    """Refuse what is called and does not return its answer.

    Raises:
        ProviderInvalid: it is ``async def``, or it yields.
    """
    if inspect.iscoroutinefunction(method):
        raise ProviderInvalid(f"{name} of the {who} is async; write: def {name}(…): …")
    if inspect.isgeneratorfunction(method) or inspect.isasyncgenfunction(method):
        raise ProviderInvalid(f"{name} of the {who} yields; it must return its answer.")
