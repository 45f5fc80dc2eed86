"""Run the agents of a plan in one process, without a server and without durability.

    factory = local_agents(plan, providers, Workspace(root))
    agent = factory.create_agent({"name": "code", "agent_type": ..., "persona_key": ...})
    response = await agent.process({"input": ..., "context": ...})

The interpreter of durable runs interprets an orchestrating agent's plan.
"""

from collections.abc import Mapping

from activities.agent_activity import AgentActivities
from activities.agents.agent_base import AgentServices, PlanCall, PlanRunner, ProviderAccess
from activities.agents.inner_calls import InnerCalls
from activities.call_prices import Pricing
from activities.contracts import (
    AgentError,
    AgentRequest,
    AgentResponse,
    SkillRequest,
    SkillResult,
)
from activities.factory import AgentFactory
from activities.skills.skill_activity import SkillActivities
from activities.skills.skill_registry import SKILLS, AnySkill, contracts
from activities.storage.blobs import MemoryBlobs
from activities.workspace.skill_base import Workspace
from coterie.runs.in_process.local_scope import LocalScope, World
from dsl.egress.channel_labels import open_commands
from dsl.model.capabilities import Reach
from dsl.model.plan import Plan
from dsl.values import Json, JsonValue
from workflows.core.location import Location, Returned
from workflows.core.state import RunState
from workflows.core.state_keys import MAIN
from workflows.interpreter import TeamInterpreter


class LocalWorld:
    """The activities of a worker, called directly."""

    def __init__(
        self,
        providers: ProviderAccess,
        workspace: Workspace,
        skills: Mapping[str, AnySkill] = SKILLS,
        pricing: Pricing | None = None,
    ) -> None:
        """Take what the activities reach.

        Args:
            providers: Returns the model provider that a persona names.
            workspace: The project that skills may touch.
            skills: By name.
            pricing: Prices of model calls; without it, no call has a price.
        """
        blobs = MemoryBlobs()
        self._skills = SkillActivities(workspace, skills, blobs)
        self._agents = AgentActivities(
            providers,
            call_skill=self._skills.call_for_agent,
            inner_calls=InnerCalls(
                contracts(skills),
                Reach(
                    commands=open_commands(
                        workspace.commands, sandboxed=workspace.sandbox is not None
                    ),
                    offline_tools=("*",),
                ),  # the program itself says what its functions do
            ),
            blobs=blobs,
            pricing=pricing,
        )

    async def run_agent(self, request: AgentRequest) -> AgentResponse:
        """Run one model turn."""
        return await self._agents.run_agent(request)

    async def call_skill(self, request: SkillRequest) -> SkillResult:
        """Run one skill."""
        return await self._skills.call_skill(request)


def local_agents(plan: Plan, providers: ProviderAccess, workspace: Workspace) -> AgentFactory:
    """Return a factory for the agents of a plan, whose `process` works in this process.

    Args:
        plan: Compiled; its persona keys are those of `create_agent`.
        providers: Returns the model provider that a persona names.
        workspace: The project that skills may touch.
    """
    world = LocalWorld(providers, workspace)
    personas: dict[str, JsonValue] = {
        key: persona.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        for key, persona in plan.personas.items()
    }
    return AgentFactory(
        {"llm_config": {"personas": personas}},
        services=AgentServices(
            providers=providers,
            call_skill=world.call_skill,
            run_plan=plan_runner(plan, world),
        ),
    )


def plan_runner(plan: Plan, world: World) -> PlanRunner:
    """Return the runner with which `GenericOrchestratingAgent.process` interprets its plan.

    The data of the response are the plan's variables, or what a `return` step returns.
    """

    async def run_plan(call: PlanCall) -> AgentResponse:
        state = RunState()
        context = call.inputs.get("context")
        state.main.context = context if isinstance(context, dict) else {}
        scope = LocalScope(plan, state, world, run_id=call.key)
        location = Location.of_visit(MAIN, call.name, 1)._replace(frame_key=MAIN.part("plan"))
        frame = location.frame(scope)
        frame.input = call.inputs.get("input")
        try:
            outcome = await TeamInterpreter(scope).run_steps(call.steps, location, part="plan")
        except Returned as returned:
            return AgentResponse(success=True, data=returned.value, usage=state.usage)
        data: Json = dict(frame.variables)
        if outcome.error is None:
            return AgentResponse(success=True, data=data, usage=state.usage)
        error = AgentError(type=outcome.error.type, message=outcome.error.message)
        return AgentResponse(success=False, data=data, error=error, usage=state.usage)

    return run_plan
