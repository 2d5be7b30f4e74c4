"""A host in about 30 lines, for LangChain agents with a checkpointer."""

from langchain.agents.middleware import AgentMiddleware, hook_config
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.config import get_config

from trimtab import DecisionPoint, Delivery, Host, Outcome, ToolCall
from trimtab.hosting import Answer, Drivers

HOST = Host(
    name="langchain",
    delivery=dict.fromkeys(DecisionPoint, Delivery.EPHEMERAL),
    parallel_calls=True,
)


class Guided(AgentMiddleware):
    """Guides all conversations of an agent; `drivers` has ``host=HOST``."""

    def __init__(self, drivers: Drivers) -> None:
        super().__init__()
        self.drivers = drivers

    def chat(self):
        return self.drivers.of(get_config()["configurable"]["thread_id"])

    def before(self, request):
        messages = request.messages
        said = messages[-1].text if isinstance(messages[-1], HumanMessage) else None
        tools = [message for message in messages if isinstance(message, ToolMessage)]
        text = self.chat().request([answer(message) for message in tools], said)
        return request.override(messages=[*messages, HumanMessage(text)]) if text else request

    def after(self, response):
        said = next(m for m in response.result if isinstance(m, AIMessage))
        calls = [ToolCall(c["name"], c["args"], c["id"]) for c in said.tool_calls]
        self.chat().response(said.text, calls)
        return response

    def wrap_model_call(self, request, handler):
        return self.after(handler(self.before(request)))

    async def awrap_model_call(self, request, handler):
        return self.after(await handler(self.before(request)))

    @hook_config(can_jump_to=["model"])
    def after_model(self, state, runtime):
        last = state["messages"][-1]
        if not isinstance(last, AIMessage) or last.tool_calls:
            return None
        decision = self.chat().may_stop()
        said = [HumanMessage(decision.text)] if decision.text else []
        return None if decision else {"messages": said, "jump_to": "model"}


def answer(message):
    failed = Outcome.DENIED if "rejected" in message.text else Outcome.ERROR
    return Answer(
        message.tool_call_id, message.text, failed if message.status == "error" else Outcome.OK
    )
