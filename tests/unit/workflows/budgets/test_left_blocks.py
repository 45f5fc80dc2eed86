"""What a run takes along when a used-up budget sends it to another team from the middle."""

from coterie.activities.contracts import AgentRequest, FunctionRequest
from coterie.dsl.values import Json
from coterie.workflows.core.views import TeamResult, TrailEntry
from coterie.workflows.interpreter import run
from tests.support.compiling import plan_of
from tests.support.one_team import agent
from tests.support.simulation.stopping import StoppingScope, World, fresh

HEAD = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: {prompts: {user: "Write {{ input }}."}}
orchestration:
  entry_team: spread
  max_total_teams: 100
  budgets: {model_calls: {limit: 1, on_exceeded: route, next_team: rest}}
  teams:
    rest:
      tasks:
        - name: seen
          type: set
          values:
            steps: "SEEN"
"""


async def left(teams: str, seen: str) -> tuple[TeamResult, list[TrailEntry]]:
    def answer(request: AgentRequest | FunctionRequest) -> Json:
        return {"n": 1}

    plan = plan_of(HEAD.replace("SEEN", seen) + teams)
    state = fresh(plan, {})
    result = await run(StoppingScope(plan, state, World(answer), None))
    assert list(state.tracks) == ["main"]
    assert list(state.frames) == []
    return result, [one.to_entry() for one in state.trail]


def branch(name: str) -> str:
    return f"""
    {name}:
      tasks: [{agent("act")}]
      routing:
        rules:
          - {{condition: all_success, next_team: null, context_updates: {{{name}: done}}}}
"""


async def test_a_fan_out_that_is_left_keeps_what_its_ended_branches_came_to() -> None:
    spread = """
    spread:
      tasks: [{name: begin, type: set, values: {n: 1}}]
      routing: {rules: [{condition: all_success, next_team: [b1, b2]}]}
"""
    seen = "{{ [teams.b1.tasks.act.status, teams.b2 is defined, teams.spread.tasks.begin.status] }}"
    result, trail = await left(spread + branch("b1") + branch("b2"), seen)
    assert result.output == {"seen": {"steps": ["success", False, "success"]}}
    assert (result.context, result.visits["rest"]) == ({"b1": "done"}, 1)
    assert [(one.team, one.status, one.next_team) for one in trail if one.kind == "route"] == [
        ("spread", "success", "b1, b2"),
        ("b1", "success", None),
        ("spread", "success", "rest"),
        ("rest", "success", None),
    ]
    [stopped, began] = [one for one in trail if one.next_team == "rest" or one.team == "rest"][1:3]
    assert stopped.because == began.because
    assert "budget of the run is used up" in began.because


async def test_steps_that_a_left_team_never_came_to_read_as_skipped() -> None:
    """The budget is used up in a team that a step calls."""
    teams = f"""
    spread:
      tasks:
        - {agent("act")}
        - {{name: call, type: team, team: sub}}
        - {{name: later, type: set, values: {{n: 1}}}}
    sub:
      tasks: [{agent("more")}, {{name: last, type: set, values: {{n: 1}}}}]
"""
    tasks = "teams.spread.tasks"
    seen = f"{{{{ [{tasks}.act.status, {tasks}.call.status, {tasks}.later.status] }}}}"
    result, trail = await left(teams, seen)
    assert result.output == {"seen": {"steps": ["success", "skipped", "skipped"]}}
    routes = [(one.team, one.next_team) for one in trail if one.kind == "route"]
    assert routes == [("spread", "rest"), ("rest", None)]
