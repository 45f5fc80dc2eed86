"""Limits end a run exactly where they say; failures go where routing says; nothing is silent."""

from pathlib import Path

import pytest
from temporalio.testing import WorkflowEnvironment

from tests.support.engine import engine, path_of, trail
from tests.support.runs import Handle, asked, decide, failure

LOOP = """
orchestration:
  entry_team: a
  max_total_teams: TOTAL
  max_recursion_depth: DEPTH
  no_progress: PROGRESS
  teams:
    a:
      OVERRIDE
      tasks: [TASK]
      routing:
        rules: [{condition: all_success, next_team: b, context_updates: {n: "{{ run.teams_run }}"}}]
        default: b
    b:
      tasks: [{name: tb, type: set, values: {seen: "{{ context.WATCHED | default(0) }}"}}]
      routing: {rules: [{condition: all_success, next_team: a}], default: null}
"""
GOOD = "{name: ta, type: set, values: {x: 1}}"
BAD = "{name: ta, type: fail, error: Broken, message: always}"


def loop(
    total: int = 30,
    depth: int = 5,
    *,
    task: str = GOOD,
    override: str = "name: A",
    progress: str = "ignore",
    watched: str = "n",
) -> str:
    text = LOOP.replace("TOTAL", str(total)).replace("DEPTH", str(depth)).replace("TASK", task)
    return (
        text.replace("OVERRIDE", override).replace("PROGRESS", progress).replace("WATCHED", watched)
    )


@pytest.mark.parametrize(
    ("text", "message", "visits"),
    [
        (loop(total=5), "Max total teams exceeded", {"a": 3, "b": 2}),
        (loop(total=1), "Max total teams exceeded", {"a": 1}),
        (loop(depth=2), "Max recursion depth for team a exceeded", {"a": 2, "b": 2}),
        (
            loop(override="max_recursion_depth: 3"),
            "Max recursion depth for team a exceeded",
            {"a": 3, "b": 3},
        ),
        (loop(depth=2, task=BAD), "Max recursion depth for team a exceeded", {"a": 2, "b": 2}),
    ],
    ids=["total", "total of one", "depth", "a team's own depth", "a team that always fails"],
)
async def test_a_limit_of_n_means_n_executions(
    env: WorkflowEnvironment, tmp_path: Path, text: str, message: str, visits: dict[str, int]
) -> None:
    async with engine(env, tmp_path, []) as running:
        error = await failure(await running.start(text))
        assert error.type == "LimitExceeded"
        assert error.message.startswith(message)
        [result] = error.details
        assert result["visits"] == visits
        assert result["end"] in ("max_total_teams", "max_recursion_depth")
        if sum(visits.values()) > 1:
            assert result["output"], "what was done stays readable"


async def test_a_loop_that_changes_nothing_it_reads_is_not_progress(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, []) as running:
        error = await failure(await running.start(loop(progress="fail", watched="other")))
        assert error.message.startswith("Non-progressing loop detected: team a")
        assert error.details[0]["end"] == "no_progress"
        moving = await failure(await running.start(loop(depth=3, progress="fail")))
        assert "team a is entered again" in moving.message, "a reads nothing at all"


async def test_a_person_may_let_it_go_on_all_the_same(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(loop(depth=2, progress="ask", watched="other"))
        for _ in range(2):
            request = await asked(handle)
            assert "Non-progressing loop" in request["prompt"]
            await decide(handle, request["id"])
        assert (await failure(handle)).message.startswith("Max recursion depth")


FAILING = """
orchestration:
  entry_team: first
  teams:
    first:
      EXTRA
      tasks:
        - {name: good, type: set, values: {x: 1}}
        - {name: bad, type: fail, error: Broken, message: "at {{ x }}" MORE}
        - {name: late, type: set, values: {y: 2}}
      routing: ROUTING
    rescue:
      tasks:
        - name: look
          type: set
          values:
            reason: "{{ routing.reason }}"
            task: "{{ routing.error.task }}"
            type: "{{ routing.error.type }}"
            late: "{{ teams.first.tasks.late.status }}"
      routing:
        rules:
          - condition: all_success
            next_team: null
            context_updates: {seen: "{{ tasks.look.data }}"}
"""


def failing(routing: str, *, extra: str = "name: First", more: str = "") -> str:
    return FAILING.replace("ROUTING", routing).replace("EXTRA", extra).replace("MORE", more)


RULES = "{rules: [{condition: all_success, next_team: null}], default: rescue}"


async def test_a_failed_team_goes_to_the_default_and_says_why(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, []) as running:
        result = await running.result(failing(RULES))
        assert result["context"] == {
            "seen": {"reason": "team_failed", "task": "bad", "type": "Broken", "late": "skipped"}
        }


async def test_tasks_after_a_failure_run_where_the_team_says_so(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, []) as running:
        result = await running.result(failing(RULES, extra="stop_on_failure: false"))
        assert result["context"]["seen"]["late"] == "success"  # type: ignore[index, call-overload]


async def test_a_rule_may_match_a_failure(env: WorkflowEnvironment, tmp_path: Path) -> None:
    routing = "{rules: [{condition: {task: bad, status: failure}, next_team: rescue}]}"
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(failing(routing))
        await handle.result()
        assert path_of(await trail(handle)) == ["first", "rescue"]


async def test_a_task_may_be_allowed_to_fail(env: WorkflowEnvironment, tmp_path: Path) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(failing("null", more=", on_failure: continue"))
        result = await handle.result()
        assert result["output"] == {"good": {"x": 1}, "late": {"y": 2}}


@pytest.mark.parametrize(
    ("routing", "type", "message"),
    [
        ("null", "TeamFailed", "task 'bad' of team 'first' failed: Broken: at 1"),
        ("{rules: [{condition: all_success, next_team: null}]}", "TeamFailed", "Broken: at 1"),
    ],
)
async def test_a_failure_that_nobody_takes_fails_the_run(
    env: WorkflowEnvironment, tmp_path: Path, routing: str, type: str, message: str
) -> None:
    async with engine(env, tmp_path, []) as running:
        error = await failure(await running.start(failing(routing)))
        assert error.type == type
        assert message in error.message


async def test_a_success_that_no_rule_knows_fails_the_run(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    text = """
orchestration:
  entry_team: only
  teams:
    only:
      tasks: [{name: t, type: set, values: {x: 1}}]
      routing:
        rules:
          - condition: {context_field: colour, operator: equals, value: red}
            next_team: null
"""
    async with engine(env, tmp_path, []) as running:
        error = await failure(await running.start(text, {"colour": "blue"}))
        assert error.type == "NoRoute"
        assert 'context.colour is "blue" (equals "red")' in error.message


async def test_an_update_that_cannot_be_filled_fails_the_run_readably(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    text = """
orchestration:
  entry_team: only
  teams:
    only:
      tasks: [{name: t, type: set, values: {x: 1}}]
      routing:
        rules:
          - {condition: all_success, next_team: null, context_updates: {y: "{{ context.no.y }}"}}
"""
    async with engine(env, tmp_path, []) as running:
        error = await failure(await running.start(text, {"yes": 1}))
        assert error.type == "TemplateFailed"
        assert "context.no.y has no value" in error.message
