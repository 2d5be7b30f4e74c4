"""Texts of the model are compared by their ends first, and mean the same as when normalised."""

from __future__ import annotations

from hypothesis import example, given, strategies as st

from trimtab_doom_loop._texts import SHORTEST_TEXT, Said
from trimtab_signals import digest, normalise_text

PARTS = (
    "Let me look at the file again", "all tests of the module pass now", "5 minutes", "3s",
    "session id = abc-4", "took 12", "pid: 99", "2024-01-02 10:00:00", "deadbeef01", "/tmp/tmpabcd",
    "base64, QUJD", "abcdabcd-abcd-abcd-abcd-abcdabcdabcd", "\x1b[31mred\x1b[0m", "⠋", "a", "\n",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PARTS) | st.text(max_size=9), max_size=40).map(" ".join)


@given(TEXTS, TEXTS, TEXTS, st.sampled_from(PARTS), st.sampled_from(PARTS))
@example("a " * 46, "a " * 46, "", "session id = 4", "took 5")
@example("", "a " * 46, "a " * 46, "base64, QUJD", "2024-01-02")
@example("", "a " * 2_000, "", "3s", "5 minutes")
def test_two_texts_are_alike_if_they_are_the_same_normalised(head, middle, tail, one, other):
    a, b = f"{head} {one} {middle} {tail}", f"{head} {other} {middle} {tail}"
    same = normalise_text(a) == normalise_text(b)

    assert Said(a).is_like(Said(b)) is same
    assert Said(b).is_like(Said("", digest(normalise_text(a)))) is same
    assert Said(a).name == digest(normalise_text(a))


@given(TEXTS)
def test_a_text_is_short_if_little_of_it_is_left_when_normalised(text):
    assert Said(text).is_short is (len(normalise_text(text)) < SHORTEST_TEXT)
