"""Effects of a run: what an abandoned branch may no longer begin, and what Temporal shows."""

import asyncio
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest
from temporalio import workflow
from temporalio.common import SearchAttributeIndexedValueType as IndexedType

from coterie.activities.contracts import (
    AgentRequest,
    CallOptions,
    FunctionRequest,
    VisibilitySettings,
)
from coterie.dsl.model.plan import Persona
from coterie.workflows.core.scope import Call, Job
from coterie.workflows.core.state import RunState
from coterie.workflows.core.views import Paused
from coterie.workflows.team import METADATA, show_when_asked
from coterie.workflows.temporal import durable_scope
from coterie.workflows.temporal.branches import abandon
from coterie.workflows.temporal.durable_scope import DurableScope
from coterie.workflows.temporal.pacer import MAX_STEPS
from tests.support.compiling import plan_of

PLAN = plan_of("orchestration: {entry_team: a, teams: {a: {tasks: [{name: s}]}}}")
CALL = Call(id="7", summary="a/b", options=CallOptions(timeout=5, retries=0), step="a/b")
TURN = AgentRequest(team="a", task="b", persona=Persona(provider="p", model="m"))


class Engine:
    """Temporal's side of a run that begins nothing."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self.length = 1
        self.timers = 0
        self.patience: list[float] = []
        self.kinds: dict[str, IndexedType] = {}

    async def wait_condition(self, ready: Callable[[], bool], **_: Any) -> None:
        while not ready():  # noqa: ASYNC110 - the condition belongs to the workflow
            await asyncio.sleep(0)

    async def wait(self, tasks: Any, **options: float) -> None:
        self.patience += options.values()
        await asyncio.wait(tasks, timeout=0 if options else None)

    async def sleep(self, *_: object, **options: object) -> None:
        self.timers += 1
        self.length += 1

    def upsert(self, updates: Any) -> None:
        self.kinds |= {one.key.name: one.key.indexed_value_type for one in updates}

    def start_activity(self, *_: object, **options: object) -> None:
        raise AssertionError("the run begins an activity")


@pytest.fixture
async def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    there = Engine()
    info = SimpleNamespace(
        workflow_id="run",
        original_execution_run_id="execution",
        get_current_history_length=lambda: there.length,
        get_current_history_size=lambda: 1,
        is_continue_as_new_suggested=lambda: False,
    )
    monkeypatch.setattr(workflow, "info", lambda: info)
    monkeypatch.setattr(workflow, "time", lambda: 0.0)
    monkeypatch.setattr(workflow, "sleep", there.sleep)
    monkeypatch.setattr(workflow, "wait", there.wait)
    monkeypatch.setattr(workflow, "wait_condition", there.wait_condition)
    monkeypatch.setattr(workflow, "cancellation_reason", lambda: there.reason)
    monkeypatch.setattr(workflow, "upsert_search_attributes", there.upsert)
    monkeypatch.setattr(workflow, "start_activity", there.start_activity)
    return there


Effect = Callable[[DurableScope], Coroutine[Any, Any, object]]
EFFECTS: dict[str, Effect] = {
    "a step": lambda scope: scope.checkpoint(),
    "a model call": lambda scope: scope.run_agent(TURN, CALL),
    "a function call": lambda scope: scope.call_function(
        FunctionRequest(skill="A.b", key="k"), CALL
    ),
    "a wait": lambda scope: scope.wait_until(lambda: True, None, "x"),
}


@pytest.mark.parametrize("effect", EFFECTS.values(), ids=EFFECTS)
async def test_an_abandoned_branch_stops_at_its_first_effect(
    engine: Engine, effect: Effect
) -> None:
    scope, after = DurableScope(PLAN, RunState()), list[str]()

    async def job() -> None:
        try:
            await effect(scope)
            after.append("went on")
        finally:
            await scope.checkpoint()
            after.append("cleaned up")

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(abandon(job))
    assert after == ["cleaned up"]


async def test_an_abandoned_block_brings_back_only_the_branches_that_had_begun(
    engine: Engine,
) -> None:
    scope, came = DurableScope(PLAN, RunState()), list[str]()

    def branch(name: str) -> Job:
        async def job() -> None:
            came.append(name)
            await scope.checkpoint()
            came.append("went on")

        return job

    jobs = {name: branch(name) for name in ("first", "second", "third")}

    async def block() -> None:
        await scope.together(jobs, enough=bool, begun={"third", "first"})

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(abandon(block))
    assert came == ["first", "third"]


async def test_a_cancelled_run_gives_its_branches_the_time_that_it_has_left(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workflow, "now", lambda: None)
    scope, cleaning = DurableScope(PLAN, RunState()), asyncio.Event()
    scope.state.stop_by = scope.time() + 40

    async def quick() -> None:
        """The branch that is enough."""

    async def late() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cleaning.set()
            await asyncio.Event().wait()

    async def block() -> None:
        await scope.together({"quick": quick, "late": late}, enough=bool)

    running = asyncio.create_task(block())
    await cleaning.wait()
    engine.reason = "enough"
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    (left,) = engine.patience
    assert 30 < left <= 40


async def test_the_reason_of_a_cancellation_is_that_of_its_request(engine: Engine) -> None:
    scope = DurableScope(PLAN, RunState())
    assert scope.cancelled() is None
    engine.reason = "enough"
    assert scope.cancelled() == "enough"


async def test_lists_of_runs_know_texts_and_lists_of_texts(engine: Engine) -> None:
    state = RunState(visibility=VisibilitySettings(search_attributes=True))
    state.main.team = "a"
    state.doing["a/s"] = 0.0
    DurableScope(PLAN, state).mark()
    kinds = set(engine.kinds.values())
    assert engine.kinds["CoterieState"] == IndexedType.KEYWORD
    assert kinds <= {IndexedType.KEYWORD, IndexedType.KEYWORD_LIST}


def test_the_board_is_rendered_whenever_somebody_asks_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    handlers: dict[str, Callable[[], Any]] = {METADATA: SimpleNamespace}
    monkeypatch.setattr(workflow, "get_query_handler", handlers.get)
    monkeypatch.setattr(workflow, "set_query_handler", handlers.__setitem__)
    board = iter(["at first", "later"])
    show_when_asked(lambda: next(board))
    assert handlers[METADATA]().current_details == "at first"
    assert handlers[METADATA]().current_details == "later"


@pytest.mark.parametrize("name", ["checkpoint", "settle"])
async def test_a_run_that_has_done_much_yields_before_it_goes_on(engine: Engine, name: str) -> None:
    scope = DurableScope(PLAN, RunState())
    await scope.checkpoint()
    scope.weigh(MAX_STEPS - 2)
    await scope.checkpoint()
    assert engine.timers == 0
    await getattr(scope, name)()
    assert engine.timers == 1


@pytest.mark.parametrize("is_paused", [True, False])
async def test_steps_before_the_first_wait_of_a_run_count_in_no_workflow_task(
    engine: Engine, is_paused: bool
) -> None:
    scope = DurableScope(PLAN, RunState())
    await scope.checkpoint()
    scope.weigh(MAX_STEPS - 2)
    if is_paused:
        scope.state.paused = Paused(by="ann", why="", since="")
        asyncio.get_running_loop().call_soon(setattr, scope.state, "paused", None)
    else:
        await scope.wait_until(lambda: True, None, "x")
    for _ in range(3):
        await scope.checkpoint()
    assert engine.timers == 0


async def test_a_time_limit_ends_a_block_and_leaves_the_branches_that_have_finished(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def expires(waiting: Coroutine[Any, Any, None], _: float) -> None:
        waiting.close()
        await asyncio.sleep(0)
        raise TimeoutError

    monkeypatch.setattr(durable_scope, "within", expires)
    scope = DurableScope(PLAN, RunState())

    async def quick() -> None:
        """Ends at once."""

    async def late() -> None:
        await asyncio.Event().wait()

    found = await scope.together(
        {"quick": quick, "late": late}, enough=lambda done: len(done) == 2, seconds=5
    )
    assert found == {"quick"}
