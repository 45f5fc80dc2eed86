"""A run asks only where `coterie check` says that it may, and makes no unsafe call without."""

from functools import cache
from random import Random

from activities.contracts import AgentRequest, AgentResponse, SkillRequest
from dsl.analysis.findings import analysed
from dsl.compile.compiler import Compiled
from dsl.model.steps import ToolStep
from dsl.model.traversal.step_walk import walk
from dsl.values import Json, JsonValue
from tests.support.simulation.egress_runs import Model, Ran, ran
from tests.support.tool_agents import answer, calls
from tests.unit.dsl.tools.test_labels import Generated, compiled
from workflows.core.state_keys import SkillCallKey, StepKey

_BROUGHT = {"read": "private", "web": "untrusted", "search": "untrusted"}


def choosing(random: Random) -> Model:
    """A model that calls any of its tools, or answers."""

    def model(request: AgentRequest, _: int) -> AgentResponse:
        turn = request.tool_turn
        if turn is not None and turn.offered:
            offered[request.task] = [one.name for one in turn.offered]
        names = offered.get(request.task, [])
        if not names or random.random() < 0.3:
            return answer("done")
        some: list[tuple[str, Json]] = [(random.choice(names), {}) for _ in range(2)]
        return calls(*some)

    offered: dict[str, list[str]] = {}
    return model


async def random_run(done: Compiled, seed: int) -> Ran:
    random = Random(seed)

    def skill(_: SkillRequest) -> JsonValue:
        return {"fails": "Odd"} if random.random() < 0.1 else {}

    return await ran(
        done.plan,
        choosing(random),
        lambda _: "approve" if random.random() < 0.7 else "reject",
        skill,
        context={"x": random.random() < 0.5, "more": random.random() < 0.5},
    )


def tool_of(request: SkillRequest, tools: dict[str, str]) -> str:
    """The tool that a request calls: of a model by its name, of a step by the plan."""
    name = SkillCallKey(request.key).step.rpartition("/")[2]
    return name.partition("@")[0] if "@" in name else tools[name]


def checked_sends(one: Ran, tools: dict[str, str], steps: str) -> int:
    """Check that a person approved each call after both labels; return how many there were."""
    approved = [id for id, made in one.state.decisions.items() if made.verdict == "approved"]
    met: set[str] = set()
    sent = 0
    for request in one.world.made:
        tool, step = tool_of(request, tools), SkillCallKey(request.key).step
        if tool in ("send", "search") and len(met) == 2:
            sent += 1
            assert [id for id in approved if StepKey.of_request(id) == step], steps
        met |= {_BROUGHT[tool]} if tool in _BROUGHT else set()
    return sent


@cache
def generated() -> list[tuple[str, Compiled]]:
    """Teams of random steps: their text, and what it compiles to."""
    made = [Generated(seed).steps(1)[0] for seed in range(80)]
    return [(steps, compiled(f"a: {{ tasks: {steps} }}")) for steps in made]


async def test_a_run_asks_where_check_reports_it_and_else_nowhere() -> None:
    asks = 0
    for seed, (steps, done) in enumerate(generated()):
        found = [one for one in analysed(done).findings if one.code == "W521"]
        shown = {one.message.partition(" can ")[0].rpartition("/")[2] for one in found}
        for again in range(6):
            one = await random_run(done, seed * 10 + again)
            for request in one.asked:
                if request.met:
                    asks += 1
                    called = StepKey.of_request(request.id).without_model_calls()
                    assert shown & set(called.split("/")), (request.id, steps)
    assert asks > 50


async def test_no_call_sends_after_both_labels_without_a_persons_approval() -> None:
    unsafe = 0
    for seed, (steps, done) in enumerate(generated()):
        if "approval" in steps:
            continue  # which begins anew
        walked = walk(done.plan.teams["a"].steps, ())
        tools = {step.name: step.tool for step, _ in walked if isinstance(step, ToolStep)}
        for again in range(12):
            one = await random_run(done, seed * 20 + again)
            unsafe += checked_sends(one, tools, steps)
    assert unsafe > 10
