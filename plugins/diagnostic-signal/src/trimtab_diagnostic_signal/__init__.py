"""Guidance for LLM agents: points at an error that keeps coming back."""

from trimtab_diagnostic_signal._provider import DiagnosticSignalProvider

__all__ = ["DiagnosticSignalProvider"]
