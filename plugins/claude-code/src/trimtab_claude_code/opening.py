"""From a hook's payload to the conversation that answers it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from trimtab import SYSTEM_CLOCK, TrimtabError, find_configuration
from trimtab_claude_code.conversation import Conversation
from trimtab_claude_code.hooks.answers import Answer
from trimtab_claude_code.prepared import PreparedPrompts, find_prepared
from trimtab_claude_code.state.folders import forget_old, journal_path, user_folder
from trimtab_claude_code.state.journal import Journal
from trimtab_claude_code.state.troubles import Troubles

if TYPE_CHECKING:
    from trimtab_claude_code.prompts import Prompts


class Place(NamedTuple):
    """Where a session is guided from.

    Args:
        journal: the session's file.
        prompts: who is guided by what.
    """

    journal: Path
    prompts: PreparedPrompts | Prompts


def place_of(payload: Mapping[str, Any], project: str | None = None) -> Place:
    """Find the configuration and the journal for a payload.

    Args:
        payload: what a hook was told.
        project: the project's folder, where it is known better than from the payload.

    Raises:
        ConfigurationError: the configuration can't be read.
        OSError: the folder for the journal can't be made.
    """
    session_id, cwd = payload.get("session_id"), payload.get("cwd")
    folder = Path(project or (cwd if isinstance(cwd, str) else "") or Path.cwd())
    config = find_configuration(folder)
    journal = journal_path(config, str(session_id or "none"))
    return Place(journal, _prompts(config, folder))


def _prompts(config: Path | None, folder: Path) -> PreparedPrompts | Prompts:
    """Return the prompts as written down, else build them, and write them down for the next."""
    found = find_prepared(config, user_folder(), folder) if config else None
    return found or _built(config, folder)


def _built(config: Path | None, folder: Path) -> Prompts:
    from trimtab import Configuration, load_configuration
    from trimtab_claude_code.preparing import prepare
    from trimtab_claude_code.prompts import Prompts

    if config is None:
        return Prompts(Configuration(), folder)
    configuration = load_configuration(config)
    prompts = Prompts(configuration, folder)
    prompts.build_all()
    if not prompts.failures:
        prepare(configuration, user_folder())
    return prompts


class Guided:
    """A conversation with the user's troubles: at its beginning it says what went wrong.

    Args:
        place: where it is guided from.
        troubles: the user's list.
    """

    def __init__(self, place: Place, troubles: Troubles) -> None:
        self._troubles = troubles
        self._folder = place.journal.parent
        self._prompts = place.prompts
        self.conversation = Conversation(Journal(place.journal), self._prompts, troubles.note)

    def answer(self, payload: Mapping[str, Any]) -> Answer:
        """Return the hook's answer."""
        answer = self.conversation.answer(payload)
        if payload.get("hook_event_name") == "SessionStart":
            self._prompts.build_all()
            self._tidy()
            return greeted(answer, self._troubles, self._prompts.failures)
        return answer

    def _tidy(self) -> None:
        try:
            forget_old(self._folder, SYSTEM_CLOCK.now())
        except OSError as error:
            self._troubles.note(f"Old journals can't be removed: {error}")


def greeted(answer: Answer, troubles: Troubles, failures: Mapping[str, str]) -> Answer:
    """Return a SessionStart answer that tells the user what went wrong, if anything did."""
    said = [f"earlier: {trouble.what}" for trouble in troubles.tell()]
    said += [f"{name} is off: {why}" for name, why in failures.items()]
    return {**answer, "systemMessage": "\n".join(("trimtab", *said))} if said else answer


def unanswered(payload: Mapping[str, Any], error: Exception, troubles: Troubles) -> Answer:
    """Note why an event has no answer of its own; a session that begins with it says so."""
    troubles.note(f"A hook could not be answered: {describe(error)}")
    begins = payload.get("hook_event_name") == "SessionStart"
    return greeted({}, troubles, {}) if begins else {}


def describe(error: BaseException) -> str:
    """Return an error in words for the user."""
    if isinstance(error, TrimtabError):
        return str(error)
    return f"{type(error).__name__}: {error}"
