"""A request names the call that would run, if that may change something."""

import pytest

from coterie.dsl.model.step_kinds.step_base import FunctionTerms
from coterie.dsl.model.tools.tool_contract import AgentTool, FunctionTool, McpTool, TeamTool, Tool
from coterie.workflows.agents.tool_kinds import planned_tool_call
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.core.requests import Pending, PlannedCall, request_digest
from coterie.workflows.interpreter import run
from tests.support.compiling import plan_of
from tests.support.simulation.stopping import StoppingScope, World, fresh


class Seeing(StoppingScope):
    """Keeps each request, and approves it."""

    seen: tuple[Pending, ...] = ()

    def decision_about(self, request: Pending) -> DecideInput:
        self.seen += (request,)
        return super().decision_about(request)


WAYS = ["skill", "tool"]


async def requests_of(way: str, function: str, given: str, approval: str) -> tuple[Pending, ...]:
    """The requests of one call, by a step of an execution plan or by a tool."""
    call = f"{{name: s, skill: {function}, input: {{{given}}}, requires_approval: {approval}}}"
    step = "agent_type: generic_orchestrating, persona_key: p"
    if way == "tool":
        step = f"tool: it, arguments: {{{given}}}"
    plan = plan_of(
        f"tools: {{it: {{skill: {function}, requires_approval: {approval}}}}}\n"
        "llm_config: {default_provider: x, providers: {x: {default_model: m}}, "
        f"personas: {{p: {{execution_plan: [{call}]}}}}}}\n"
        f"orchestration: {{entry_team: a, teams: {{a: {{tasks: [{{name: s, {step}}}]}}}}}}"
    )
    scope = Seeing(plan, fresh(plan, {}), World(lambda _: {}), None)
    await run(scope)
    return scope.seen


@pytest.mark.parametrize(
    ("approval", "function", "given", "effect"),
    [
        ("before", "Files.write", "path: a.txt, content: x", "idempotent"),
        ("before", "Git.commit", "message: m, paths: [a.txt]", "idempotent"),
        ("before", "Files.read", "path: a.txt", None),
        ("after", "Files.write", "path: a.txt, content: x", None),
    ],
)
@pytest.mark.parametrize("way", WAYS)
async def test_a_request_before_a_call_names_it(
    way: str, approval: str, function: str, given: str, effect: str | None
) -> None:
    [request] = await requests_of(way, function, given, approval)
    expected = None if effect is None else {"name": function, "effect": effect, "input": None}
    assert (request.call and request.call.model_dump()) == expected


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("terms", "function", "given", "kept"),
    [
        ("show: look", "Files.write", "path: a.txt, content: x", True),
        ("show: {note: look}", "Git.commit", "message: m, paths: [a.txt]", True),
        ("prompt: Go?", "Files.write", "path: a.txt, content: x", False),
        ("show: look, at: after", "Files.write", "path: a.txt, content: x", False),
        ("show: look", "Cache.put", "key: a, value: 1", False),
    ],
)
async def test_a_request_that_shows_something_else_keeps_what_would_change_files(
    way: str, terms: str, function: str, given: str, kept: bool
) -> None:
    [request] = await requests_of(way, function, given, f"{{{terms}}}")
    behind = None if request.call is None else request.call.input
    keys = {part.split(":")[0].strip() for part in given.split(", ")}
    assert (isinstance(behind, dict) and set(behind) == keys) is kept
    digest = request_digest(request.origin, request.prompt, request.show, request.call)
    assert request.digest == digest
    assert (digest == request_digest(request.origin, request.prompt, request.show)) is not kept


async def test_an_approval_that_is_remembered_holds_for_no_other_change_of_files() -> None:
    steps = "".join(
        f"{{name: s{number}, tool: it, arguments: {{path: a.txt, content: {content}}}}}, "
        for number, content in enumerate("xyx")
    )
    plan = plan_of(
        "tools: {it: {skill: Files.write, requires_approval: {show: look, remember: true}}}\n"
        f"orchestration: {{entry_team: a, teams: {{a: {{tasks: [{steps}]}}}}}}"
    )
    scope = Seeing(plan, fresh(plan, {}), World(lambda _: {}), None)
    await run(scope)
    assert [one.id for one in scope.seen] == ["a/s0#1", "a/s1#1"]


ONCE = FunctionTerms(effect="once", timeout=1.0, retries=0)


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        (FunctionTool(skill="CommandRunner.run_once", terms=ONCE), "CommandRunner.run_once"),
        (McpTool(mcp="desk/move", terms=ONCE), "desk/move"),
        (AgentTool(agent="writer"), None),
        (TeamTool(team="review"), None),
    ],
)
def test_a_tool_of_any_kind_names_its_one_call(tool: Tool, name: str | None) -> None:
    expected = None if name is None else PlannedCall(name=name, effect="once")
    assert planned_tool_call(tool) == expected
