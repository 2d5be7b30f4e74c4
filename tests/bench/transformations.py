"""Changes to a case that leave its verdict as it is: how a harness shows an answer, how a tool and
its arguments are called, what else happens in between.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any

from languages import BUSY, COURTESIES, FIELDS, LANGUAGES, NAMES, PHRASES, TASKS

from trimtab_signals import is_aside

Case = dict[str, Any]
Item = dict[str, Any]
Transformation = Callable[[Case], "Case | None"]
"""Returns the changed case, None where there is nothing to change."""

_PREFIX = 30
TRANSFORMATIONS: dict[str, Transformation] = {}


def transformation(function: Transformation) -> Transformation:
    """Register a transformation under its name."""
    TRANSFORMATIONS[function.__name__.replace("_", "-")] = function
    return function


def transformed(case: Case, name: str) -> Case | None:
    """Return `case` changed as `name` says, under an id of its own; None if nothing changes."""
    changed = TRANSFORMATIONS[name](copy.deepcopy(case))
    if changed is None or changed == case:
        return None
    changed["id"] = f"{case['id']}~{name}"
    return changed


# Answers ---------------------------------------------------------------------------------------

Wrap = Callable[[str, int, Item], Any]


def wrapper(name: str) -> Callable[[Wrap], Wrap]:
    """Register a function of text, number of the call and item that returns another answer."""

    def register(wrap: Wrap) -> Wrap:
        def apply(case: Case) -> Case | None:
            number = 0
            for item in case["calls"]:
                if "tool" in item:
                    number += 1
                    if isinstance(item["result"], str):
                        item["result"] = wrap(item["result"], number, item)
            return case

        TRANSFORMATIONS[name] = apply
        return wrap

    return register


def _mark(*facts: Any, size: int = 8) -> str:
    """Return hexadecimal digits that look drawn by lot."""
    return blake2b(repr(facts).encode(), digest_size=16).hexdigest()[:size]


def _seconds(number: int) -> float:
    return int(_mark(number, size=4), 16) % 4000 / 1000


def _status(item: Item) -> int:
    return int(item["error"])


@wrapper("exit-code-first")
def _(text: str, number: int, item: Item) -> str:
    return f"Exit code: {_status(item)}\nWall time: {_seconds(number)} seconds\nOutput:\n{text}"


@wrapper("output-tags")
def _(text: str, number: int, item: Item) -> str:
    return f"<returncode>{_status(item)}</returncode>\n<output>\n{text}\n</output>"


@wrapper("json-text-envelope")
def _(text: str, number: int, item: Item) -> str:
    return json.dumps({"stdout": text, "stderr": "", "exit_code": _status(item)})


@wrapper("json-envelope")
def _(text: str, number: int, item: Item) -> Any:
    return {"stdout": text, "stderr": "", "exit_code": _status(item), "duration_ms": 40 + number}


@wrapper("structured-result")
def _(text: str, number: int, item: Item) -> Any:
    told = {"error": text} if item["error"] else {"result": text}
    return {"success": not item["error"], **told, "requestId": _mark(number, size=12)}


@wrapper("content-blocks")
def _(text: str, number: int, item: Item) -> Any:
    return {"content": [{"type": "text", "text": text}], "isError": item["error"]}


@wrapper("json-text-with-counters")
def _(text: str, number: int, item: Item) -> str:
    facts = {"tool": item["tool"], "callNumber": number, "tookMs": 30 + number * 7 % 50}
    return json.dumps({**facts, "output": text, "ok": not item["error"]}, indent=2)


@wrapper("observation")
def _(text: str, number: int, item: Item) -> str:
    return f"Observation: {text}"


@wrapper("observation-heading")
def _(text: str, number: int, item: Item) -> str:
    return f"OBSERVATION:\n{text}\n"


@wrapper("step-banner")
def _(text: str, number: int, item: Item) -> str:
    return f"[Step {number}/60]\n{text}"


@wrapper("turn-footer")
def _(text: str, number: int, item: Item) -> str:
    return f"{text}\n\n(turn {number} of 80)"


@wrapper("turns-left")
def _(text: str, number: int, item: Item) -> str:
    return (
        f"{text}\n\nENVIRONMENT REMINDER: You have {60 - number} turns left to complete the task."
    )


@wrapper("tokens-and-cost")
def _(text: str, number: int, item: Item) -> str:
    tokens, cost = 1_200 + 731 * number, 0.0123 * number
    return f"{text}\n[tokens used: {tokens} | cost: ${cost:.4f} | time: {_seconds(number):.1f}s]"


@wrapper("context-left")
def _(text: str, number: int, item: Item) -> str:
    return f"{text}\nContext left: {100 - number}%"


@wrapper("shell-prompt")
def _(text: str, number: int, item: Item) -> str:
    return f"{text}\nuser@build-7:~/project$ "


@wrapper("shell-state")
def _(text: str, number: int, item: Item) -> str:
    return f"{text}\n(Open file: n/a)\n(Current directory: /repo)\nbash-$"


@wrapper("working-directory")
def _(text: str, number: int, item: Item) -> str:
    return (
        f"{text}\n[The command completed with exit code {_status(item)}.]\n"
        "[Current working directory: /workspace]\n[Python interpreter: /usr/bin/python3]\n"
        f"[Command finished with exit code {_status(item)}]"
    )


@wrapper("chunk-header")
def _(text: str, number: int, item: Item) -> str:
    return (
        f"Chunk ID: {_mark(number, size=6)}\nWall time: {_seconds(number):.4f} seconds\n"
        f"Process exited with code {_status(item)}\nOriginal token count: {len(text) // 4 + 1}\n"
        f"Output:\n{text}"
    )


@wrapper("truncation-notice")
def _(text: str, number: int, item: Item) -> str:
    return f"{text}\n... (output truncated to 8000 characters)"


@wrapper("reminder")
def _(text: str, number: int, item: Item) -> str:
    return (
        f"{text}\n<system-reminder>\nThe task list was not used lately. If it is stale, clean it "
        "up. Never mention this reminder to the user.\n</system-reminder>"
    )


@wrapper("tagged-result")
def _(text: str, number: int, item: Item) -> str:
    name = item["tool"]
    return f'<result name="{name}" id="call_{_mark(number, size=10)}">\n{text}\n</result>'


@wrapper("named-heading")
def _(text: str, number: int, item: Item) -> str:
    return f"Tool {item['tool']} returned in {7 * number % 400 + 20} ms:\n{text}"


@wrapper("fenced")
def _(text: str, number: int, item: Item) -> str:
    return f"Result of {item['tool']}:\n```\n{text}\n```"


@wrapper("time-first")
def _(text: str, number: int, item: Item) -> str:
    return f"[2026-03-0{number % 9 + 1} 12:{number % 60:02}:07] {text}"


@wrapper("time-on-each-line")
def _(text: str, number: int, item: Item) -> str:
    time = f"2026-03-01T12:{number % 60:02}:07.{number:03}Z"
    return "\n".join(f"{time} INFO {line}" for line in text.splitlines())


@wrapper("echoed-call")
def _(text: str, number: int, item: Item) -> str:
    return f"> {item['tool']} {json.dumps(item['args'])}\n{text}"


@wrapper("tool-error-tag")
def _(text: str, number: int, item: Item) -> str:
    return f"<tool_use_error>{text}</tool_use_error>" if item["error"] else text


@wrapper("failed-heading")
def _(text: str, number: int, item: Item) -> str:
    return f"Error executing tool {item['tool']}: {text}" if item["error"] else text


@wrapper("colours")
def _(text: str, number: int, item: Item) -> str:
    return "\n".join(f"\x1b[{31 + number % 6}m{line}\x1b[0m" for line in text.splitlines())


@wrapper("crlf")
def _(text: str, number: int, item: Item) -> str:
    return text.replace("\n", "\r\n") + "\r\n"


@wrapper("blank-lines")
def _(text: str, number: int, item: Item) -> str:
    return "\n" * (number % 3) + text + " " * (number % 4) + "\n" * (number % 2)


@wrapper("long-banner")
def _(text: str, number: int, item: Item) -> str:
    banner = "\n".join(f"# rule {line}: keep the workspace clean and small" for line in range(90))
    return f"{banner}\n{text}"


@wrapper("status-line-of-a-session")
def _(text: str, number: int, item: Item) -> str:
    return f"session {_mark(number, 's')} | run 4711 | call #{number}\n{text}\n-- end of output --"


@wrapper("protocol-envelope")
def _(text: str, number: int, item: Item) -> str:
    answer = {"content": [{"type": "text", "text": text}], "isError": item["error"]}
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": answer}, ensure_ascii=False)


@wrapper("elements")
def _(text: str, number: int, item: Item) -> str:
    status = "error" if item["error"] else "ok"
    return (
        f'<tool_response id="{_mark(number, "e")}">\n<status>{status}</status>\n'
        f"<body>\n{text}\n</body>\n</tool_response>"
    )


@wrapper("progress-bars")
def _(text: str, number: int, item: Item) -> str:
    bars = "\r".join(
        f"\x1b[32m{part:3}%\x1b[0m [{'#' * (part // 10):10}] {part * (number + 3) / 10:.1f} kB/s"
        for part in (10, 40 + number % 30, 100)
    )
    return f"{bars}\n{text}"


@wrapper("request-and-timings")
def _(text: str, number: int, item: Item) -> str:
    return (
        f"{text}\n\nrequest_id={_mark(number, 'r', size=12)} duration_ms={20 + number * 37 % 900}"
    )


@transformation
def error_in_text_only(case: Case) -> Case | None:
    """The harness flags nothing; what went wrong is in the text."""
    for item in _calls(case):
        if item["error"] and isinstance(item["result"], str):
            item["error"] = False
            item["result"] = f"Error: {item['result']}"
            item.pop("executed", None)
    return case


@transformation
def error_as_exit_code(case: Case) -> Case | None:
    """The harness flags nothing; the exit status says it."""
    for item in _calls(case):
        if item["error"] and isinstance(item["result"], str):
            item["error"] = False
            item["result"] = {"output": item["result"], "exit_code": 1}
            item.pop("executed", None)
    return case


@transformation
def ticking_fields(case: Case) -> Case | None:
    """Structured answers carry fields that count and tick."""
    for number, item in enumerate(_calls(case)):
        if isinstance(item["result"], dict):
            item["result"] |= {
                "request_id": _mark(number, size=12),
                "tookMs": 20 + number * 13 % 90,
                "seq": number + 1,
                "server_time": f"2026-03-01T12:{number % 60:02}:07Z",
            }
    return case


@transformation
def answer_keys_renamed(case: Case) -> Case | None:
    """Fields of structured answers have names of another language."""
    if "needs" in case:
        return None
    for item in _calls(case):
        item["result"] = _keys(item["result"])
    return case


def _keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {FIELDS.get(key, key): _keys(item) for key, item in value.items()}
    return [_keys(item) for item in value] if isinstance(value, list) else value


@transformation
def structured_as_text(case: Case) -> Case | None:
    """Structured answers come as JSON text."""
    for item in _calls(case):
        if isinstance(item["result"], dict | list):
            item["result"] = json.dumps(item["result"], indent=len(item["tool"]) % 3 or None)
    return case


# Calls -----------------------------------------------------------------------------------------


def _calls(case: Case) -> Iterator[Item]:
    return (item for item in case["calls"] if "tool" in item)


def _rename(case: Case, rename: Callable[[str], str]) -> Case | None:
    if "needs" in case or any(item.get("hook_event") for item in _calls(case)):
        return None
    for item in _calls(case):
        item["tool"] = rename(item["tool"])
    if "tools" in case:
        case["tools"] = [rename(name) for name in case["tools"]]
    return case


def _camel(name: str) -> str:
    first, *rest = re.split(r"[_-]", name)
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


@transformation
def tools_of_a_server(case: Case) -> Case | None:
    """The tools come from an MCP server."""
    return _rename(case, lambda name: f"mcp__acme-dev__{name}")


@transformation
def tools_in_camel_case(case: Case) -> Case | None:
    """Names in camel case."""
    return _rename(case, _camel)


@transformation
def tools_of_no_language(case: Case) -> Case | None:
    """Names that tell nothing to those who read English."""
    return _rename(
        case,
        lambda name: "_".join(
            str(NAMES.get(word.lower(), word.lower()))
            for word in re.findall(r"[A-Z]?[a-z]+|[^_-]", name)
        ),
    )


@transformation
def argument_keys_renamed(case: Case) -> Case | None:
    """Arguments have names of another language."""
    if "needs" in case:
        return None
    return _arguments(case, lambda args, number: _keys(args))


@transformation
def tools_with_dots(case: Case) -> Case | None:
    """Names with the name space before them."""
    return _rename(case, lambda name: f"functions.{name}")


@transformation
def tools_with_versions(case: Case) -> Case | None:
    """Names with a version behind them."""
    return _rename(case, lambda name: f"{name}_v2")


def _arguments(case: Case, change: Callable[[Any, int], Any]) -> Case | None:
    if "needs" in case:
        return None
    for number, item in enumerate(_calls(case)):
        item["args"] = change(item["args"], number)
    return case


@transformation
def arguments_as_text(case: Case) -> Case | None:
    """Arguments are JSON text."""
    return _arguments(case, lambda args, _: json.dumps(args))


@transformation
def arguments_nested(case: Case) -> Case | None:
    """Arguments stand one level deeper."""
    return _arguments(case, lambda args, _: {"arguments": args})


@transformation
def arguments_reordered(case: Case) -> Case | None:
    """Keys come in another order, with an empty one besides."""

    def reorder(args: Any, number: int) -> Any:
        if not isinstance(args, dict):
            return args
        items = [*args.items(), ("cursor_hint", None)]
        return dict(items[::-1] if number % 2 else items)

    return _arguments(case, reorder)


@transformation
def arguments_with_an_id(case: Case) -> Case | None:
    """Each call has a random id and a time in its arguments."""

    def add(args: Any, number: int) -> Any:
        if not isinstance(args, dict) or not args:
            return args
        return args | {"request_id": _mark(number, "id", size=12), "timestamp": 1_700_000 + number}

    return _arguments(case, add)


@transformation
def arguments_with_an_intent(case: Case) -> Case | None:
    """Each call says in words of its own why it is made."""
    words = ("first look", "once more to be sure", "now with care", "checking again", "next try")

    def add(args: Any, number: int) -> Any:
        if not isinstance(args, dict) or not args:
            return args
        return args | {"explanation": f"{words[number % 5]}, part {number}"}

    return _arguments(case, add)


@transformation
def other_paths(case: Case) -> Case | None:
    """The work lies in another folder, on other hosts, under other names."""
    if "needs" in case:
        return None
    text = json.dumps(case["calls"])
    for old, new in (
        ("/app", "/srv/team/app-3"),
        ("src/", "packages/core/lib/"),
        ("localhost", "svc-12.internal"),
        (".py", ".rb"),
        ("main", "trunk"),
        ("test_", "spec_"),
    ):
        text = text.replace(old, new)
    case["calls"] = json.loads(text)
    return case


@transformation
def other_times(case: Case) -> Case | None:
    """The run begins later and goes at half the speed."""
    for item in case["calls"]:
        if "mono" in item:
            return None
        if "t" in item:
            item["t"] = 5_000 + item["t"] * 2 if case["expected"] == "fire" else 5_000 + item["t"]
    return case


def _at_a_pace(seconds: float) -> Transformation:
    """Return a change after which a loop goes on as fast as a model answers that takes so long."""

    def change(case: Case) -> Case | None:
        if case["expected"] != "fire" or any("mono" in item for item in case["calls"]):
            return None
        for item in case["calls"]:
            if "t" in item:
                item["t"] = seconds * (1 + item.get("turn", 0))
        return case

    return change


TRANSFORMATIONS["turns-of-a-second"] = _at_a_pace(1.0)
TRANSFORMATIONS["turns-of-9-seconds"] = _at_a_pace(9.0)
TRANSFORMATIONS["turns-of-25-seconds"] = _at_a_pace(25.0)


# Runs ------------------------------------------------------------------------------------------


def _shifted(case: Case, place: Callable[[int], int]) -> Case:
    """Move what the case says about items to where these are now."""
    for key in ("at", "refire_by", "also_fire_by"):
        value = case.get(key)
        if isinstance(value, int):
            case[key] = place(value)
        elif isinstance(value, list):
            case[key] = [place(one) for one in value]
    return case


def _takes_neutral_calls(case: Case) -> bool:
    """Tell whether thoughts and plans change nothing in a case: it is about none of its own."""
    if any("mono" in item or "agent" in item or "harness" in item for item in case["calls"]):
        return False
    return not any(is_aside(item["tool"]) for item in _calls(case))


def _with_between(case: Case, make: Callable[[int], Item], every: int) -> Case | None:
    """Put a turn of one neutral call after every `every` turns of calls."""
    if not _takes_neutral_calls(case):
        return None
    items: list[Item] = []
    places: dict[int, int] = {}
    done = 0
    calls = case["calls"]
    for index, item in enumerate(calls):
        places[index] = len(items)
        items.append(item)
        after = calls[index + 1] if index + 1 < len(calls) else {}
        if "tool" not in item or ("tool" in after and after["turn"] == item["turn"]):
            continue
        done += 1
        if done % every == 0:
            neutral = {"error": False, "turn": f"between-{done}", **make(done)}
            items.append(neutral | ({"t": item["t"]} if "t" in item else {}))
    if len(items) == len(calls):
        return None
    case["calls"] = items
    last = len(items) - 1
    if "tools" in case:
        case["tools"] = [*case["tools"], make(1)["tool"]]
    return _shifted(case, lambda index: places.get(index, last))


@transformation
def thoughts_between(case: Case) -> Case | None:
    """A tool for thinking is called after each turn."""
    words = ("the values", "another way", "a closer look", "what is left", "the likely cause")

    def think(number: int) -> Item:
        thought = f"Consider {words[number % 5]} in step {number}: {_mark(number, 't')}"
        return {"tool": "think", "args": {"thought": thought}, "result": "Your thought is logged."}

    return _with_between(case, think, 1)


@transformation
def plan_between(case: Case) -> Case | None:
    """The plan is brought up to date after every third turn."""

    def update(number: int) -> Item:
        steps = [{"step": f"part {n}", "status": "completed" if n < number // 3 else "pending"}
                 for n in range(40)]  # fmt: skip
        return {"tool": "update_plan", "args": {"plan": steps}, "result": "Plan updated"}

    return _with_between(case, update, 3)


@transformation
def thoughts_beside(case: Case) -> Case | None:
    """A tool for thinking is called in each turn, beside what else is called."""
    if not _takes_neutral_calls(case):
        return None
    items: list[Item] = []
    places: dict[int, int] = {}
    seen: set[Any] = set()
    for index, item in enumerate(case["calls"]):
        if "tool" in item and item["turn"] not in seen:
            seen.add(item["turn"])
            thought = f"Part {index}: weigh {_mark(index, 'w')} first"
            items.append(
                {"tool": "think", "args": {"thought": thought}, "result": "Noted.", "error": False,
                 "turn": item["turn"]} | _time_of(item)
            )  # fmt: skip
        places[index] = len(items)
        items.append(item)
    case["calls"] = items
    if "tools" in case:
        case["tools"] = [*case["tools"], "think"]
    return _shifted(case, lambda index: places.get(index, len(items) - 1))


def _time_of(item: Item) -> Item:
    return {"t": item["t"]} if "t" in item else {}


def _reading(number: int, turn: Any) -> Item:
    lines = "\n".join(f"{_mark(number, line)} is the entry of {line}" for line in range(4))
    name = f"notes/{_mark(number, 'n')}.txt"
    return {"tool": "read_notes", "args": {"name": name}, "result": lines, "error": False,
            "turn": turn}  # fmt: skip


@transformation
def work_before(case: Case) -> Case | None:
    """Thirty unrelated reads come first."""
    first = next((item for item in case["calls"] if "t" in item), {})
    if any("mono" in item for item in case["calls"]):
        return None
    before = [_reading(number, f"before-{number}") | _time_of(first) for number in range(_PREFIX)]
    begin = int(case["calls"][0].get("event") == "user_message")
    case["calls"] = [*case["calls"][:begin], *before, *case["calls"][begin:]]
    if "tools" in case:
        case["tools"] = [*case["tools"], "read_notes"]
    return _shifted(case, lambda index: index + _PREFIX)


@transformation
def talk_with_each_turn(case: Case) -> Case | None:
    """The model says something else before each call."""
    words = ("Let me look.", "I will try this now.", "One moment.", "Next I check the result.")
    for number, item in enumerate(_calls(case)):
        if not item.get("text"):
            item["text"] = f"{words[number % 4]} Part {number}."
    return case


# Words -----------------------------------------------------------------------------------------


def _words(value: Any, change: Callable[[str], str]) -> Any:
    """Return an answer with the texts in it changed; the names of fields stay."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _words(item, change) for key, item in value.items()}
    return [_words(item, change) for item in value] if isinstance(value, list) else value


def _answers_changed(case: Case, change: Callable[[str], str]) -> Case | None:
    if "needs" in case:
        return None
    for item in _calls(case):
        item["result"] = _words(item["result"], change)
    return case


def _phrases(language: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        for english, others in PHRASES.items():
            text = re.sub(rf"(?i)\b{english}\b", others[language], text)
        return text

    return change


def _translation(language: str) -> Transformation:
    return lambda case: _answers_changed(case, _phrases(language))


for _language in LANGUAGES:
    TRANSFORMATIONS[f"answers-in-{_language}"] = _translation(_language)


@transformation
def localised_failures(case: Case) -> Case | None:
    """The harness flags nothing, and what went wrong is said in another language."""
    languages = ("tr", "ar", "hi", "pl", "ja")
    change = _phrases(languages[len(case["id"]) % len(languages)])
    if "needs" in case:
        return None
    for item in _calls(case):
        if item["error"] and isinstance(item["result"], str):
            item["error"] = False
            item["result"] = change(item["result"])
            item.pop("executed", None)
    return case


_NOUNS = {
    "page": "wave", "line": "Kapitel", "row": "parcel", "step": "stanza", "item": "crate",
    "items": "crates", "chunk": "shard", "turn": "lap", "round": "heat", "result": "yield",
    "results": "yields", "file": "scroll", "files": "scrolls", "record": "entry",
    "match": "strike", "matches": "strikes", "passage": "verse",
}  # fmt: skip


@transformation
def nouns_swapped(case: Case) -> Case | None:
    """Answers count and name other things."""
    swap = re.compile(rf"\b({'|'.join(_NOUNS)})\b")
    return _answers_changed(case, lambda text: swap.sub(lambda found: _NOUNS[found[1]], text))


@transformation
def state_as_boolean(case: Case) -> Case | None:
    """A state that goes on is told as ``false``, one that has ended as ``true``."""
    goes_on = {"running", "pending", "in_progress", "queued", "building", "compiling", "waiting"}
    ended = {"completed", "succeeded", "success", "done", "finished", "complete"}
    for item in _calls(case):
        result = item["result"]
        state = result.get("status") if isinstance(result, dict) else None
        if state in goes_on | ended:
            item["result"] = {key: v for key, v in result.items() if key != "status"}
            item["result"]["settled"] = state in ended
    return case


@transformation
def busy_failures(case: Case) -> Case | None:
    """A failure holds a word of progress."""
    if case["expected"] != "fire" or any(item.get("poll") for item in _calls(case)):
        return None
    busy = BUSY[len(case["id"]) % len(BUSY)]
    for item in _calls(case):
        if item["error"] and isinstance(item["result"], str) and item["result"]:
            item["result"] = busy + item["result"]
    return case


@transformation
def other_task(case: Case) -> Case | None:
    """The user's message begins with a task in which no repeat is asked for."""
    if case["expected"] != "fire":
        return None
    task = TASKS[len(case["id"]) % len(TASKS)]
    for item in case["calls"]:
        if item.get("event") == "user_message" and not item["text"].startswith("<"):
            item["text"] = task + item["text"]
            return case
    if any("harness" in item or "agent" in item for item in case["calls"]):
        return None
    case["calls"] = [{"event": "user_message", "text": task}, *case["calls"]]
    return _shifted(case, lambda index: index + 1)


@transformation
def courtesy(case: Case) -> Case | None:
    """The agent closes with courtesy."""
    closing = COURTESIES[len(case["id"]) % len(COURTESIES)]
    if case["concerns"] != "PlanBasedChecker" or case["expected"] != "fire":
        return None
    for item in case["calls"]:
        if item.get("event") == "assistant_text":
            item["text"] = f"{item['text']} {closing}"
    return case


@transformation
def reading_between(case: Case) -> Case | None:
    """Another tool is read after every third turn; its answers are new, so more is allowed."""
    if any("mono" in item or "agent" in item or "harness" in item for item in case["calls"]):
        return None
    changed = _with_between(case, lambda number: _reading(number, f"between-{number}"), 3)
    return changed if changed is None else {**changed, "at": None}
