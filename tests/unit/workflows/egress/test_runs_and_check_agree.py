"""A run asks only where `coterie check` says that it may, and makes no unsafe call without."""

from collections import Counter
from functools import cache
from random import Random

from coterie.activities.contracts import AgentRequest, AgentResponse, FunctionRequest
from coterie.dsl.analysis.findings import analysed
from coterie.dsl.compile.compiler import Compiled
from coterie.dsl.model.steps import ToolStep
from coterie.dsl.model.traversal.step_walk import walk
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.core.state_keys import FunctionCallKey, StepKey
from tests.support.simulation.egress_runs import Model, Ran, ran
from tests.support.tool_agents import answer, calls
from tests.unit.dsl.tools.test_labels import (
    NESTING,
    Generated,
    compiled,
    grant_counts,
    reported,
)

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
        some = [random.choice(names) for _ in range(2)]
        return calls(*((name, given_to(name)) for name in some))

    offered: dict[str, list[str]] = {}
    return model


def given_to(tool: str) -> Json:
    return {"query": tool} if tool in NESTING else {}


async def random_run(done: Compiled, seed: int) -> Ran:
    random = Random(seed)

    def function(_: FunctionRequest) -> JsonValue:
        return {"fails": "Odd"} if random.random() < 0.1 else {}

    return await ran(
        done.plan,
        choosing(random),
        lambda _: "approve" if random.random() < 0.7 else "reject",
        function,
        context={"x": random.random() < 0.5, "more": random.random() < 0.5},
    )


def tools_to(step: StepKey, tools: dict[str, str]) -> list[str]:
    """The tools on the way to a call, by the names of models' calls and by the steps of a plan."""
    parts = step.split("/")
    found = (part.partition("@")[0] if "@" in part else tools.get(part, "") for part in parts)
    return [name for name in found if name]


def called_at(step: StepKey, tools: dict[str, str]) -> tuple[str, str]:
    """The step of a plan that makes a call, and the tool that it calls."""
    names = step.without_model_calls().split("/")
    return next(name for name in reversed(names) if name in tools), tools_to(step, tools)[-1]


def is_granted(request: FunctionRequest, step: StepKey, tools: dict[str, str]) -> bool:
    """Whether the grant of `granted` counts in a call."""
    around = tools_to(step, tools)[:-1]
    if step.team == "going" and isinstance(request.input, dict):
        around = [str(request.input["path"])]  # the tool that has called the team
    return grant_counts(around)


def steps_of(done: Compiled) -> dict[str, str]:
    """The tool of each step; of an agent, none."""
    walked = [step for team in done.plan.teams.values() for step, _ in walk(team.steps, ())]
    return {step.name: step.tool if isinstance(step, ToolStep) else "" for step in walked}


def checked_sends(one: Ran, tools: dict[str, str], steps: str) -> Counter[str]:
    """Check that a person approved each call after both labels; count them by tool."""
    approved = [id for id, made in one.state.decisions.items() if made.verdict == "approved"]
    met: set[str] = set()
    sent = Counter[str]()
    for request in one.world.made:
        step = FunctionCallKey(request.key).step
        tool = tools_to(step, tools)[-1]
        narrowed = tool == "granted" and not is_granted(request, step, tools)
        if (tool in ("send", "search") or narrowed) and len(met) == 2:
            sent[tool] += 1
            assert [id for id in approved if StepKey.of_request(id) == step], steps
        met |= {_BROUGHT[tool]} if tool in _BROUGHT else set()
    return sent


@cache
def generated() -> list[tuple[str, Compiled]]:
    """Teams of random steps: their text, and what it compiles to."""
    made = [Generated(seed).steps(1)[0] for seed in range(80)]
    return [(steps, compiled(f"a: {{ tasks: {steps} }}")) for steps in made]


async def test_a_run_asks_where_check_reports_it_and_else_nowhere() -> None:
    asks = Counter[str]()
    for seed, (steps, done) in enumerate(generated()):
        shown = reported([one for one in analysed(done).findings if one.code == "W521"])
        tools = steps_of(done)
        for again in range(6):
            one = await random_run(done, seed * 10 + again)
            for request in one.asked:
                if request.met:
                    step, tool = called_at(StepKey.of_request(request.id), tools)
                    assert (step, tool) in shown, (request.id, steps)
                    asks[tool] += 1
    assert asks.total() > 50
    assert asks["granted"] > 10


async def test_no_call_sends_after_both_labels_without_a_persons_approval() -> None:
    unsafe = Counter[str]()
    for seed, (steps, done) in enumerate(generated()):
        if "approval" in steps:
            continue  # which begins anew
        tools = steps_of(done)
        for again in range(12):
            one = await random_run(done, seed * 20 + again)
            unsafe += checked_sends(one, tools, steps)
    assert unsafe["send"] + unsafe["search"] > 10
    assert unsafe["granted"] > 5
