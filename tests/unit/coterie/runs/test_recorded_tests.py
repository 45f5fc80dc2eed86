"""The test file that a recorded run becomes: its answers, its people and its end.

`python -m tests.unit.coterie.runs.test_recorded_tests` writes the expected files anew.
"""

import asyncio
from pathlib import Path

import pytest
import yaml

from coterie.testing.recording.recorder import recorded, recorded_run
from dsl.values import Json, JsonValue
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
    client = await client_of(Recorded([history(name)]))
    document = recorded(await recorded_run(client, name), team="team.yml", workspace=workspace)
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


async def test_a_test_with_a_workspace_runs_skills_instead_of_repeating_their_results() -> None:
    without, within = await document_of("local_tools"), await document_of("local_tools", "project")
    assert without["skills"]
    assert "workspace" not in without
    assert "skills" not in within
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
