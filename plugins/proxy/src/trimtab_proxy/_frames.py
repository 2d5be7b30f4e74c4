"""What the relay and the process that asks providers send each other.

A frame is its length and a pickle: both ends are one program of one user, connected by pipes.
"""

from __future__ import annotations

import pickle
import struct
from typing import IO, Any

import attrs

from trimtab_proxy._guide import Counts

_LENGTH = struct.Struct("!Q")


@attrs.frozen
class Setup:
    """What the process is started with.

    Args:
        config: configuration file; the one that is found from the working folder where None.
        guidance: names of guidance providers, instead of the configuration's prompts.
        board: the file that says which provider is being called.
        program: name of the program that is run; empty if none is.
        journal: whether conversations may be recorded.
    """

    config: str | None = None
    guidance: tuple[str, ...] = ()
    board: str = ""
    program: str = ""
    journal: bool = True


@attrs.frozen
class Ready:
    """The first frame that comes back.

    Args:
        error: why there is nothing to ask; empty if all is well.
        gate: whether completion checkers and refusals may change streamed answers.
        notes: what the user should know about the prompts.
        notify: whether the user is told at once what is said.
    """

    error: str = ""
    gate: bool = False
    notes: tuple[str, ...] = ()
    notify: bool = False


@attrs.frozen
class Request:
    """A question to the service.

    Args:
        number: comes back with the answer.
        method: of `GuideService`; ``"ping"`` or ``"close"`` for the process itself.
        arguments, options: of the method.
    """

    number: int
    method: str
    arguments: tuple[Any, ...] = ()
    options: dict[str, Any] = attrs.field(factory=dict)


@attrs.frozen
class Reply:
    """The answer to a question.

    Args:
        number: of the question.
        value: what the method returned.
        failure: the name of the error that it raised; empty if none.
        counts: what happened so far.
    """

    number: int
    value: Any = None
    failure: str = ""
    counts: Counts | None = None


def read_frame(stream: IO[bytes]) -> Any:
    """Return the next frame.

    Raises:
        EOFError: the other end has gone.
    """
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (size,) = _LENGTH.unpack(head)
    body = stream.read(size)
    if len(body) < size:
        raise EOFError
    return pickle.loads(body)  # noqa: S301  # of the process that was started, or that started us


def write_frame(stream: IO[bytes], frame: Any) -> None:
    """Write a frame.

    Raises:
        OSError: the other end has gone.
    """
    body = pickle.dumps(frame, pickle.HIGHEST_PROTOCOL)
    stream.write(_LENGTH.pack(len(body)))
    stream.write(body)
    stream.flush()
