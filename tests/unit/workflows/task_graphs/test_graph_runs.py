"""Tasks of a graph that run at the same time, and choices of the next one, in virtual time."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest
from temporalio.exceptions import ApplicationError

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    FunctionRequest,
    FunctionResult,
)
from coterie.dsl.task_graph.task_causes import GraphTaskStarted
from coterie.dsl.values import Json
from coterie.workflows.core.scope import Call
from tests.support.one_team import agent, work
from tests.support.simulation.skipping import Skipped, SkippingScope, skipped_run

Answer = Callable[[str, str], tuple[float, Json | str]]
"""How long an agent takes and what it answers, or the type of its failure; of a task and input."""


def quick(task: str, given: str) -> tuple[float, Json | str]:
    return 1, {}


class Agents:
    """Agents that answer as the test says, and when."""

    def __init__(self, says: Answer) -> None:
        self.says = says
        self.asked: list[str] = []

    async def run_agent(self, request: AgentRequest) -> AgentResponse:
        given = str(request.inputs.get("input"))
        self.asked.append(given)
        seconds, found = self.says(request.task, given)
        await asyncio.sleep(seconds)
        if isinstance(found, str):
            raise ApplicationError("on purpose", type=found, non_retryable=True)
        return AgentResponse(data=found)

    async def call_function(self, request: FunctionRequest) -> FunctionResult:
        raise NotImplementedError


def graph(
    keys: str,
    says: Answer,
    *,
    body: str = "",
    context: Json | None = None,
    after: list[str] | None = None,
) -> Skipped:
    """The run of a graph with these keys, whose body asks an agent about its task.

    What the state then keeps goes to `after`.
    """
    plan = work(f"""
- name: graph
  type: task_graph
  task_variable: task
  on_failure: continue
  {keys.strip()}
  body: [{body or agent("act", "{{ task.id }}")}]
- {agent("after")}
- name: seen
  type: set
  values:
    left: "{{{{ graph is defined }}}}"
    graph: "{{{{ tasks.graph.data }}}}"
    error: "{{{{ tasks.graph.error.type if tasks.graph.error else none }}}}"
    message: "{{{{ tasks.graph.error.message if tasks.graph.error else none }}}}"
""")

    class Watching(SkippingScope):
        async def run_agent(self, request: AgentRequest, call: Call) -> AgentResponse:
            if request.task == "after" and after is not None:
                kinds = (self.state.frames, *self.state.progress.kinds())
                after.extend(key for kind in kinds for key in kind)
            return await super().run_agent(request, call)

    return skipped_run(plan, context or {}, Agents(says), scope_type=Watching)


def seen(run: Skipped) -> dict[str, Any]:
    assert isinstance(run.result.output, dict)
    return cast("dict[str, Any]", run.result.output["seen"])


def statuses(run: Skipped) -> dict[str, str]:
    return {task["id"]: task["status"] for task in seen(run)["graph"]["tasks"]}


def started(run: Skipped) -> list[tuple[str, str, int, str]]:
    causes = [one.cause for one in run.state.trail if isinstance(one.cause, GraphTaskStarted)]
    return [(cause.code, cause.task, cause.available, cause.choice) for cause in causes]


def duration(run: Skipped) -> float:
    ended = next(one for one in run.state.trail if one.step == "graph" and one.seconds)
    return ended.seconds or 0


THREE = "tasks: [{id: a}, {id: b}, {id: c}]"


def choosing(chosen: str = "{{ tasks.pick.data.next }}", concurrency: int = 2) -> str:
    pick = agent("pick", "{{ graph.available | map(attribute=''id'') | join }}")
    return f"""{THREE}
  concurrency: {concurrency}
  select: [{pick}]
  chosen: "{chosen}\""""


def test_jobs_choose_one_after_another_among_the_tasks_that_are_left() -> None:
    def says(task: str, given: str) -> tuple[float, Json | str]:
        return (5, {"next": given[-1]}) if task == "pick" else (1, {})

    run = graph(choosing(), says)
    assert started(run) == [
        ("task_chosen", "c", 3, ""),
        ("task_chosen", "b", 2, ""),
        ("task_next", "a", 1, ""),
    ]
    assert set(statuses(run).values()) == {"completed"}
    assert not seen(run)["left"]


@pytest.mark.parametrize(
    ("chosen", "first"),
    [
        ("{{ ' c ' }}", ("task_chosen", "c", 3, "")),
        ("{{ 'x' }}", ("choice_unavailable", "a", 3, "x")),
        ("{{ none }}", ("choice_unavailable", "a", 3, "")),
        ("{{ 7 }}", ("choice_unavailable", "a", 3, "7")),
    ],
)
def test_a_choice_is_the_id_of_a_task_that_may_start_else_the_first_one_starts(
    chosen: str, first: tuple[str, str, int, str]
) -> None:
    run = graph(choosing(chosen, 1), quick)
    assert started(run)[0] == first


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        ("Broken", "Broken"),
        ("AnswerUnreadable", "AnswerUnreadable"),
        ("Timeout", "Timeout"),
        ("MissingSecret", "MissingSecret"),
        ({"other": "c"}, "TemplateFailed"),  # `chosen` reads `next`
    ],
)
def test_a_choice_that_fails_starts_the_first_task_and_names_the_failure(
    answer: Json | str, failure: str
) -> None:
    run = graph(choosing(), lambda task, _: (1, answer if task == "pick" else {}))
    assert [one[:2] for one in started(run)] == [
        ("choice_failed", "a"),
        ("choice_failed", "b"),
        ("task_next", "c"),
    ]
    causes = [one.cause for one in run.state.trail if isinstance(one.cause, GraphTaskStarted)]
    assert [cause.failure.type for cause in causes if cause.failure is not None] == [failure] * 2
    assert set(statuses(run).values()) == {"completed"}


def test_a_graph_that_stops_says_on_every_task_which_failure_stopped_it() -> None:
    def says(task: str, given: str) -> tuple[float, Json | str]:
        return 1, "Broken" if given == "b" else {}

    run = graph(f"{THREE}\n  on_failed_task: stop", says)
    reasons = {task["id"]: task["because"] for task in seen(run)["graph"]["tasks"]}
    assert reasons["c"] == "'b' stopped the graph before 'c' ended: Broken: on purpose"


def test_a_task_that_its_recovery_does_not_save_names_both_failures() -> None:
    def says(task: str, given: str) -> tuple[float, Json | str]:
        return 1, {"act": "Broken", "save": "Timeout"}.get(task, {})

    save = f"on_failed_task: [{agent('save')}]"
    run = graph(f"tasks: [{{id: a}}]\n  {save}", says)
    [task] = seen(run)["graph"]["tasks"]
    assert task["because"] == (
        "'a' failed: Broken: on purpose; on_failed_task failed: Timeout: on purpose"
    )


def test_a_person_who_rejects_a_choice_ends_the_graph_and_stops_what_runs() -> None:
    def says(task: str, given: str) -> tuple[float, Json | str]:
        if task != "pick":
            return 100, {}
        picks.append(given)
        return (5, {"next": "c"}) if given == "abc" else (5, "Rejected")

    picks: list[str] = []
    kept: list[str] = []
    run = graph(choosing(concurrency=3), says, after=kept)
    assert (seen(run)["error"], duration(run)) == ("Rejected", pytest.approx(10))
    assert [key for key in kept if "graph" in key] == []
    assert picks == ["abc", "ab"]
    assert statuses(run) == dict.fromkeys("abc", "skipped")


def test_the_steps_of_a_choice_that_nobody_needs_read_as_skipped() -> None:
    text = choosing().replace(THREE, "tasks: [{id: a}]")
    look = agent("act", "{{ tasks.pick.status }}")
    agents: list[str] = []

    def says(task: str, given: str) -> tuple[float, Json | str]:
        if task == "act":
            agents.append(given)
        return 1, {}

    graph(text, says, body=look)
    assert agents == ["skipped"]


def test_a_retry_during_a_choice_may_take_the_last_attempt() -> None:
    def says(task: str, given: str) -> tuple[float, Json | str]:
        if task == "pick":
            return (1, {"next": "a"}) if given == "abc" else (50, {"next": "b"})
        return (5, "ProviderUnavailable") if task == "act" else (1, {})

    run = graph(choosing() + "\n  max_iterations: 2\n  task_retries: 1", says)
    assert [task for _, task, *_ in started(run)] == ["a"]
    assert (seen(run)["graph"]["iterations"], statuses(run)["b"]) == (2, "pending")


@pytest.mark.parametrize(("policy", "seconds"), [("stop", 1), ("block", 101)])
def test_a_failed_task_stops_those_beside_it_only_if_the_graph_stops(
    policy: str, seconds: float
) -> None:
    def says(task: str, given: str) -> tuple[float, Json | str]:
        return (1, "Broken") if given == "a" else (100, {"n": given})

    run = graph(f"{THREE}\n  concurrency: 2\n  on_failed_task: {policy}", says)
    assert duration(run) == pytest.approx(seconds)
    error = "Broken" if policy == "stop" else "TasksFailed"
    assert seen(run)["error"] == error
    rest = "skipped" if policy == "stop" else "completed"
    assert statuses(run)["b"] == rest


@pytest.mark.parametrize(
    ("tasks", "error", "message"),
    [
        (7, "NotAList", "tasks of 'graph' gives a int"),
        (["x" * 1_000_001], "ValueTooLarge", None),
        ([{"id": "a"}] * 4, "TooManyTasks", "'graph' has 4 tasks, and 3 are allowed"),
    ],
    ids=["no list", "too large", "too many"],
)
def test_a_graph_takes_a_list_that_is_small_enough(
    tasks: object, error: str, message: str | None
) -> None:
    keys = "tasks: '{{ context.tasks }}'\n  max_tasks: 3"
    run = graph(keys, quick, context=cast("Json", {"tasks": tasks}))
    assert seen(run)["error"] == error
    assert message is None or seen(run)["message"] == message
