"""Guidance, feedback and completion checks for agents on Pydantic AI: `Trimtab`, a capability."""

from trimtab_pydantic_ai._capability import HOST as HOST, Trimtab as Trimtab
