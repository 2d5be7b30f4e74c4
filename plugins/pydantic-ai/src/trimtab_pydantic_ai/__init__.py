"""Guidance, feedback and completion checks for agents on Pydantic AI: `Trimtab`, a capability."""

from trimtab_pydantic_ai._capability import HOST, Trimtab

__all__ = ["HOST", "Trimtab"]
