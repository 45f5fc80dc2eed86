"""`only`, `join: fallback` and `join: best`, wherever the run is stopped and goes on."""

import pytest
from pydantic import JsonValue

from coterie.activities.contracts import AgentRequest, FunctionRequest
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from coterie.workflows.interpreter import run
from tests.support.compiling import problems_of
from tests.support.one_team import agent, document, work
from tests.support.runs import task_data
from tests.support.simulation.stopping import (
    StoppingScope,
    World,
    fresh,
    stopped_everywhere,
    undisturbed,
)


def answer(request: AgentRequest | FunctionRequest) -> Json:
    assert isinstance(request, AgentRequest)
    if request.task.startswith("bad"):
        return {"fails": "Broken"}
    return {"n": int(request.task[-1])}


def parallel(branches: str, more: str) -> str:
    keys = f"name: many, type: parallel, on_failure: continue, {more}"
    return f"- {{{keys}, branches: {{{branches}}}}}\n"


def ways(*names: str) -> str:
    return ", ".join(f"way_{name}: [{agent(name)}]" for name in names)


def scored(name: str, score: str, priority: int = 0) -> str:
    return f"way_{name}: {{steps: [{agent(name)}], score: '{score}', priority: {priority}}}"


OWN = "{{ data.n }}"
ROWS: dict[str, tuple[str, str, JsonValue, int]] = {
    "fallback takes the first success, and starts none after it": (
        parallel(ways("bad1", "good2", "good3"), "join: fallback"),
        "[data.winner, data.result.n, data.way_bad1.status, data.way_good3.status, "
        "data.way_good2.seconds]",
        ["way_good2", 2, "failure", "skipped", 1.0],
        2,
    ),
    "fallback fails with the first failure when all do": (
        parallel(ways("bad1", "bad2"), "join: fallback"),
        "[tasks.many.error.type, data.winner, data.way_bad2.error.message]",
        ["Broken", None, "on purpose"],
        2,
    ),
    "a branch that did not run is no success": (
        parallel(
            f"none: [{agent('good1').replace('}', ', when: all_failure}', 1)}], {ways('good2')}",
            "join: fallback",
        ),
        "[data.winner, data.none.status, data.none.success]",
        ["way_good2", "skipped", False],
        1,
    ),
    "any does not end with a branch that did not run": (
        parallel(
            f"none: [{agent('good1').replace('}', ', when: all_failure}', 1)}], {ways('good2')}",
            "join: any",
        ),
        "[data.winner, data.none.status]",
        ["way_good2", "skipped"],
        1,
    ),
    "a branch whose last step was skipped has run": (
        parallel(
            f"one: [{agent('good1')}, {agent('good2').replace('}', ', when: all_failure}', 1)}]",
            "join: any",
        ),
        "[data.winner, data.one.status]",
        ["one", "success"],
        1,
    ),
    "later tasks see what the tasks of each branch came to": (
        parallel(ways("good1", "good2"), "join: all"),
        "[tasks.good1.status, tasks.good2.status]",
        ["success", "success"],
        2,
    ),
    "only names the branches that run": (
        parallel(ways("good1", "good2", "good3"), "only: [way_good3, way_good1]"),
        "[data.way_good1.status, data.way_good2.status, tasks.good2.status, tasks.many.status]",
        ["success", "skipped", "skipped", "success"],
        2,
    ),
    "only and join come from templates": (
        parallel(
            ways("good1", "bad2", "good3"),
            "only: '{{ context.only }}', join: '{{ context.join }}'",
        ),
        "[data.winner, data.way_good1.status]",
        ["way_good3", "skipped"],
        2,
    ),
    "an unknown branch is a failure that names them": (
        parallel(ways("good1"), "only: '{{ [context.join] }}'"),
        "[tasks.many.error.type, tasks.many.data_or_error]",
        ["UnknownBranch", "`only` of 'many' names 'fallback'; branches: way_good1"],
        0,
    ),
    "a join that is none is a failure that names them": (
        parallel(ways("good1"), "join: '{{ context.only[0] }}'"),
        "[tasks.many.error.type, tasks.many.data_or_error]",
        [
            "NotAJoin",
            "`join` of 'many' gives 'way_bad2', not one of all, any, fallback, best, or a number "
            "up to 1",
        ],
        0,
    ),
    "more successes than branches is a failure before any starts": (
        parallel(ways("good1", "bad2", "good3"), "only: '{{ context.only }}', join: 3"),
        "tasks.many.data_or_error",
        "`join` of 'many' needs 3 successes, and 2 branches run",
        0,
    ),
    "best runs all, and the higher score wins": (
        parallel(
            f"{scored('good1', OWN)}, {scored('good3', OWN)}, {scored('good2', OWN)}", "join: best"
        ),
        "[data.winner, data.result.n, data.way_good2.score, data.way_good2.success]",
        ["way_good3", 3, 2, True],
        3,
    ),
    "best prefers the higher priority to the score": (
        parallel(f"{scored('good1', OWN, 1)}, {scored('good3', OWN)}", "join: best"),
        "data.winner",
        "way_good1",
        2,
    ),
    "best takes what succeeded, however it is ranked": (
        parallel(f"{scored('bad9', OWN, 9)}, {ways('good1')}", "join: best"),
        "[data.winner, tasks.many.status, data.way_bad9.score]",
        ["way_good1", "success", None],
        2,
    ),
    "equal results are taken in written order": (
        parallel(ways("good2", "good1"), "join: best"),
        "data.winner",
        "way_good2",
        2,
    ),
    "a score that is no number fails its branch": (
        parallel(f"{scored('good1', '{{ data }}', 5)}, {ways('good2')}", "join: best"),
        "[data.winner, data.way_good1.error.type]",
        ["way_good2", "NotANumber"],
        2,
    ),
    "a score that cannot be evaluated fails its branch": (
        parallel(f"{scored('good1', '{{ data.none }}', 5)}, {ways('good2')}", "join: best"),
        "[data.winner, data.way_good1.error.type]",
        ["way_good2", "TemplateFailed"],
        2,
    ),
    "all has neither a winner nor a result": (
        parallel(ways("good1"), "join: all"),
        "data | list",
        ["way_good1"],
        1,
    ),
    "an attempt begins with none of the branches of the one before": (
        parallel(ways("bad1", "bad2"), "join: fallback, retry: {retries: 1}"),
        "[tasks.many.status, tasks.many.seconds]",
        ["failure", 4.0],
        4,
    ),
}
CONTEXT: Json = {"only": ["way_bad2", "way_good3"], "join": "fallback"}


def with_end(tasks: str, template: str) -> Plan:
    short = template.replace("data.", "tasks.many.data.").replace("data |", "tasks.many.data |")
    short = short.replace("tasks.many.tasks.many.", "tasks.many.")
    return work(f'{tasks}- {{name: end, type: set, values: {{seen: "{{{{ {short} }}}}"}}}}\n')


@pytest.mark.parametrize(("tasks", "template", "wanted", "calls"), ROWS.values(), ids=ROWS)
async def test_a_strategy(tasks: str, template: str, wanted: JsonValue, calls: int) -> None:
    plan = with_end(tasks, template)
    first = await undisturbed(plan, CONTEXT, answer)
    again = await stopped_everywhere(plan, CONTEXT, answer)
    for result, world in (first, again):
        assert task_data(result)["end"] == {"seen": wanted}
        assert len(world.calls) == calls


@pytest.mark.parametrize(("join", "kept"), [("best", 3), ("fallback", 1)])
async def test_only_the_winner_leaves_its_variables(join: str, kept: int) -> None:
    """Where one branch wins, two that set the same variable are no conflict."""
    named = {"good1": 0, "good3": 5}
    branches = ", ".join(
        f"{name}: {{steps: [{agent(name)}, {{name: s{name}, type: set, "
        f"values: {{n: '{{{{ tasks.{name}.data.n }}}}'}}}}]{more}}}"
        for name, rank in named.items()
        for more in ((f", priority: {rank}" if join == "best" else ""),)
    )
    end = "- {name: end, type: set, values: {m: '{{ n }}'}}\n"
    plan = work(parallel(branches, f"join: {join}") + end)
    result, _ = await undisturbed(plan, {}, answer)
    assert task_data(result)["end"] == {"m": kept}


async def test_the_trail_says_why_each_branch_won_or_lost() -> None:
    branches = f"{scored('good1', OWN, 1)}, {scored('good3', OWN)}, {ways('bad2', 'good4')}"
    state, world = fresh(work(parallel(branches, "join: best")), {}), World(answer)
    await run(StoppingScope(work(parallel(branches, "join: best")), state, world, None))
    entries = {e.step: (e.status, e.because, e.seconds) for e in state.trail if e.step}
    assert entries["many/way_good1"] == ("success", "won: priority 1, score 1", 1.0)
    better = "branch way_good1 is better: priority 0"
    assert entries["many/way_good3"] == ("success", f"{better}, score 3", 1.0)
    assert entries["many/way_good4"] == ("success", f"{better}, no score", 1.0)
    assert entries["many/way_bad2"] == ("failure", "on purpose", 1.0)


async def test_the_trail_says_which_branches_never_started() -> None:
    tasks = parallel(
        ways("good1", "good2", "good3"), "join: fallback, only: [way_good1, way_good2]"
    )
    state, world = fresh(work(tasks), {}), World(answer)
    await run(StoppingScope(work(tasks), state, world, None))
    entries = {e.step: (e.status, e.because) for e in state.trail if e.step}
    assert entries["many/way_good1"] == ("success", "won: the first branch that succeeded")
    assert entries["many/way_good2"] == ("skipped", "enough other branches have ended")
    assert entries["many/way_good3"] == ("skipped", "`only` does not name this branch")


@pytest.mark.parametrize(
    ("branches", "more", "code", "words"),
    [
        (ways("a1", "b2"), "only: [way_a]", "E105", "'only' is 'way_a'"),
        (ways("a1", "b2"), "only: [3]", "E103", "`only` of 'many' is not a list of its branches"),
        (ways("a1", "b2"), "only: []", "E103", "`only` of 'many' is not a list of its branches"),
        (ways("a1", "b2"), "only: way_a1", "E103", "`only` of 'many' is not a list"),
        (ways("a1", "b2"), "only: [way_a1], join: 2", "E106", "needs 2 branches"),
        (ways("a1", "b2"), "join: 3", "E106", "needs 3 branches"),
        (ways("a1", "b2"), "join: bset", "E105", "'join' is 'bset'"),
        (ways("a1", "b2"), "join: best, losers: finish", "E107", "`losers` of 'many'"),
        (scored("a1", "1", 3), "join: any", "E107", "`priority` of 'many' has no effect"),
        (f"winner: [{agent('a1')}]", "join: any", "E105", "'winner' cannot be a branch"),
        (scored("a1", "{{ nothing }}"), "join: best", "E207", "no name 'nothing'"),
        ("a: {step: []}", "join: best", "E101", "unknown key 'step'"),
    ],
)
def test_a_wrong_strategy_is_a_problem_of_the_document(
    branches: str, more: str, code: str, words: str
) -> None:
    problems = problems_of(document(parallel(branches, more)))
    assert any(one.code == code and words in one.message for one in problems)


SKIPPED_WAY = f"way_none: [{agent('good4').replace('}', ', when: all_failure}', 1)}]"


@pytest.mark.parametrize(
    ("branches", "more", "expected"),
    [
        (
            f"{scored('good1', OWN)}, {scored('good2', OWN)}, {ways('bad3')}, {SKIPPED_WAY}",
            "join: best, only: [way_good1, way_good2, way_bad3, way_none]",
            {
                "way_good1": ("success", "branch_lost"),
                "way_good2": ("success", "branch_won"),
                "way_bad3": ("failure", "branch_failed"),
                "way_none": ("skipped", None),
            },
        ),
        (
            ways("bad1", "good2", "good3", "good5"),
            "join: fallback, only: [way_bad1, way_good2, way_good3]",
            {
                "way_bad1": ("failure", "branch_failed"),
                "way_good2": ("success", "first_success"),
                "way_good3": ("skipped", "not_needed"),
                "way_good5": ("skipped", "not_chosen"),
            },
        ),
        (
            ways("good1", "good2"),
            "join: any",
            {"way_good1": ("success", None), "way_good2": ("cancelled", "not_needed")},
        ),
    ],
    ids=["best", "fallback", "any"],
)
async def test_the_trail_says_why_each_branch_ended_as_it_did(
    branches: str, more: str, expected: dict[str, tuple[str, str | None]]
) -> None:
    plan = work(parallel(branches, more))
    state = fresh(plan, {})
    await run(StoppingScope(plan, state, World(answer), None))
    found = {
        entry.step.removeprefix("many/"): (entry.status, entry.cause and entry.cause.code)
        for entry in state.trail
        if entry.step is not None and entry.step.count("/") == 1
    }
    assert {name: found[name] for name in expected} == expected
    assert not [key for key in state.frames if "many" in key]


@pytest.mark.parametrize(("join", "root"), [("all", "FunctionRefused"), ("any", "RateLimited")])
async def test_a_parallel_step_can_be_repeated_as_its_join_can(join: str, root: str) -> None:
    """All need each branch, so the one that cannot pass decides; any needs the one that can."""

    def fails(request: AgentRequest | FunctionRequest) -> Json:
        assert isinstance(request, AgentRequest)
        return {"fails": "RateLimited" if request.task == "bad1" else "FunctionRefused"}

    plan = work(parallel(ways("bad1", "bad2"), f"join: {join}"))
    state = fresh(plan, {})
    await run(StoppingScope(plan, state, World(fails), None))
    outcome = state.main.latest["work"]["many"]
    assert outcome.root_error == root
    needed = "" if join == "all" else "0 of 1 needed branches succeeded; "
    assert outcome.error is not None
    assert outcome.error.message == f"{needed}way_bad1: on purpose; way_bad2: on purpose"
