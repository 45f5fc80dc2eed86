"""The test file that a recorded run becomes: its answers, its people and its end.

`python -m tests.unit.coterie.runs.test_recorded_tests` writes the expected files anew.
"""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest
import yaml
from temporalio.client import WorkflowHistory

from coterie.activities.contracts import FunctionRequest, FunctionResult, KeptResult
from coterie.activities.storage.blobs import MemoryBlobs
from coterie.dsl.values import Json, JsonValue
from coterie.failures import CommandError
from coterie.runs.histories.recorded_calls import RecordedCall
from coterie.testing.recording.recorder import recorded, recorded_run, stored_results
from tests.support.servers.recorded_client import Recorded, client_of
from tests.unit.coterie.runs.test_recorded_runs import history

FILES = Path(__file__).parents[3] / "data" / "recorded_tests"
RUNS = (
    "asked_on_failure",
    "batch",
    "chosen_personas",
    "consents",
    "context_updates",
    "declared_context",
    "egress",
    "every_kind",
    "fan_out",
    "hooks",
    "limit",
    "local_tools",
    "review_loop",
    "steered",
    "step_bounds",
    "strategies",
    "task_graph",
    "terms",
    "tool_agent",
)


async def document_of(name: str, workspace: str | None = None) -> Json:
    run = history(name)
    own = WorkflowHistory(f"{name}-1", run.events)  # its id when it was recorded
    client = await client_of(Recorded([own]))
    document = recorded(
        await recorded_run(client, own.workflow_id), team="team.yml", workspace=workspace
    )
    return document.model_dump(mode="json", exclude_unset=True)


def lasting(value: JsonValue, key: str = "") -> JsonValue:
    """The same without what each recording has of its own: its moments, and names of chance."""
    match value:
        case dict():
            kept = {name: one for name, one in value.items() if name not in ("at", "seconds")}
            return {name: lasting(one, name) for name, one in kept.items()}
        case list():
            return [lasting(one) for one in value]
        case float() if key == "after":
            return round(value / 60) * 60
        case str() if key == "backup":
            return value.partition("-")[0]
        case _:
            return value


@pytest.mark.parametrize("name", RUNS)
async def test_a_recorded_run_becomes_the_same_test(name: str) -> None:
    expected = yaml.safe_load((FILES / f"{name}.yml").read_text())
    assert lasting(await document_of(name)) == expected


@pytest.mark.parametrize("name", RUNS)
async def test_no_two_recorded_answers_fit_one_call(name: str) -> None:
    """Rounds, branches and tasks of a graph ask under one name; a batch is asked for many times."""
    numbers = ("task", "visit", "turn", "reask", "compaction", "contains")
    answers: dict[str, JsonValue] = {}
    for entry in cast("list[Json]", (await document_of(name))["answers"]):
        call = str([entry.get(key) for key in numbers])
        answer = {key: entry.get(key) for key in ("answer", "tool_calls", "error", "stop_reason")}
        assert answers.setdefault(call, answer) == answer


async def test_a_result_that_the_history_only_names_is_recorded_whole() -> None:
    blobs, whole = MemoryBlobs(), {"text": "a long page " * 99}
    kept = KeptResult(
        name=await blobs.put(json.dumps(whole).encode(), "one"), size=1, preview='{"text'
    )
    request = FunctionRequest(skill="Files.read", key="one/e1/t/s#1", input={})
    call = RecordedCall("1", "t/s", 1, datetime.now(UTC), request, answer=FunctionResult(kept=kept))
    assert await stored_results([call], blobs, "one") == {kept.name: whole}
    for storage, words in ((None, "set COTERIE_STORAGE"), (MemoryBlobs(), "is not stored")):
        with pytest.raises(CommandError, match=words):
            await stored_results([call], storage, "one")


async def test_a_test_with_a_workspace_runs_functions_instead_of_repeating_their_results() -> None:
    without, within = await document_of("local_tools"), await document_of("local_tools", "project")
    assert without["functions"]
    assert "workspace" not in without
    assert "functions" not in within
    assert within["workspace"] == "project"


def write() -> None:
    """Write each expected file from its history."""
    for name in RUNS:
        made = yaml.safe_dump(
            lasting(asyncio.run(document_of(name))), sort_keys=False, allow_unicode=True
        )
        (FILES / f"{name}.yml").write_text(made)


if __name__ == "__main__":
    write()
