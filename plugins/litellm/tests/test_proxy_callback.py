"""The callback for LiteLLM's proxy, called as LiteLLM calls it."""

import asyncio
import copy

import pytest

from trimtab import (
    ClassificationResult,
    GuidanceInjection,
    GuidanceProviderConfig,
    Prompt,
    TrimtabError,
)

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.filterwarnings("ignore"),  # litellm's own, of which there are many
]


@pytest.fixture(autouse=True, scope="module")
def modules():
    """The callback's module and trimtab-proxy; litellm fetches nothing when it is imported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        pytest.importorskip("litellm")
        proxy = pytest.importorskip("trimtab_proxy", reason="needs trimtab-proxy")
        yield pytest.importorskip("trimtab_litellm.proxy"), proxy


class Speaker:
    name = "speaker"
    category = "test"

    def classify(self, *, context):
        return ClassificationResult(relevant=context.tool_call_count == 2)

    def provide(self, *, context):
        return GuidanceInjection("heed", "Heed this.")


@pytest.fixture
def guided(modules):
    module, proxy = modules
    config = GuidanceProviderConfig(Speaker(), cooldown_turns=0)
    prompt = Prompt("test", "main", guidance_providers=[config], config=None)
    return module.TrimtabCallback(proxy.Guide(prompt, prompt))


def chat(calls):
    messages = [{"role": "user", "content": "Fix it."}]
    for number in range(calls):
        function = {"name": "sh", "arguments": "{}"}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": "failed"})
    return {"messages": messages, "tools": [{"type": "function", "function": {"name": "sh"}}]}


def messages(calls):
    told = [{"role": "user", "content": "Fix it."}]
    for number in range(calls):
        call = {"type": "tool_use", "id": f"c{number}", "name": "sh", "input": {}}
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": "failed"}
        told.append({"role": "assistant", "content": [call]})
        told.append({"role": "user", "content": [result]})
    return {"messages": told, "tools": [{"name": "sh"}]}


def items(calls):
    told = [{"role": "user", "content": "Fix it."}]
    for number in range(calls):
        call = {"type": "function_call", "call_id": f"c{number}", "name": "sh", "arguments": "{}"}
        told.append(call)
        output = {"type": "function_call_output", "call_id": f"c{number}", "output": "failed"}
        told.append(output)
    return {"input": told, "tools": [{"type": "function", "name": "sh"}]}


FORMS = {"acompletion": chat, "anthropic_messages": messages, "aresponses": items}


def send(callback, data, call_type, session="s1"):
    headers = {"X-Claude-Code-Session-Id": session}
    data = {**data, "model": "m", "proxy_server_request": {"headers": headers}}
    hook = callback.async_pre_call_hook
    return asyncio.run(hook(user_api_key_dict=None, cache=None, data=data, call_type=call_type))


@pytest.mark.parametrize("call_type", FORMS)
def test_words_stand_in_one_request(guided, call_type):
    make = FORMS[call_type]
    sent = [send(guided, make(calls), call_type) for calls in (0, 1, 2, 3)]

    assert [str(each).count("Heed this.") for each in sent] == [0, 0, 1, 0]


@pytest.mark.parametrize("call_type", FORMS)
def test_what_the_client_sent_is_not_changed(guided, call_type):
    make = FORMS[call_type]
    for calls in (0, 1):
        send(guided, make(calls), call_type)
    data = make(2)
    before = copy.deepcopy(data)
    after = send(guided, data, call_type)

    assert data == before
    assert after.keys() - {"model", "proxy_server_request"} == before.keys()


@pytest.mark.parametrize("call_type", ["aembedding", "amoderation", "text_completion"])
def test_other_calls_pass(guided, call_type):
    data = chat(2)

    assert send(guided, data, call_type)["messages"] == data["messages"]


@pytest.mark.parametrize("data", [{}, {"messages": None}, {"messages": [1]}, {"messages": "x"}])
def test_a_request_of_no_known_form_passes(guided, data):
    assert send(guided, data, "acompletion").keys() == {*data, "model", "proxy_server_request"}


def test_what_litellm_is_given_reads_the_configuration(modules, tmp_path, monkeypatch):
    (tmp_path / "trimtab.toml").write_text('[hosts.proxy]\nprompt = "agent/none"\n')
    monkeypatch.chdir(tmp_path)

    with pytest.raises(TrimtabError, match="agent/none"):
        send(modules[0].callback, chat(1), "acompletion")
