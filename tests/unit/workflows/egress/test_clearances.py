"""An approval step in concurrent work covers what that work does until it ends, and no longer."""

from coterie.activities.contracts import AgentRequest, AgentResponse
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.interpreter import run
from tests.support.simulation.egress_runs import LABELLED, PeopleScope, found
from tests.support.simulation.stopping import fresh
from tests.support.tool_agents import MODEL, ModelWorld, answer, tool_plan


def call(name: str, tool: str) -> Json:
    return {"kind": "tool", "name": name, "tool": tool, "arguments": {}}


async def test_what_an_approval_has_covered_is_forgotten_with_its_branches() -> None:
    agree: Json = {"kind": "approval", "name": "agree", "prompt": "Go on?"}
    look: Json = {"name": "look", "agent_type": "generic_single_shot", "persona_key": "actor"}
    both: Json = {
        "kind": "parallel",
        "name": "both",
        "branches": {"left": [agree, {**look, "name": "within"}], "right": [call("c", "clock")]},
    }
    steps: list[JsonValue] = [call("a", "files"), call("b", "page"), both, look]
    teams: dict[str, Json] = {"work": {"id": "work", "steps": steps}}
    persona: Json = {**MODEL, "prompts": {"user": "?"}}
    plan = tool_plan(LABELLED, {"actor": persona}, teams=teams, egress_approval={})
    state, cleared = fresh(plan, {}), dict[str, int]()

    def model(request: AgentRequest, _: int) -> AgentResponse:
        cleared[request.task] = len(state.progress.cleared_labels)
        return answer("done")

    scope = PeopleScope(plan, state, ModelWorld(model, found), None)
    scope.decide, scope.asked = lambda _: "approve", []
    await run(scope)
    assert cleared == {"within": 1, "look": 0}
