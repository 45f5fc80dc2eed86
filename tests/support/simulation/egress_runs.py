"""Plans whose tools bring labels, models that obey what they read, and people who decide."""

from collections.abc import Callable
from typing import Literal

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    FunctionRequest,
    FunctionResult,
)
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.results import RunFailed
from coterie.workflows.core.scope import Interrupted
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_parts import PendingNotification
from coterie.workflows.core.views import TeamResult
from coterie.workflows.interpreter import run
from tests.support.simulation.stopping import carried, fresh
from tests.support.tool_agents import ModelScope, ModelWorld, function_tool

ANY: Json = {"type": "object"}
LABELLED: dict[str, Json] = {
    "files": function_tool("Files.read", input_schema=ANY, labels=["private"]),
    "page": function_tool("Web.page", input_schema=ANY, labels=["untrusted"]),
    "send": function_tool("Mail.send", input_schema=ANY, labels=["egress"]),
    "fetch": function_tool("Web.fetch", input_schema=ANY, labels=["untrusted", "egress"]),
    "clock": function_tool("Clock.now", input_schema=ANY),
}
SENT = ("Mail.send", "Web.fetch")
"""The tool functions that send data out."""

Model = Callable[[AgentRequest, int], AgentResponse]
Decide = Callable[[Pending], Literal["approve", "reject"]]


class PeopleScope(ModelScope):
    """A scope in which people decide each request as a test says, and whose requests it keeps."""

    decide: Decide
    asked: list[Pending]
    payload: JsonValue = None
    """What an approval of an editable request gives."""

    def decision_about(self, request: Pending) -> DecideInput:
        self.asked.append(request)
        verdict = self.decide(request)
        asked = DecideInput(id=request.id, decision=verdict, by="ann", comment="so")
        if request.editable and verdict == "approve" and self.payload is not None:
            asked = asked.model_copy(update={"payload": self.payload})
        return asked


class Ran:
    """A run that ended: what it asked, what it did."""

    def __init__(
        self,
        result: TeamResult,
        world: ModelWorld,
        state: RunState,
        asked: list[Pending],
        notices: list[PendingNotification],
    ) -> None:
        self.result = result
        self.world = world
        self.state = state
        self.asked = asked
        self.notices = notices

    @property
    def sent(self) -> list[JsonValue]:
        """The inputs of calls that sent data out."""
        return [one.input for one in self.world.made if one.skill in SENT]

    def trail(self, *statuses: str) -> list[tuple[str | None, str]]:
        """Step and reason of the trail's entries with one of these statuses."""
        return [(one.step, one.because) for one in self.state.trail if one.status in statuses]


def found(request: FunctionRequest) -> JsonValue:
    """What tool functions return: a failing one is named `Broken`."""
    return {"of": request.skill, "input": request.input}


async def ran(
    plan: Plan,
    model: Model,
    decide: Decide = lambda _: "reject",
    function: Callable[[FunctionRequest], JsonValue | FunctionResult] = found,
    *,
    everywhere: bool = False,
    context: Json | None = None,
    payload: JsonValue = None,
) -> Ran:
    """The run from beginning to end, or continued as new at every second checkpoint."""
    world, state, asked = ModelWorld(model, function), fresh(plan, context or {}), list[Pending]()
    notices: list[PendingNotification] = []
    for _ in range(1000):
        scope = PeopleScope(plan, state, world, 1 if everywhere else None)
        scope.decide, scope.asked, scope.payload = decide, asked, payload
        scope.notifications = notices
        try:
            return Ran(await run(scope), world, state, asked, notices)
        except RunFailed as failed:
            return Ran(failed.result, world, state, asked, notices)
        except Interrupted:
            state = carried(state)
    raise AssertionError("the run never ended")
