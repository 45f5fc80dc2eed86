"""The team `coordinator`: what its rules see, and how it ends when its plan fails."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue
from temporalio.exceptions import ApplicationError

from coterie.activities.contracts import FunctionRequest, FunctionResult
from coterie.dsl.model.tools.tool_contract import FunctionTool
from coterie.dsl.values import Json
from tests.support.documents.shipped import compiled
from tests.support.simulation.persona_faults import (
    FAILS,
    FaultyWorld,
    OneFault,
    faulty_run,
    value_of,
)
from tests.support.simulation.skipping import RetryingScope, Skipped, skipped_run

PLAN = compiled("coordinator").compiled.plan
FOUND = "a number"


def step(tool: str) -> Json:
    arguments = '{"pattern": "tax"}' if tool == "file_search" else '{"code": "1"}'
    return {
        "tool": tool,
        "arguments": arguments,
        "description": f"Ask {tool}",
        "expected_outcome": FOUND,
    }


def run(
    tool: str, results: Json, context: Json | None = None, persona: str = "", **more: JsonValue
) -> Skipped:
    model = OneFault(PLAN, persona, "fails", {"steps": [step(tool)], **more})
    given = {"query": "Add one and one", "heuristics": True, **(context or {})}
    return faulty_run(PLAN, given, model, results)


def message_of(ended: Skipped) -> str:
    return "" if ended.result.error is None else ended.result.error.message


NOTHING: dict[str, tuple[str, Json]] = {
    "file_search": (
        "Files.search",
        {"matches": [], "searched_files": 7, "skipped_files": 0, "complete": True},
    ),
    "file_read": (
        "Files.read",
        {
            **dict[str, JsonValue](path="a.md", text=" \n", start_line=1, end_line=1),
            **dict[str, JsonValue](total_lines=1, bytes=2, sha256="0" * 64, cut=False),
        },
    ),
    "python": ("Python.run", {"value": None, "printed": "", "cut": False, "seconds": 0.1}),
    "calculator": ("Calculator.evaluate", {"value": "", "text": "", "exact": True}),
}


def test_every_tool_that_a_plan_may_name_has_an_empty_result_here() -> None:
    assert PLAN.settings["tools"].keys() == NOTHING.keys()  # pyright: ignore


def criticised(output: JsonValue) -> Json:
    fixed = PLAN.tools["critic_rules"].fixed
    inputs: Json = {"step": step("python"), "output": output, "success": True}
    inputs["bookkeeping"] = PLAN.settings["bookkeeping"]
    found = value_of({"code": fixed["code"], "inputs": inputs})
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    "output",
    [
        *(result for _, result in NOTHING.values()),
        None,
        "",
        "null",
        [],
        {},
        [[], {}],
        {"result": {"items": [], "note": ""}},
    ],
)
def test_the_rules_see_that_a_result_is_empty_whatever_wraps_it(output: JsonValue) -> None:
    assert criticised(output)["is_acceptable"] is False
    assert criticised({"data": output})["is_acceptable"] is False


@pytest.mark.parametrize(
    "output", [0, False, "x", [0], {"value": 0, "seconds": 0.1}, {"printed": "hi", "value": None}]
)
def test_the_rules_accept_a_result_that_says_something(output: JsonValue) -> None:
    assert criticised(output)["is_acceptable"] is True


def test_an_empty_result_is_not_completed_not_remembered_and_says_why() -> None:
    function, result = NOTHING["file_search"]
    ended = run("file_search", {function: result})
    assert (
        "PlanNotCompleted: Left: Ask file_search. Problems: Ask file_search: the step has no"
        in (message_of(ended))
    )
    assert ended.state.main.context["completed"] is False
    assert "Left: Ask file_search" in str(ended.state.main.context["end"])
    remembered = [one for one in ended.state.trail if one.step == "remember"]
    assert [one.status for one in remembered] == ["skipped"]


def test_the_rules_split_a_goal_at_and_and_at_commas() -> None:
    code = PLAN.tools["perceive_rules"].fixed["code"]
    text = "Read the notes, add 1,000 and 2 and then report"
    found = value_of({"code": code, "inputs": {"text": text, "signs": []}})
    assert isinstance(found, dict)
    assert found["sub_goals"] == ["Read the notes", "add 1,000", "2", "report"]


def test_a_decision_that_fails_leaves_a_search_as_the_plan() -> None:
    ended = run("python", {"Files.search": {"matches": ["tax is 7 %"]}}, persona="decision")
    assert message_of(ended) == ""
    assert ended.state.main.context["completed"] is True
    assert "the model is not well" in str(ended.state.main.context["end"])


class AllAtOnce(FaultyWorld):
    """Every strategy waits until all have begun: one after another, none would ever end."""

    def __init__(self, model: OneFault, results: Json, strategies: set[str]) -> None:
        super().__init__(model, results)
        self._missing = strategies
        self._begun = asyncio.Event()

    async def call_function(self, request: FunctionRequest) -> FunctionResult:
        if any(f"/by_{name}" in request.key for name in FOUND_BY):
            self._missing = self._missing - {request.skill}
            if not self._missing:
                self._begun.set()
            await self._begun.wait()
        return await super().call_function(request)


PASSAGE: Json = {
    **dict[str, JsonValue](source="s", path="a.md", start_line=1, end_line=2),
    **dict[str, JsonValue](title="A", score=0.9, text="Noted."),
}
FOUND_BY: dict[str, tuple[str, JsonValue]] = {
    "tool": ("Files.read", {"text": "The tool."}),
    "rag": ("Retriever.search", {"passages": [PASSAGE]}),
    "web": ("Web.search", {"results": [{"title": "W", "url": "u", "snippet": "The web."}]}),
}


@pytest.mark.parametrize("fails", [(), ("tool",), ("tool", "rag")])
def test_exploratory_asks_all_at_once_and_the_first_in_rank_wins(fails: tuple[str, ...]) -> None:
    """The tool before the texts, the texts before the web, whoever answers first."""
    ranked = [name for name in FOUND_BY if name not in fails]
    results: Json = {
        function: FAILS if name in fails else data for name, (function, data) in FOUND_BY.items()
    }
    strategies = {function for function, _ in FOUND_BY.values()}
    model = OneFault(PLAN, "", "minimal", {"steps": [step("file_read")]})
    given: Json = {"query": "Add", "heuristics": True, "strategy": "exploratory"}
    world = AllAtOnce(model, results, strategies)
    ended = faulty_run(PLAN, {**given, "sources": ["web"]}, model, results, world=world)
    log = ended.state.main.context["tool_log"]
    assert isinstance(log, list)
    assert isinstance(log[0], dict)
    assert log[0]["won"] == ranked[0]


class Searched(FaultyWorld):
    """Keeps what the memory is searched for."""

    async def call_function(self, request: FunctionRequest) -> FunctionResult:
        if request.skill == "Memory.search":
            self.asked = request.input
        return await super().call_function(request)


def test_the_search_query_is_made_from_the_perception_and_never_from_the_query() -> None:
    seen: Json = {"intent": "Count the pens", "entities": ["blue", "pens"]}
    model = OneFault(PLAN, "", "minimal", {"steps": [step("python")], **seen})
    world = Searched(model, {})
    faulty_run(PLAN, {"query": "Raw words of a person"}, model, {}, world=world)
    assert isinstance(world.asked, dict)
    assert world.asked["query"] == "Count the pens blue pens"


class SlowTools(FaultyWorld):
    """Every call of a tool function that a plan names ends as an outage, which may be retried."""

    slow = 0

    async def call_function(self, request: FunctionRequest) -> FunctionResult:
        if request.skill != "Files.list":
            return await super().call_function(request)
        self.slow += 1
        raise ApplicationError("no answer", type="Timeout")


@pytest.mark.parametrize("profile", ["conservative", "exploratory", "fallback"])
@pytest.mark.parametrize("retries", [0, 1, 9, None])
def test_a_call_has_the_fewest_retries_of_tool_profile_and_step(
    profile: str, retries: int | None, tmp_path: Path
) -> None:
    """Whatever a project says of its own tool; `conservative` has 2, `fallback` 4."""
    own = "" if retries is None else f", retries: {retries}"
    (tmp_path / "coterie.yml").write_text(
        f"tools: {{ listing: {{ skill: Files.list{own} }} }}\n"
        "orchestration: { settings: { tools: { listing: '{}: lists the files' } } }\n"
    )
    plan = compiled("coordinator", tmp_path).compiled.plan
    tool, profiles = plan.tools["listing"], plan.settings["profiles"]
    assert isinstance(tool, FunctionTool)
    assert isinstance(profiles, dict)
    most: Any = profiles[profile]
    wanted: Json = {"steps": [{**step("python"), "tool": "listing", "arguments": "{}"}]}
    world = SlowTools(OneFault(plan, "", "minimal", wanted), {})
    given: Json = {"query": "Add", "heuristics": True, "strategy": profile}
    ended = skipped_run(plan, given, world, scope_type=RetryingScope)
    versions = ended.state.main.context["plan_versions"]
    assert isinstance(versions, list)
    calls = 1 + min(3, most["retries"], tool.terms.retries)
    assert world.slow == calls * min(2, len(versions)), "two failures ban the tool"


@pytest.mark.parametrize(("comment", "stops"), [("STOP!", True), ("not today", False)])
@pytest.mark.parametrize(("of", "versions"), [("from_web", 0), ("by_web", 1), ("by_tool", 1)])
def test_a_person_who_rejects_a_call_with_stop_ends_the_run(
    comment: str, stops: bool, of: str, versions: int, tmp_path: Path
) -> None:
    """A search while it retrieves, a search as a strategy, and a tool that a project guards."""
    (tmp_path / "coterie.yml").write_text("tools: { file_read: { requires_approval: true } }\n")
    plan = compiled("coordinator", tmp_path).compiled.plan
    given: Json = {"query": "Add one and one", "heuristics": True, "strategy": "fallback"}
    given["sources"] = ["memory", "web"]
    model = OneFault(plan, "", "minimal", {"steps": [step("file_read")]})
    found: Json = {"Files.read": FAILS, "Retriever.search": FAILS}
    ended = faulty_run(plan, given, model, found, verdict="reject", comment=comment, of=of)
    assert ("Stopped: " in message_of(ended)) is stops
    made = ended.state.main.context["plan_versions"]
    assert isinstance(made, list)
    assert (len(made) == versions) is stops


@pytest.mark.parametrize(
    ("comment", "stops"), [("stop", True), ("Stop.", True), ("no, stop rounding", False)]
)
def test_a_person_who_rejects_with_stop_ends_the_run(comment: str, stops: bool) -> None:
    model = OneFault(PLAN, "", "minimal", {"steps": [step("python")], "requires_human_input": True})
    given: Json = {"query": "Add one and one"}
    ended = faulty_run(PLAN, given, model, {}, verdict="reject", comment=comment)
    assert ("Stopped: test rejected it" in message_of(ended)) is stops
    versions = ended.state.main.context["plan_versions"]
    assert isinstance(versions, list)
    assert len(versions) == (1 if stops else 2)
