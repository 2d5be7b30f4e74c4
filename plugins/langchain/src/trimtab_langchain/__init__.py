"""trimtab for LangChain: a middleware for `create_agent` and deepagents."""

from trimtab_langchain._middleware import HOST, TrimtabMiddleware

__all__ = ["HOST", "TrimtabMiddleware"]
