"""Guidance for LLM agents: points at an error that keeps coming back."""

from trimtab_diagnostic_signal.provider import DiagnosticSignalProvider

__all__ = ["DiagnosticSignalProvider"]
