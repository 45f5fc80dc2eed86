"""Records the histories that every later version must replay: `python -m tests.replay.record`.

Each case is a team file with answers and decisions beside it. A history is never edited and never
recorded again for a version that was released; new ones are added. With `--anew` those of a version
that was not released yet are recorded again: after a change of what is sent, kept or reported.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncGenerator, Collection, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import yaml
from pydantic import TypeAdapter
from temporalio import workflow
from temporalio.client import WorkflowFailureError, WorkflowHistory
from temporalio.testing import WorkflowEnvironment

from activities.contracts import CALL_SKILL
from coterie.replay.links import links
from coterie.storage.wire import data_converter
from coterie.version import own_version
from coterie.worker.plan_policy import PlanPolicy
from dsl.model.price import Price
from dsl.values import Json
from tests.support.engine import engine, time_skipping
from tests.support.project import BIN
from tests.support.simulation.late_task import NAME as LATE_TASK
from tests.support.simulation.late_task import LateTask

HERE = Path(__file__).parent
CASES = HERE / "cases"
HISTORIES = HERE / "histories"
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
    before: list[str]
    """Patches that the case takes. A second run is recorded without them, as older code did."""

    accepts_plans: bool
    """Whether the worker accepts plans that a run brings."""

    def files(self) -> dict[Path, Collection[str]]:
        """Return `{file of the first link: the patches that its run lacks}`."""
        first = HISTORIES / f"{self.name}.{own_version()}.json"
        made: dict[Path, Collection[str]] = {first: ()}
        if self.before:
            made[first.with_suffix(".before.json")] = self.before
        return made


def cases() -> list[Case]:
    """Every case, read from its files."""
    found: list[Case] = []
    for file in sorted(CASES.glob("*.script.yml")):
        script = cast("Json", yaml.safe_load(file.read_text()))
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
                accepts_plans=cast("bool", script.get("accepts_plans", True)),
                before=cast("list[str]", script.get("before", [])),
            )
        )
    return found


async def record(case: Case, env: WorkflowEnvironment, folder: Path) -> list[WorkflowHistory]:
    """Run the case to its end; its history, or one for each link when it continues as new."""
    late = LateTask()
    functions = {LATE_TASK: late.skill()}
    policy = [] if case.accepts_plans else [PlanPolicy(accept_plans=False)]
    async with engine(
        env,
        folder,
        case.answers,
        prices=case.prices,
        functions=functions,
        interceptors=policy,
    ) as running:
        team = late.plan(case.team) if LATE_TASK in case.team else case.team
        handle: Any = await running.start(team, case.context)
        for act in case.acts:
            await _act(act, handle, env, late)
        left = dict(case.decisions)
        while left:
            for id in [str(one["id"]) for one in await _pending(handle)]:
                answer = {"id": id, "decision": left.pop(id), "by": "ann", "comment": "so be it"}
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


async def _act(act: Json, handle: Any, env: WorkflowEnvironment, late: LateTask) -> None:
    match act:
        case {"late_task": "begun"}:
            await late.begun.wait()
        case {"late_task": "cancelled"}:
            while await _is_running(CALL_SKILL, handle):
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


def as_text(history: WorkflowHistory) -> str:
    """The history as a file of one line, with the run's id, which not every server writes."""
    started = history.events[0].workflow_execution_started_event_attributes
    started.workflow_id = history.workflow_id
    return json.dumps(json.loads(history.to_json()), separators=(",", ":")) + "\n"


@asynccontextmanager
async def server(case: Case) -> AsyncGenerator[WorkflowEnvironment]:
    """A server that skips time, or the real one where the run shall continue as new."""
    if case.continue_after is None:
        async with time_skipping() as env:
            yield env
        return
    setting = f"limit.historyCount.suggestContinueAsNew={case.continue_after}"
    start: Any = WorkflowEnvironment.start_local  # pyright: ignore
    async with await start(
        dev_server_existing_path=str(BIN / "temporal"),
        dev_server_extra_args=["--dynamic-config-value", setting],
        data_converter=data_converter,
    ) as env:
        yield env


async def main() -> None:
    """Record every case that has no history of this version."""
    if "--anew" in sys.argv:
        for file in HISTORIES.glob(f"*.{own_version()}*.json"):
            file.unlink()
    for case in cases():
        for first, missing in case.files().items():
            if not first.exists():
                await _write(case, first, missing)


async def _write(case: Case, first: Path, missing: Collection[str]) -> None:
    """Record the case into one file for each link; the run lacks some patches."""
    with without_patches(missing):
        async with server(case) as env:
            with tempfile.TemporaryDirectory() as folder:
                histories = await record(case, env, Path(folder))
    for link, history in enumerate(histories, 1):
        file = first if link == 1 else first.with_suffix(f".link{link}.json")
        file.write_text(as_text(history))
        print(f"recorded {file.name}")  # noqa: T201


@contextmanager
def without_patches(missing: Collection[str]) -> Generator[None]:
    """Run workflows as the code did before some patches: they take the old side, and ask nothing.

    The workflow sandbox hands `temporalio.workflow` through, so this holds inside it, too.
    """
    asked = workflow.patched

    def patched(id: str) -> bool:
        return id not in missing and asked(id)

    workflow.patched = patched
    try:
        yield
    finally:
        workflow.patched = asked


if __name__ == "__main__":
    asyncio.run(main())
