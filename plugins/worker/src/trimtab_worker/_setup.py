"""What `trimtab worker` runs: a factory's loop, or what a mailbox's URL and a prompt make."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import attrs

from trimtab.inspection import discover, load, select
from trimtab.text import describe_error
from trimtab_worker._handling import Replies
from trimtab_worker._lease_config import MainLoopConfig
from trimtab_worker._loop import Loop
from trimtab_worker._loops import MainLoop, Prepare
from trimtab_worker._records import MailboxError, WorkerError

if TYPE_CHECKING:
    from trimtab import Adapter


def open_mailbox(url: str, body: Any = None) -> Any:
    """Open the mailbox that `url` names, e.g. ``sqlite:///queue.db``.

    An engine that is not installed raises trimtab's `UnknownProvider`.

    Args:
        url: its scheme is the name of an installed engine: ``sqlite``, ``redis``, ``sqs``,
            ``postgresql``, or another package's.
        body: attrs class that bodies are of, or several; None: plain JSON values.

    Raises:
        MailboxError: this is not a URL, or the engine refuses it.
    """
    scheme, colon, _ = url.partition(":")
    if not colon or not scheme:
        raise MailboxError(f"{url!r} is not a URL of a mailbox: write e.g. sqlite:///queue.db")
    factory = load(select("mailboxes", scheme, discover()))
    return factory(url, body)


def split_queue(url: str, default: str = "agents") -> tuple[str, str]:
    """Return a server's URL without its parameter ``queue``, and that parameter.

    Args:
        url: e.g. ``redis://localhost:6379/0?queue=agents``.
        default: the queue if the URL names none.
    """
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    queue = options.pop("queue", default)
    return urlunsplit(parts._replace(query=urlencode(options))), queue


@attrs.frozen(kw_only=True)
class WorkerSetup:
    """What a main loop is made of, but for its mailbox.

    Args:
        adapter: evaluates prompts.
        prepare: returns the prompt and the session for one request.
        request: attrs class of the requests; None: plain JSON values.
        config: times, dead letters, concurrency.
        replies: as for `MainLoop`.
    """

    adapter: Adapter
    prepare: Prepare
    request: type[Any] | None = None
    config: MainLoopConfig = attrs.field(factory=MainLoopConfig)
    replies: Replies = None


def make_loop(target: str, url: str | None, on_event: Callable[[Any], object]) -> Loop:
    """Return the loop that the factory `target` makes.

    Args:
        target: ``module:factory``; the module may lie in the current folder. The factory takes
            nothing or the mailbox's URL, and returns a loop or a `WorkerSetup`.
        url: of the mailbox.
        on_event: listener of the loop.

    Raises:
        WorkerError: there is no such factory, it fails, or returns something else.
    """
    factory = _imported(target)
    try:
        takes_url = bool(inspect.signature(factory).parameters)
        made = factory(url) if takes_url else factory()
    except Exception as error:
        raise WorkerError(f"{target} failed: {describe_error(error)}") from error
    if isinstance(made, Loop):
        if url is not None and not takes_url:
            raise WorkerError(
                f"{target} returns a loop with a mailbox of its own: leave out --mailbox, or let "
                f"the factory take the URL"
            )
        made.listen(on_event)
        return made
    if not isinstance(made, WorkerSetup):
        raise WorkerError(
            f"{target} must return a MainLoop, an EvalLoop or a WorkerSetup, "
            f"not {type(made).__name__}"
        )
    if url is None:
        raise WorkerError(f"{target} returns a WorkerSetup, which needs --mailbox URL")
    if url.startswith("memory:"):
        raise WorkerError(
            f"nobody can send to {url} of this worker: name a mailbox that others can open, such "
            "as sqlite:///queue.db"
        )
    return MainLoop(
        made.adapter,
        open_mailbox(url, made.request),
        made.config,
        prepare=made.prepare,
        replies=made.replies,
        on_event=on_event,
    )


def _imported(target: str) -> Callable[..., Any]:
    module, colon, name = target.partition(":")
    if not (module and colon and name):
        raise WorkerError(f"{target!r} names no factory: write module:function")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = getattr(importlib.import_module(module), name)
    except Exception as error:
        raise WorkerError(f"{target} can't be imported: {describe_error(error)}") from error
    if not callable(found):
        raise WorkerError(f"{target} is not a function but {type(found).__name__}")
    factory: Callable[..., Any] = found
    return factory
