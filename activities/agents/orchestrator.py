"""The agent that follows a plan: steps, tool functions, loops and branches in its persona.

In a durable run the workflow interprets the plan step by step and never calls `process`: each model
turn and each tool function is an activity. `process` runs the same plan in process, with an
interpreter that the caller provides.
"""

from functools import cache

from pydantic import JsonValue, TypeAdapter, ValidationError

from coterie.activities.agents.agent_base import BaseAgent, PlanCall
from coterie.activities.agents.refusals import AgentRefused
from coterie.activities.contracts import AgentResponse
from coterie.dsl.model.steps import Step
from coterie.dsl.values import Json


@cache
def _adapter() -> TypeAdapter[tuple[Step, ...]]:
    return TypeAdapter(tuple[Step, ...])


class GenericOrchestratingAgent(BaseAgent):
    """Follows the `execution_plan` of its persona."""

    def __init__(self, persona_config: Json, unique_name: str, full_config: Json) -> None:
        super().__init__(persona_config, unique_name, full_config)
        plan = self.persona_config.get("execution_plan")
        if not isinstance(plan, list) or not plan:
            raise AgentRefused(
                f"agent {unique_name!r} is orchestrating, but its persona has no "
                "`execution_plan`; add one, or use agent_type generic_single_shot"
            )
        self.execution_plan: list[JsonValue] = plan

    async def process(self, context: Json) -> AgentResponse:
        """Run the plan with the runner from the agent's services.

        Raises:
            AgentRefused: There is no runner, or the plan is not compiled.
        """
        if self.services.run_plan is None:
            raise AgentRefused(
                f"agent {self.unique_name!r} has an execution plan but no plan runner: outside a "
                "workflow, attach one"
            )
        return await self.services.run_plan(
            PlanCall(
                name=self.unique_name,
                steps=self._steps(),
                inputs=context,
                key=self.services.key or self.unique_name,
            )
        )

    def _steps(self) -> tuple[Step, ...]:
        try:
            return _adapter().validate_python(self.execution_plan)
        except ValidationError as error:
            problem = error.errors()[0]
            raise AgentRefused(
                f"the execution plan of agent {self.unique_name!r} is not compiled, at "
                f"step {'.'.join(map(str, problem['loc']))}: {problem['msg']}"
            ) from None
