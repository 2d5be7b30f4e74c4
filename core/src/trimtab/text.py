"""Helpers for texts that agents, users and terminals read, and for options that hold texts."""

from trimtab._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "_types.options": "level_texts text_option",
        "_types.text": (
            "as_text CONTROL_CHARACTERS describe_error escape LazyPattern plural quote "
            "render_block replace_surrogates sanitize shorten"
        ),
    },
)
