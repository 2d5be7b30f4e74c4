"""The OpenAI service: Chat Completions and Responses, streamed or not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trimtab_test_servers.ids import Ids
from trimtab_test_servers.loopback import (
    Answer,
    LoopbackServer,
    Refused,
    Route,
    event_stream,
    json_answer,
    read_json,
)
from trimtab_test_servers.openai_chat import Completion
from trimtab_test_servers.openai_chat_rules import check_chat
from trimtab_test_servers.openai_responses import Response
from trimtab_test_servers.openai_responses_rules import Item, check_pairs, check_responses, items_of
from trimtab_test_servers.openai_rules import check_key
from trimtab_test_servers.record import Request
from trimtab_test_servers.script import Script

ERRORS = {
    401: ("invalid_request_error", "invalid_api_key"),
    429: ("requests", "rate_limit_exceeded"),
    500: ("server_error", None),
    503: ("server_error", None),
}


class OpenAIServer(LoopbackServer):
    """A scripted OpenAI service; ``base_url`` is what the client takes under that name."""

    prefix = "/v1"

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self._ids = Ids()
        self._stored: dict[str, list[Item]] = {}

    def routes(self) -> Mapping[str, Route]:
        return {"/v1/chat/completions": self._chat, "/v1/responses": self._responses}

    def error_body(self, refused: Refused) -> dict[str, Any]:
        kind, code = ERRORS.get(refused.status, ("invalid_request_error", None))
        error = {"message": refused.message, "type": kind, "param": refused.param}
        return {"error": {**error, "code": refused.code or code}}

    def _chat(self, request: Request) -> Answer:
        check_key(request.headers)
        body = read_json(request)
        check_chat(body)
        step = self.step(request)
        if isinstance(step, Answer):
            return step
        completion = Completion.of(step, str(body["model"]), self._ids)
        if not body.get("stream"):
            return json_answer(completion.whole())
        options = body.get("stream_options") or {}
        return event_stream(completion.stream(include_usage=bool(options.get("include_usage"))))

    def _responses(self, request: Request) -> Answer:
        check_key(request.headers)
        body = read_json(request)
        check_responses(body)
        items = [*self._earlier(body.get("previous_response_id")), *items_of(body["input"])]
        check_pairs(items)
        step = self.step(request)
        if isinstance(step, Answer):
            return step
        response = Response.of(step, body, self._ids)
        if body.get("store", True):
            self._stored[response.id] = [*items, *response.output]
        return (
            event_stream(response.stream()) if body.get("stream") else json_answer(response.whole())
        )

    def _earlier(self, id_: str | None) -> list[Item]:
        """The conversation that ended with response ``id_``."""
        if id_ is None:
            return []
        if id_ not in self._stored:
            raise Refused(
                f"Previous response with id '{id_}' not found.",
                param="previous_response_id",
                code="previous_response_not_found",
            )
        return self._stored[id_]
