"""Every error that trimtab raises on purpose."""

from __future__ import annotations

from typing import Any


class TrimtabError(Exception):
    """Base of all errors of trimtab; the message says what is wrong, where, and what to do."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__ == __name__:
            # As users import it, and as tracebacks show it.
            of_providers = any(base.__name__ == "ProviderError" for base in cls.__bases__)
            cls.__module__ = "trimtab.inspection" if of_providers else "trimtab"


TrimtabError.__module__ = "trimtab"


class TrimtabDeprecationWarning(DeprecationWarning):
    """Something that still works will be removed; the message says what to use instead."""

    __module__ = "trimtab"


class ConfigurationError(TrimtabError):
    """A configuration file, table or environment switch is wrong."""


class PromptError(TrimtabError):
    """A prompt, section or parameter is declared or bound wrongly."""


class ResourceError(TrimtabError):
    """A resource is not bound, or a path leads out of its filesystem."""


class ToolError(TrimtabError):
    """A tool is declared wrongly, or was called with parameters that it does not take."""


class SessionError(TrimtabError):
    """A session or run was used in a way that its record does not allow."""


class SnapshotError(SessionError):
    """A snapshot can't be read back: damaged, or of another version."""


class ProviderError(TrimtabError):
    """A provider that a prompt names can't be used; raised while the prompt is built."""


class UnknownProvider(ProviderError):
    """No installed distribution offers a provider of that name and kind."""


class AmbiguousProvider(ProviderError):
    """Several distributions offer that name; write ``distribution:name``."""


class ProviderNotAllowed(ProviderError):
    """The allow-list, a require-list or a switch forbids the provider."""


class IncompatibleProvider(ProviderError):
    """The provider's distribution asks for another version of trimtab."""


class ProviderLoadError(ProviderError):
    """The provider's module can't be imported or lacks the named attribute."""


class ProviderOptionsError(ProviderError):
    """The options given to a provider are not what it takes."""


class ProviderInvalid(ProviderError):
    """The object is not a provider: it breaks a rule of the contract."""


class PromptEvaluationError(TrimtabError):
    """An adapter could not bring a prompt to a valid end."""
