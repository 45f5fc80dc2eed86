"""Records the histories that every later version must replay: `python -m tests.replay.record`.

Each case is a team file with answers and decisions beside it. Without names all cases are recorded
anew, with names only those: `python -m tests.replay.record long steered`. From the first tag on,
the histories of a released version stay as they are.
"""

import asyncio
import json
import runpy
import sys
import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any, cast

import yaml
from pydantic import TypeAdapter
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowFailureError, WorkflowHistory
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import WorkflowRunner

from coterie.activities.contracts import CALL_FUNCTION
from coterie.dsl.model.price import Price
from coterie.dsl.model.sections.temporal_document import TemporalEntry
from coterie.dsl.model.sections.worker_document import TEST_ROOT, WorkerSection
from coterie.dsl.values import Json
from coterie.replay.replay import replay
from coterie.runs.histories.history_links import links
from coterie.runs.run_client import Run
from coterie.storage.histories import read_history
from coterie.testing.simulation.simulated_signer import SimulatedSigner
from coterie.version import own_version
from coterie.worker.plan_policy import PlanPolicy
from coterie.workflows.core.messages import DecideInput
from tests.replay.numbered_executions import NumberedExecutions
from tests.replay.placeless import placeless
from tests.support.engine import engine
from tests.support.others.foreign_worker import create_endpoint, foreign_worker
from tests.support.servers.temporal_server import dev_server, suggesting_after, time_skipping
from tests.support.simulation.late_task import NAME as LATE_TASK
from tests.support.simulation.late_task import LateTask

HERE = Path(__file__).parent
CASES = HERE / "cases"
HISTORIES = HERE / "histories"
_ATTEMPTS = 5
_DISTURBED = (
    EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED,
    EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT,
)
DERIVED = (
    "tests.unit.coterie.replay.test_decision_traces",
    "tests.unit.coterie.runs.test_recorded_tests",
)
"""What tests expect of the histories; these modules write it anew."""
_PRICES = TypeAdapter(dict[str, Price])


@dataclass(frozen=True, slots=True)
class Case:
    """One run to record."""

    name: str
    team: str
    context: Json
    answers: list[Json]
    decisions: dict[str, str]
    """`{request id: approve or reject}`, by whoever."""
    acts: list[Json]
    """What people do, in order: `asks`, `wait_hours`, `update` or `signal` `with` its payload."""
    fork: Json | None
    """The run that is recorded begins in the middle of the first one, once that has ended."""
    continue_after: int | None
    """The run continues as new after so many events; on the real server, whose time does not
    skip."""
    prices: dict[str, Price]
    """Of the models."""
    signed: bool
    """Whether the run takes only signed decisions."""
    accepts_plans: bool
    """Whether the worker accepts plans that a run brings."""
    calls_others: bool
    """Whether it calls what a worker of others has; on the real server, with a Nexus endpoint."""

    @property
    def on_temporal(self) -> dict[str, TemporalEntry]:
        """What the document's own worker section allows."""
        written = yaml.safe_load(self.team).get("worker", {})
        return WorkerSection.model_validate(written).on_temporal

    def file(self, link: int) -> Path:
        """Return the file of the run's history; one that continues as new has several links."""
        first = HISTORIES / f"{self.name}.{own_version()}.json"
        return first if link == 1 else first.with_suffix(f".link{link}.json")

    def files(self) -> list[Path]:
        """Return the files that are recorded."""
        first = self.file(1)
        return [*HISTORIES.glob(first.name), *HISTORIES.glob(f"{first.stem}.link*.json")]


def cases() -> list[Case]:
    """Every case, read from its files."""
    found: list[Case] = []
    for file in sorted(CASES.glob("*.script.yml")):
        script = cast("Json", yaml.safe_load(file.read_text()) or {})
        name = file.name.removesuffix(".script.yml")
        found.append(
            Case(
                name=name,
                team=(CASES / f"{name}.yml").read_text(),
                context=cast("Json", script.get("context", {})),
                answers=cast("list[Json]", script.get("answers", [])),
                decisions=cast("dict[str, str]", script.get("decisions", {})),
                acts=cast("list[Json]", script.get("acts", [])),
                fork=cast("Json | None", script.get("fork")),
                continue_after=cast("int | None", script.get("continue_after")),
                prices=_PRICES.validate_python(script.get("prices", {})),
                signed=cast("bool", script.get("signed", False)),
                accepts_plans=cast("bool", script.get("accepts_plans", True)),
                calls_others=cast("bool", script.get("calls_others", False)),
            )
        )
    return found


async def record(
    case: Case, env: WorkflowEnvironment, folder: Path, runner: WorkflowRunner
) -> list[WorkflowHistory]:
    """Run the case to its end; its history, or one for each link when it continues as new."""
    late = LateTask()
    functions = {LATE_TASK: late.function()}
    root = TEST_ROOT if case.signed else None
    policy = PlanPolicy(accept_plans=case.accepts_plans, decisions_root=root)
    async with engine(
        env,
        folder,
        case.answers,
        prices=case.prices,
        functions=functions,
        interceptors=[] if case.accepts_plans and not case.signed else [policy],
        name=case.name,
        runner=runner,
        on_temporal=case.on_temporal if case.calls_others else None,
    ) as running:
        team = late.plan(case.team) if LATE_TASK in case.team else case.team
        handle: Any = await running.start(team, case.context)
        for act in case.acts:
            await _act(act, handle, env, late)
        left = dict(case.decisions)
        while left:
            for id in [str(one["id"]) for one in await _pending(handle)]:
                answer = {"id": id, "decision": left.pop(id), "by": "ann", "comment": "so be it"}
                if case.signed:
                    answer = await _signed(answer, handle, env)
                await handle.execute_update("decide", answer)
            await env.sleep(timedelta(minutes=10))
        try:
            await handle.result()
        except WorkflowFailureError as failed:
            print(f"{case.name}: fails with: {failed.cause}")  # noqa: T201
        if case.fork is not None:
            handle = await running.start_raw({"fork": {"run": handle.id, **case.fork}})
            await handle.result()
        return [history async for history in links(env.client, handle.id)]


async def _signed(answer: dict[str, str], handle: Any, env: WorkflowEnvironment) -> Any:
    """Sign a decision, as the people of team tests do."""
    run = Run(env.client, handle.id)
    authority, request = (await run.status()).authority, await run.request(answer["id"])
    assert authority is not None
    signer = SimulatedSigner((await env.get_current_time()).astimezone(UTC))
    return signer.sign(DecideInput.model_validate(answer), authority, request.pending)


async def _act(act: Json, handle: Any, env: WorkflowEnvironment, late: LateTask) -> None:
    match act:
        case {"late_task": "begun"}:
            await late.begun.wait()
        case {"late_task": "cancelled"}:
            while await _is_running(CALL_FUNCTION, handle):
                await env.sleep(timedelta(seconds=1))
        case {"asks": str(id)}:
            while id not in [one["id"] for one in await _pending(handle)]:
                await env.sleep(timedelta(minutes=1))
        case {"doing": str(step)}:
            await _in_progress(step, handle)
        case {"wait_hours": int(hours)}:
            await env.sleep(timedelta(hours=hours))
        case {"update": str(name), "with": given}:
            await handle.execute_update(name, given)
        case {"signal": str(name), "with": given}:
            await handle.signal(name, given)
        case _:
            raise ValueError(f"nothing that a script knows: {act}")


async def _in_progress(step: str, handle: Any) -> None:
    """Wait until a step is in progress; the server skips no time during a call."""
    for _ in range(1000):
        if step in [one["step"] for one in (await handle.query("status"))["doing"]]:
            return
        await asyncio.sleep(0.02)  # between two looks
    raise AssertionError(f"{step} did not begin")


async def _is_running(activity: str, handle: Any) -> bool:
    """Return whether an activity of the type is in progress."""
    running = (await handle.describe()).raw_description.pending_activities
    return any(one.activity_type.name == activity for one in running)


async def _pending(handle: Any) -> list[Json]:
    return cast("list[Json]", await handle.query("pending"))


def as_texts(histories: Sequence[WorkflowHistory], executions: Mapping[str, str]) -> list[str]:
    """Each link as a file of one line, with the run's id, which not every server writes."""
    links: list[Json] = []
    for history in histories:
        started = history.events[0].workflow_execution_started_event_attributes
        started.workflow_id = history.workflow_id
        links.append(json.loads(history.to_json()))
    return [json.dumps(link, separators=(",", ":")) + "\n" for link in placeless(links, executions)]


def disturbed(histories: Sequence[WorkflowHistory]) -> bool:
    """Whether a busy machine has left its trace: a workflow task that failed or was too late."""
    return any(event.event_type in _DISTURBED for one in histories for event in one.events)


@asynccontextmanager
async def server(case: Case, skipping: WorkflowEnvironment) -> AsyncGenerator[WorkflowEnvironment]:
    """The server that skips time, or a real one where the run shall continue as new."""
    if case.calls_others:
        async with dev_server() as env:
            await create_endpoint(env.client)
            address = env.client.service_client.config.target_host
            async with foreign_worker(address):
                yield env
        return
    if case.continue_after is None:
        yield skipping
        return
    async with suggesting_after(case.continue_after) as env:
        yield env


async def main(names: Sequence[str]) -> None:
    """Record all cases anew, or those with these names."""
    known = {case.name: case for case in cases()}
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"no such case: {', '.join(unknown)}; cases: {', '.join(known)}")
    if not names:
        for file in HISTORIES.glob(f"*.{own_version()}*.json"):
            file.unlink()  # also of cases that exist no more
    async with time_skipping() as skipping:
        for name in names or known:
            await _write(known[name], skipping)


async def _write(case: Case, skipping: WorkflowEnvironment) -> None:
    """Record the case, and prove that what was recorded replays."""
    for _ in range(_ATTEMPTS):
        runner = NumberedExecutions()
        async with server(case, skipping) as env:
            with tempfile.TemporaryDirectory() as folder:
                histories = await record(case, env, Path(folder), runner)
        if not disturbed(histories):
            break
    else:
        raise SystemExit(f"{case.name}: workflow tasks fail; try again on a machine that is idle")
    HISTORIES.mkdir(exist_ok=True)
    for file in case.files():
        file.unlink()
    for link, text in enumerate(as_texts(histories, runner.ids), 1):
        file = case.file(link)
        file.write_text(text)
        if differences := (await replay(read_history(file))).differences:
            raise SystemExit(f"{file.name} does not replay: {'; '.join(differences)}")
        print(f"recorded {file.name}")  # noqa: T201


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
    for module in DERIVED:
        runpy.run_module(module, run_name="__main__")
