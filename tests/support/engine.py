"""Runs plans on Temporal's time-skipping server with the real activities and scripted answers."""

import os
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from pydantic import JsonValue
from temporalio.client import Client, WorkflowHandle
from temporalio.service import RPCError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Interceptor, Worker, WorkflowRunner

from coterie.activities.agent_activity import AgentActivities
from coterie.activities.agents.inner_calls import InnerCalls
from coterie.activities.contracts import MAX_HEARTBEAT_DELAY
from coterie.activities.mcp_client.server_pool import McpServers
from coterie.activities.model_prices import Pricing
from coterie.activities.notifications import Channel, NotificationActivities
from coterie.activities.providers.provider import ProviderSettings
from coterie.activities.providers.provider_registry import Providers
from coterie.activities.storage.blobs import Blobs, MemoryBlobs
from coterie.activities.tool_functions.function_activity import FunctionActivities
from coterie.activities.tool_functions.function_registry import (
    TOOL_FUNCTIONS,
    AnyFunction,
    contracts,
)
from coterie.activities.tool_functions.temporal.workflow_function import Workflows
from coterie.activities.user_code.child_pool import UserCode
from coterie.activities.workspace.function_base import Command, Workspace
from coterie.activities.workspace.web_access import WebAccess
from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.model.capabilities import Capabilities, Reach
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.price import Price
from coterie.dsl.model.sections.temporal_document import TemporalEntry
from coterie.dsl.values import Json
from coterie.testing.simulation.simulated_signer import start_settings
from coterie.worker.fork_activity import ForkActivities
from coterie.worker.plan_policy import PlanPolicy
from coterie.worker.target_activity import TargetActivities
from coterie.workflows.core.messages import TeamInput
from coterie.workflows.core.views import TrailEntry, TrailPage
from coterie.workflows.team import TeamWorkflow
from tests.support.watching.prepared_sandbox import prepared_sandbox

CAPABILITIES = Capabilities(
    agent_types=("generic_single_shot", "generic_orchestrating", "generic_tool_calling"),
    functions=contracts(),
    providers=("scripted",),
)
DEFECTS = (Exception,)
"""A defect of the interpreter ends the run of a test with its message.

In production it stays a workflow task that is tried again, and a test would wait for ever."""
HEAD = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer:
      prompts: {system: You write., user: "Write about {{ context.topic | default('it') }}."}
"""


def plan_of(text: str, name: str = "test") -> Plan:
    """The plan of a document; a document without `llm_config` gets a persona `writer`."""
    if "llm_config" not in text:
        text = HEAD + text
    compiled = compile_sources([SourceText("test.yml", text)], CAPABILITIES, name=name)
    return compiled.plan


@dataclass
class Engine:
    """A worker on a time-skipping server."""

    env: WorkflowEnvironment
    client: Client
    queue: str
    folder: Path
    name: str | None = None
    """Of its runs, where a test chooses it; they are numbered."""
    runs: list[WorkflowHandle[object, object]] = field(
        default_factory=list[WorkflowHandle[object, object]]
    )

    async def start(
        self, plan: Plan | str, context: Json | None = None
    ) -> WorkflowHandle[object, object]:
        """Start a run of a plan, or of a document's text."""
        if isinstance(plan, str):
            plan = plan_of(plan)
        return await self.start_raw(TeamInput(plan=plan, context=context or {}))

    async def start_raw(self, value: object) -> WorkflowHandle[object, object]:
        """Start a run with any value as its input."""
        handle: WorkflowHandle[object, object] = await self.client.start_workflow(
            "TeamWorkflow", value, id=self._new_id(), task_queue=self.queue
        )
        self.runs.append(handle)
        return handle

    def _new_id(self) -> str:
        if self.name is None:
            return f"test-{uuid.uuid4()}"
        return f"{self.name}-{len(self.runs) + 1}"

    async def end_all(self) -> None:
        """Leave no run open: its timers would hold up the time of the next test."""
        for handle in self.runs:
            with suppress(RPCError):  # it has ended
                await handle.terminate()

    async def result(self, plan: Plan | str, context: Json | None = None) -> dict[str, JsonValue]:
        """Run to the end."""
        handle = await self.start(plan, context)
        return await handle.result()  # type: ignore[return-value]


async def trail(handle: WorkflowHandle[object, object]) -> tuple[TrailEntry, ...]:
    """The whole trail of a run."""
    page = await handle.query("events", 0, result_type=TrailPage)
    return page.entries


def path_of(entries: Sequence[TrailEntry]) -> list[str]:
    """The teams in the order of their visits."""
    return [entry.team for entry in entries if entry.kind == "team"]


@asynccontextmanager
async def engine(
    env: WorkflowEnvironment,
    folder: Path,
    answers: Sequence[Mapping[str, JsonValue]],
    commands: Mapping[str, Command] | None = None,
    agent_packages: tuple[str, ...] = (),
    client: Client | None = None,
    *,
    blobs: Blobs | None = None,
    everything: bool = True,
    prices: Mapping[str, Price] | None = None,
    provider: ProviderSettings | None = None,
    cached_runs: int = 1000,
    channels: Mapping[str, Channel] | None = None,
    web: WebAccess | None = None,
    functions: Mapping[str, AnyFunction] | None = None,
    servers: McpServers | None = None,
    interceptors: Sequence[Interceptor] = (),
    name: str | None = None,
    runner: WorkflowRunner | None = None,
    on_temporal: Mapping[str, TemporalEntry] | None = None,
) -> AsyncGenerator[Engine]:
    """A worker with a scripted model and tool functions that may touch `folder`.

    With a `name`, its queue and its runs are called so, not by chance.

    With `everything` the interpreter is inside the sandbox too, where no test can change it.
    """
    client, blobs = client or env.client, blobs or MemoryBlobs()
    script = folder / "answers.yml"
    script.write_text(yaml.safe_dump({"answers": [dict(answer) for answer in answers]}))
    settings = provider or ProviderSettings(
        name="scripted", kind="scripted", answers=str(script), prices=prices or {}
    )
    providers = Providers({"scripted": settings})
    workspace = Workspace(root=folder, commands=dict(commands or {}))
    user_code = UserCode(folder)
    agents = AgentActivities(
        providers,
        agent_packages=agent_packages,
        inner_calls=InnerCalls(contracts(), Reach(trusted_paths=("**",))),
        blobs=blobs,
        pricing=Pricing({"scripted": settings}),
        user_code=user_code,
    )
    workflows = Workflows.of(client, on_temporal or {})
    tool_functions = FunctionActivities(
        workspace, {**TOOL_FUNCTIONS, **(functions or {})}, blobs, servers, workflows=workflows
    )
    paths = {"PATH": os.environ["PATH"]}
    notices = NotificationActivities(channels or {}, paths, folder, web)
    queue = name or f"test-{uuid.uuid4()}"
    async with Worker(
        client,
        task_queue=queue,
        workflows=[TeamWorkflow],
        activities=[
            agents.run_agent,
            tool_functions.call_function,
            ForkActivities(client, PlanPolicy(accept_plans=True)).fork_run,
            notices.notify,
            start_settings,
            TargetActivities(client, on_temporal or {}).check_targets,
        ],
        interceptors=interceptors,
        workflow_runner=runner or prepared_sandbox(everything=everything),
        workflow_failure_exception_types=DEFECTS,
        build_id="test",
        max_cached_workflows=cached_runs,
        max_heartbeat_throttle_interval=MAX_HEARTBEAT_DELAY,
    ):
        made = Engine(env, client, queue, folder, name)
        try:
            yield made
        finally:
            await made.end_all()
    await user_code.close()
    await providers.close()
