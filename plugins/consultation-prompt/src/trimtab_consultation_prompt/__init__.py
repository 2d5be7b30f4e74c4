"""Guidance for LLM agents: suggests a second opinion when attempts keep failing."""

from trimtab_consultation_prompt._provider import ConsultationPromptProvider

__all__ = ["ConsultationPromptProvider"]
