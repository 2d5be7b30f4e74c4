"""Ended tool calls as detectors see them, with their fingerprints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from trimtab import Outcome, ToolInvoked, ToolProfile
from trimtab.events import CallOrigin
from trimtab.text import LazyPattern, quote, shorten
from trimtab_signals._canonical import canonical_params, digest
from trimtab_signals._envelope import arguments_of, opened
from trimtab_signals._failure_lines import best_line, excerpt, lines_of, sounds_like_failure
from trimtab_signals._failures import failed, failure_text, signatures
from trimtab_signals._frame import without_frame
from trimtab_signals._normalise import EDGE, bounded, normalise_lines, shown_of, text_of
from trimtab_signals._novelty import (
    Pieces,
    Shape,
    Slot,
    may_say_same,
    pieces_of,
    says_same,
    shape_of,
)
from trimtab_signals._profiles import ToolProfiles, tool_name
from trimtab_signals._shell import reads_only

_PARAMS_KEPT = 512
_OUTPUT_KEPT = 200
"""Characters that are kept of a call: a text quotes less, and a digest tells the rest apart."""
_NOISY = 1_000
"""Characters at the beginning of an answer from which a profile takes noise out."""
_LONGEST_CALL = 90
"""Characters of a call in a text: it is named, not quoted."""
_MOST_APART = 200
"""Characters by which the sizes of answers differ that say the same."""
_FRACTION = LazyPattern(r"(?:^|[:=])[01]?\.\d+$")  # a score, most likely
_BETWEEN_WORDS = "\"',{}[]();"
_SPACED = str.maketrans(dict.fromkeys(_BETWEEN_WORDS, " "))
_SPACED_ASCII = bytes(
    32 if chr(n) in _BETWEEN_WORDS + "\x1c\x1d\x1e\x1f" else n for n in range(256)
)


@attrs.define(eq=False, weakref_slot=False)
class CallRecord:
    """One ended tool call as detectors see it, one for all providers of a run: don't change it.

    Attributes:
        tool: its name.
        failed: whether it failed (see `trimtab_signals._failures`).
        signature: what is the same whenever this failure comes back; empty where it did not fail.
        bare_signature: the same, with the values of the arguments that the failure repeats.
        alike: turns in which it and others were told the same in vain, though nothing flags it.
        complaint: the signature of what they were told.
        size: length of the whole output, in characters.
        outcome, caller, turn: as in the event.
        waits: a declared poll, by the host or by the tool's profile.
        started, ended: monotonic seconds since the run's opening; None where unknown.
        profile: what is known about the tool.
        command: the command line, where the tool is a shell (at most 512 characters).
        fingerprint: of tool and arguments; equal for calls that mean the same.
        params_text: the canonical arguments, at most 512 characters, for comparing by likeness.
        output_hash: fingerprint of the output as it came.
        output: at most 200 characters of it, raw, so escape them before quoting: the key line of a
            failure, else head and tail.
    """

    tool: str
    profile: ToolProfile
    fingerprint: str
    output_hash: str
    output: str
    _text: str | None = attrs.field(default=None, alias="text")
    _params: Any = attrs.field(default=None, alias="params")
    failed: bool = False
    outcome: Outcome = Outcome.OK
    caller: CallOrigin = CallOrigin.MODEL
    turn: int | None = None
    waits: bool = False
    started: float | None = None
    ended: float | None = None
    command: str | None = None
    size: int = 0
    params_text: str = ""
    signature: str = ""
    bare_signature: str = ""
    awaits: bool | None = None
    alike: int = 0
    complaint: str = ""
    # Computed when they are read: most calls are never compared.
    _output_fingerprint: str | None = attrs.field(default=None, alias="output_fingerprint")
    _shape: Shape | None = attrs.field(default=None, alias="shape")
    _pieces: Pieces | None = attrs.field(default=None, alias="pieces")
    _words: frozenset[str] | None = attrs.field(default=None, alias="words")
    _lines: str | None = attrs.field(default=None, init=False)

    @property
    def whole(self) -> str:
        """The output, its ends if it is long; what is kept of it once later calls came."""
        return self.output if self._text is None else self._text

    @property
    def output_fingerprint(self) -> str:
        """Fingerprint of the normalised output; equal if nothing in it is new."""
        value = self._output_fingerprint
        if value is None:
            value = digest(" ".join(self._normal().split()))
            self._output_fingerprint = value
        return value

    @property
    def shape(self) -> Shape:
        """The normalised output as a frame with values in it."""
        value = self._shape
        if value is None:
            value = shape_of(" ".join(self._normal().split()))
            self._shape = value
        return value

    @property
    def pieces(self) -> Pieces:
        """The lines and items of the output, unordered, without what repeats the arguments."""
        value = self._pieces
        if value is None:
            value = pieces_of(self._normal(), self._params)
            self._pieces = value
        return value

    def may_repeat(self, other: CallRecord) -> bool:
        """Tell cheaply whether this output may repeat that of `other`, an earlier call.

        It may if under a quarter of its words are new, without those of the arguments.
        """
        if self._text is None or other._text is None:
            return True
        words = self._words or self._look_at_words()
        new = words - (other._words or other._look_at_words())
        most = len(words)
        if 4 * len(new) < most:
            return True
        asked, told = self.params_text, 0
        for word in new:
            if word not in asked and not ("." in word and _FRACTION.search(word)):
                told += 4
                if told >= most:
                    return False
        return most > 0

    def _look_at_words(self) -> frozenset[str]:
        text = self._text or ""
        if text.isascii():  # a tenth of the time that `str.translate` takes
            words = frozenset(text.encode().translate(_SPACED_ASCII).decode().split())
        else:
            words = frozenset(text.translate(_SPACED).split())
        self._words = words
        return words

    @property
    def reads(self) -> bool:
        """Whether it is known to change nothing."""
        if self.command is not None:
            return reads_only(self.command)
        return bool(self.profile.read_only)

    def _normal(self) -> str:
        value = self._lines
        if value is None:
            value = normalise_lines(self._text or "")
            self._lines = value
        return value

    def same_output(self, other: CallRecord) -> bool:
        """Tell whether this output and that of `other`, an earlier call, say the same, apart from
        details that differ by chance.

        Those of equal calls do so too if they differ only in a value that counts the calls or
        keeps time.
        """
        if self.output_hash == other.output_hash:
            return True
        if abs(self.size - other.size) > _MOST_APART:
            return False
        return self.output_fingerprint == other.output_fingerprint or (
            self.fingerprint == other.fingerprint and self._moved(other)
        )

    def _moved(self, other: CallRecord) -> bool:
        """Tell whether this output differs from the earlier one in values that don't matter."""
        has_texts = self._text is not None and other._text is not None
        if has_texts and not may_say_same(other._normal(), self._normal()):
            return False
        complains = mentions_failure(self)
        return says_same(other.shape, self.shape, reads=self.reads, complains=complains)

    def drop_text(self) -> None:
        """Drop the text of the output; what comparisons need stays."""
        _ = self.output_fingerprint, self.shape, self.pieces
        self._text = self._params = self._lines = None

    def state(self) -> SavedCall:
        """Return what a snapshot keeps; the profile is looked up again by name."""
        kept = {name: getattr(self, name) for name in _SAVED}
        shape = self.shape
        return SavedCall(**kept, frame=shape.frame, slots=shape.slots, words=shape.words)


@attrs.frozen(kw_only=True)
class SavedCall:
    """A `CallRecord` as a snapshot keeps it; see `CallRecord`, and `Shape` for its last parts."""

    tool: str
    fingerprint: str
    params_text: str
    outcome: Outcome
    caller: CallOrigin
    turn: int | None
    failed: bool
    signature: str
    bare_signature: str
    output: str
    output_hash: str
    output_fingerprint: str
    size: int
    waits: bool
    started: float | None
    ended: float | None
    command: str | None
    frame: str
    slots: tuple[tuple[str, tuple[str, ...], str], ...]
    pieces: frozenset[int]
    words: int = 0

    def restored(self, profiles: ToolProfiles) -> CallRecord:
        """Return the record.

        Args:
            profiles: what is known about the tools.
        """
        fields = attrs.asdict(self, recurse=False)
        slots = tuple([Slot(*slot) for slot in fields.pop("slots")])
        shape = Shape(fields.pop("frame"), slots, fields.pop("words"))
        return CallRecord(**fields, shape=shape, profile=profiles.of(self.tool))


_SAVED = {field.name for field in attrs.fields(SavedCall)} - {"frame", "slots", "words"}


def failure_episode(call: CallRecord) -> str:
    """Return the name of the problem of the failed `call`, the same for every provider.

    So one provider speaks about it at a time, and its level rises whichever speaks.
    """
    return f"failure-{digest(call.signature or call.fingerprint)}"


def mentions_failure(call: CallRecord) -> bool:
    """Tell whether `call` failed, or its output holds a word of failure."""
    return call.failed or sounds_like_failure(call.output)


def _complaint(
    text: str, holders: Sequence[Mapping[str, Any]], params: Any
) -> tuple[str, str, str]:
    """Return both signatures of a failure, and what a text quotes of it: its key line, or all of
    an object with a code.
    """
    lines = lines_of(failure_text(text, holders))
    key = best_line(lines)
    said = key.strip() or excerpt(text)
    is_code = bool(holders) and " " not in said  # what it means stands beside it
    return *signatures(lines, key, params), (text if is_code else said)[:_OUTPUT_KEPT]


def record_of(event: ToolInvoked, profile: ToolProfile) -> CallRecord:
    """Return what detectors need to know about `event`."""
    params = event.params
    if type(params) is not dict or len(params) == 1:
        params = arguments_of(params)
    command = profile.command(params) if profile.command_params else None
    result, holders = opened(event.result, event.tool, command)
    text = result if type(result) is str else text_of(result)
    if profile.result_noise is not None:
        text = profile.result_noise.sub("", text[:_NOISY]) + text[_NOISY:]
    if not text and event.error:
        text = without_frame(event.error, event.tool, command)
    size = len(text)
    signature = bare_signature = ""
    shown = text
    has_failed = failed(event, text, holders, profile, command)
    if has_failed:
        signature, bare_signature, shown = _complaint(text, holders, [params, event.tool])
    elif size > 2 * EDGE or type(result) is not str:
        shown = shown_of(result, text)
        if shown is text and type(event.result) is str and "\\u" not in event.result:
            shown = event.result  # an object in JSON, as it was written if that can be read
    asked = canonical_params(params, profile)
    asked_hash, output = digest(f"{event.tool}\n{asked}"), bounded(shown, _OUTPUT_KEPT // 2)
    ended, duration = event.elapsed, event.duration
    started = None if ended is None or duration is None else ended - duration
    waits = profile.polls(params) if event.poll is None else event.poll
    command = command if command is None else command[:_PARAMS_KEPT]
    # By place: what a class takes by name becomes a dict first, for so many in twice the time.
    return CallRecord(
        event.tool, profile, asked_hash, digest(text), output, bounded(text), params,
        has_failed, event.outcome, event.caller, event.turn, waits, started, ended, command,
        size, asked[:_PARAMS_KEPT], signature, bare_signature,
    )  # fmt: skip


def describe_call(call: CallRecord, limit: int = _LONGEST_CALL) -> str:
    """Return `call` as a text names it, ``read(path='a.py')``, in `limit` characters at most."""
    arguments = quote(call.params_text.removeprefix("{").removesuffix("}"), 2 * limit)[1:-1]
    name = tool_name(call.tool, limit // 2)
    return f"{name}({shorten(arguments, limit - len(name) - 2)})"
