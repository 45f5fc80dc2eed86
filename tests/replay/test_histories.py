"""Histories of every released version replay, and decide what they decided."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer

from coterie.dsl.evaluate.context_writes import ContextWrite
from coterie.dsl.evaluate.routing import Route, choose
from coterie.dsl.model.facts import Facts
from coterie.dsl.model.plan import Team
from coterie.replay.replay import replay
from coterie.storage.wire import data_converter
from coterie.workflows import interpreter
from coterie.workflows.team import TeamWorkflow
from tests.replay.record import HISTORIES, cases
from tests.support.watching.prepared_sandbox import prepared_sandbox

FILES = sorted(HISTORIES.glob("*.json"))


def history(file: Path) -> WorkflowHistory:
    """Under the run's own id, which the keys of functions and the ids of notices are made of."""
    found = json.loads(file.read_text())
    started = found["events"][0]["workflowExecutionStartedEventAttributes"]
    return WorkflowHistory.from_json(started["workflowId"], found)


def test_every_case_has_its_history() -> None:
    assert {case.name for case in cases()} == {file.name.split(".")[0] for file in FILES}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
async def test_a_history_replays_and_decides_the_same(file: Path) -> None:
    replayed = await replay(history(file))
    assert replayed.end is not None
    assert replayed.differences == (), (
        "meant, and no version was released since? then: python -m tests.replay.record --anew"
    )


@pytest_asyncio.fixture(scope="module", loop_scope="session", params=[False, True])
async def sandboxed(request: pytest.FixtureRequest) -> dict[str, Exception | None]:
    """What one replayer says of each history: to make a replayer takes as long as to replay."""
    replayer = Replayer(
        workflows=[TeamWorkflow],
        workflow_runner=prepared_sandbox(everything=request.param),
        data_converter=data_converter,
        build_id="test",
    )

    async def each() -> AsyncIterator[WorkflowHistory]:
        for file in FILES:
            yield history(file)

    async with replayer.workflow_replay_iterator(each()) as results:
        failures = [result.replay_failure async for result in results]
    return dict(zip([file.stem for file in FILES], failures, strict=True))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_history_replays_inside_the_sandbox(
    file: Path, sandboxed: dict[str, Exception | None]
) -> None:
    assert sandboxed[file.stem] is None


async def test_a_changed_routing_is_seen_though_its_commands_are_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The plain replayer compares commands only; an altered context update makes none."""
    [file] = [file for file in FILES if file.name.startswith("review_loop")]

    def altered(team: Team, facts: Facts) -> Route:
        route = choose(team, facts)
        return replace(
            route, writes=tuple(ContextWrite(write.path, "altered") for write in route.writes)
        )

    monkeypatch.setattr(interpreter, "choose", altered)
    replayed = await replay(history(file))
    text = " ".join(replayed.differences)
    assert "trail_digest" in text
    assert "context.work" in text
    assert "TMPRL" not in text, "Temporal's own replayer has nothing to say"
