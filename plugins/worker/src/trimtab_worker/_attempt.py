"""What tools may know of the delivery that they work for."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs

from trimtab_worker._errors import ReceiptHandleExpiredError

if TYPE_CHECKING:
    from trimtab import Session

LOG = logging.getLogger("trimtab_worker")


def _never() -> None:
    return None


@attrs.frozen(kw_only=True)
class Attempt:
    """One attempt at one message: ``context.resources.get(Attempt)`` in a tool.

    A message may be delivered again while an earlier attempt still runs, e.g. on a machine that
    was cut off. `message_id` with the name of an effect makes an idempotency key, and `number` is
    a fencing token: what stores effects refuses an attempt older than the newest it has seen.

    Args:
        message_id: of the message; the same at every attempt.
        number: which attempt this is, from 1; a later one has a higher number.
        snapshot: what `Session.snapshot` returned in the last attempt that kept one, where the
            work resumes from snapshots.
        lost: says why effects are unwanted, None while they are not.
    """

    message_id: str = ""
    number: int = 1
    snapshot: str | None = attrs.field(default=None, repr=False)
    lost: Callable[[], str | None] = attrs.field(default=_never, eq=False, repr=False)

    def key(self, effect: str) -> str:
        """Return an idempotency key: the same for one effect at every attempt.

        Args:
            effect: names the effect within the message, e.g. ``"charge:invoice-7"``.
        """
        return f"{self.message_id}/{effect}"

    def session(self, **options: Any) -> Session:
        """Return the session to work with: that of the last snapshot, else a new one.

        Args:
            options: as for `Session.restore`: types of your own, reducers, a clock.
        """
        from trimtab import Session, TrimtabError

        if self.snapshot is not None:
            try:
                return Session.restore(self.snapshot, **options)
            except TrimtabError as error:  # of another version, or damaged
                LOG.warning("message %s begins anew: %s", self.message_id, error)
        session = Session(**({"clock": options["clock"]} if "clock" in options else {}))
        for kind, reducer in (options.get("reducers") or {}).items():
            session.register(kind, reducer)
        return session

    def check(self) -> None:
        """Raise if another worker may have the message: call it right before an effect.

        It knows what this process knows. A store that compares `number` is the stronger fence.

        Raises:
            ReceiptHandleExpiredError: the lease is lost, or the message was given back.
        """
        reason = self.lost()
        if reason is not None:
            raise ReceiptHandleExpiredError(
                f"message {self.message_id}, attempt {self.number}: {reason}; make no effect"
            )
