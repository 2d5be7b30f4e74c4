from trimtab._types.options import (
    level_texts as level_texts,
    text_option as text_option,
)
from trimtab._types.text import (
    CONTROL_CHARACTERS as CONTROL_CHARACTERS,
    LazyPattern as LazyPattern,
    as_text as as_text,
    describe_error as describe_error,
    escape as escape,
    plural as plural,
    quote as quote,
    render_block as render_block,
    replace_surrogates as replace_surrogates,
    sanitize as sanitize,
    shorten as shorten,
)
