"""A host for LangChain agents: one middleware per run."""

from langchain.agents.middleware import AgentMiddleware, hook_config
from langchain_core.messages import HumanMessage, SystemMessage

from trimtab import DecisionPoint, Delivery, Host, Outcome, ToolCall
from trimtab.hosting import Driver, append_text

HOST = Host("langchain", dict.fromkeys(DecisionPoint, Delivery.EPHEMERAL), parallel_calls=True)


class Guided(AgentMiddleware):
    """Drives one run, which was opened with ``host=HOST``."""

    def __init__(self, driver: Driver) -> None:
        super().__init__()
        self.driver = driver

    def wrap_model_call(self, request, handler):
        text = self.driver.next_request()
        extra = [SystemMessage(text)] if text else []
        response = handler(request.override(messages=[*request.messages, *extra]))
        message = response.result[-1]
        calls = [ToolCall(c["name"], c["args"], c["id"]) for c in message.tool_calls]
        self.driver.responded(message.text, calls)
        return response

    def wrap_tool_call(self, request, handler):
        call_id = request.tool_call["id"]
        with self.driver.running(call_id):
            message = handler(request)
        outcome = Outcome.ERROR if message.status == "error" else Outcome.OK
        text = self.driver.answered(call_id, message.text, outcome)
        return message.model_copy(update={"content": append_text(message.text, text)})

    @hook_config(can_jump_to=["model"])
    def after_model(self, state, runtime):
        if state["messages"][-1].tool_calls or (decision := self.driver.may_stop()):
            return None
        said = [HumanMessage(decision.text)] if decision.text else []
        return {"messages": said, "jump_to": "model"}
