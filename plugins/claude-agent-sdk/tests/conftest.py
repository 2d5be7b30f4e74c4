"""The real program against a scripted model, with a folder and a home of its own."""

import asyncio
import contextlib
from pathlib import Path

import attrs
import pytest

from trimtab import (
    ClassificationResult,
    DecisionPoint,
    GuidanceInjection,
    GuidanceProviderConfig,
    MarkdownSection,
    Prompt,
    PromptTemplate,
    Session,
    TaskCompletionResult,
)
from trimtab_claude_agent_sdk import ClaudeAgentSDKAdapter, ClaudeAgentSDKClientConfig

MODEL = "claude-sonnet-4-5"
SECONDS = 60


@attrs.frozen
class Speaker:
    """Guidance once so many calls were made, at chosen points."""

    calls: int = 1
    text: str = "Heed this."
    decision_points: tuple = (DecisionPoint.PRE_TOOL_SELECTION,)
    name: str = "speaker"
    category: str = "test"

    def classify(self, *, context):
        return ClassificationResult(relevant=context.tool_call_count >= self.calls)

    def provide(self, *, context):
        return GuidanceInjection("heed", self.text)


@attrs.define
class Checker:
    """Open until `open_checks` checks were made."""

    open_checks: int = 100
    text: str = "Write the docs."
    name = "checker"
    checks: int = 0

    def check(self, context):
        self.checks += 1
        if self.checks > self.open_checks:
            return TaskCompletionResult.ok()
        return TaskCompletionResult.incomplete(self.text)


@attrs.define
class Ground:
    """Where a conversation takes place."""

    work: Path
    home: Path
    session: Session = attrs.field(factory=Session)
    server: object = None
    error: Exception | None = None

    def options(self, server, **more):
        from trimtab_test_servers import claude_code_environment

        environment = claude_code_environment(server, self.home)
        return {"setting_sources": [], "env": environment, **more}

    @contextlib.contextmanager
    def serving(self, script):
        from trimtab_test_servers import AnthropicServer

        with AnthropicServer(script) as self.server:
            yield self.server

    def evaluate(self, script, prompt, *, model=MODEL, options=(), limits=(), **client):
        """Run a prompt with the adapter; permissions are bypassed unless `client` says not to."""
        with self.serving(script) as server:
            config = ClaudeAgentSDKClientConfig(
                cwd=self.work,
                options=self.options(server, **dict(options)),
                **{"permission_mode": "bypassPermissions", **client},
            )
            adapter = ClaudeAgentSDKAdapter(model=model, client_config=config)
            asked = adapter.aevaluate(prompt, session=self.session, **dict(limits))
            return asyncio.run(asyncio.wait_for(asked, SECONDS))

    def converse(self, script, hooks, *texts, model=MODEL, **more):
        """Hold a conversation of several requests with options of one's own."""
        import claude_agent_sdk as sdk

        async def talk(options):
            async with sdk.ClaudeSDKClient(options) as client:
                for text in texts:
                    await client.query(text)
                    async for _ in client.receive_response():
                        pass

        with self.serving(script) as server:
            options = sdk.ClaudeAgentOptions(
                model=model,
                cwd=self.work,
                permission_mode="bypassPermissions",
                hooks=hooks,
                **self.options(server, **more),
            )
            asyncio.run(asyncio.wait_for(talk(options), SECONDS))

    @property
    def requests(self):
        return self.server.requests

    def heard(self, text):
        """How often each request holds `text`."""
        return [sum(each.count(text) for each in request.texts) for request in self.requests]


@pytest.fixture
def sdk():
    return pytest.importorskip("claude_agent_sdk", reason="needs the SDK and its program")


@pytest.fixture
def ground(tmp_path, sdk):
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    return Ground(work, home)


@pytest.fixture
def make_prompt():
    """Make a prompt from providers; no configuration file is read."""

    def make(*guidance, key="main", checkers=(), **more):
        section = MarkdownSection(title="Task", key="task", template="Do the work.")
        template = PromptTemplate(
            "test",
            key,
            sections=[section],
            guidance_providers=guidance,
            completion_checkers=checkers,
            **more,
        )
        return Prompt(template, config=None)

    return make


@pytest.fixture
def speaker():
    return Speaker


@pytest.fixture
def checker():
    return Checker


@pytest.fixture
def patient():
    """Settings that hold no nudge back."""
    return lambda provider, **more: GuidanceProviderConfig(provider, cooldown_turns=0, **more)
