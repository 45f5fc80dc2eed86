"""A workflow task is limited by the CPU time that it uses, never by the clock."""

import ast
import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace

import pytest
from temporalio.worker import UnsandboxedWorkflowRunner
from temporalio.worker._workflow import _WorkflowWorker  # pyright: ignore[reportPrivateUsage]

from coterie.runtime.task_limit import MAX_SECONDS, SEES_CPU, CpuLimit, TaskOverran
from coterie.runtime.workflow_sandbox import ContextFreeRunner
from tests.law.sources import ROOMS, modules

pytestmark = pytest.mark.skipif(not SEES_CPU, reason="not told the CPU time of a thread")
LITTLE = 0.05


def spin() -> None:
    while True:
        pass


def spin_in_a_loop() -> None:
    """A loop goes on after an exception that its task has."""

    async def spins() -> None:
        spin()

    async def both() -> None:
        await asyncio.gather(spins(), spins(), return_exceptions=True)

    asyncio.run(both())


def catch() -> None:
    caught = 0
    while caught < 3:
        try:
            spin()
        except BaseException:
            caught += 1


@pytest.mark.parametrize("work", [spin, spin_in_a_loop, catch])
def test_a_task_that_uses_too_much_cpu_is_interrupted_whatever_it_makes_of_it(
    work: Callable[[], None],
) -> None:
    limit = CpuLimit(LITTLE, look=0.01)
    with pytest.raises(TaskOverran, match="s of CPU without yielding") as over:
        limit.run(work)
    assert over.value.used > LITTLE
    assert limit.run(lambda: 7) == 7, "the thread takes the next task"


def test_time_on_the_clock_condemns_nobody() -> None:
    limit = CpuLimit(LITTLE, look=0.01)
    assert limit.run(lambda: time.sleep(0.3)) is None


def test_the_cpu_of_other_threads_does_not_count() -> None:
    stop = threading.Event()
    others = [threading.Thread(target=lambda: [None for _ in iter(stop.is_set, True)])]
    for one in others:
        one.start()
    try:
        assert CpuLimit(LITTLE, look=0.01).run(lambda: time.sleep(0.3)) is None
    finally:
        stop.set()
        for one in others:
            one.join()


def numbered(count: int) -> list[str]:
    return [str(n) for n in range(count)]


def test_an_interruption_never_reaches_what_comes_after_its_task() -> None:
    limit, interrupted, tasks = CpuLimit(0.001, look=0.0005), 0, 0
    while interrupted < 50:
        tasks += 1
        try:
            limit.run(partial(numbered, 20_000 * (1 + tasks % 5)))
        except TaskOverran:
            interrupted += 1
        numbered(1_000)  # nothing may arrive here


def test_the_sdk_reads_the_limit_of_our_runner_and_keeps_its_own_for_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(UnsandboxedWorkflowRunner, "max_task_seconds")  # the tests' own
    bare = UnsandboxedWorkflowRunner()
    assert _seconds(ContextFreeRunner(bare)) == MAX_SECONDS
    assert _seconds(bare) == 2


def _seconds(runner: object) -> object:
    """What a worker of this runner waits for a workflow task, as the SDK reads and sets it."""
    worker = SimpleNamespace(_workflow_runner=runner)
    field = vars(_WorkflowWorker)["_deadlock_timeout_seconds"]
    field.fset(worker, 2)
    return field.fget(worker)


LIMITED = {"sandbox", "ContextFreeRunner", "_WatchedRunner"}
"""Make runners whose tasks are limited; each has a test of its own."""


def product_calls() -> Iterator[tuple[str, ast.Call]]:
    for room in ROOMS:
        for name, file in modules(room):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Call):
                    yield name, node


def test_every_worker_and_replayer_of_workflows_limits_the_cpu_time_of_a_task() -> None:
    runners: list[str] = []
    for module, call in product_calls():
        given = {word.arg: word.value for word in call.keywords}
        if ast.unparse(call.func).endswith(("Worker", "Replayer")) and "workflows" in given:
            runner = given.get("workflow_runner")
            made = ast.unparse(runner.func) if isinstance(runner, ast.Call) else None
            runners.append(made or f"{module}:{call.lineno}")
    assert set(runners) == LIMITED
