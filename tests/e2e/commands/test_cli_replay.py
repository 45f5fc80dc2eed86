"""`replay`: the same code decides the same; other decisions are noticed, also with equal calls."""

import asyncio
import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from pathlib import Path

import pytest

from coterie.dsl.values import Json
from tests.support.cli import asks, sentence
from tests.support.project import Project, until

DECISIONS = "- {approval: '*', decision: approve, by: the-test}\n"


@pytest.fixture(scope="module")
def recorded(desk: Project) -> Path:
    """The history of a finished run, as the `temporal` CLI writes it."""
    (desk.folder / "d.yml").write_text(DECISIONS)
    done = desk.coterie(
        "run", "article", "--set", "topic=rain", "--decisions", "d.yml", "--id", "recorded"
    )
    assert done.returncode == 0, done.stderr
    file = desk.folder / "recorded.json"
    file.write_text(desk.temporal("workflow", "show", "-w", "recorded", "-o", "json"))
    return file


def with_another_plan(recorded: Path, change: Callable[[str], str]) -> Path:
    """The same history, as if another plan had been started."""
    history = json.loads(recorded.read_text())
    attributes = history["events"][0]["workflowExecutionStartedEventAttributes"]
    [payload] = attributes["input"]["payloads"]
    given: Json = json.loads(change(b64decode(payload["data"]).decode()))
    payload["data"] = b64encode(json.dumps(given).encode()).decode()
    file = recorded.with_name("changed.json")
    file.write_text(json.dumps(history))
    return file


def test_a_run_on_the_server_replays_with_its_decisions(desk: Project, recorded: Path) -> None:
    done = desk.coterie("replay", "recorded")
    assert done.returncode == 0, done.stderr
    assert "the same calls and the same 8 decisions" in done.stdout


def test_a_history_from_a_file_replays_without_a_server(
    quiet_desk: Project, recorded: Path
) -> None:
    done = quiet_desk.coterie("replay", str(recorded))
    assert done.returncode == 0, done.stderr
    assert "the same calls and the same 8 decisions" in done.stdout
    assert not (quiet_desk.folder / ".coterie" / "temporal.db").exists()


def test_another_decision_with_the_same_calls_is_noticed(
    quiet_desk: Project, recorded: Path
) -> None:
    """The engine's own replay misses it: arguments and results are not compared there."""
    text = '"text":"{{ tasks.draft.data.text }}"'
    file = with_another_plan(
        recorded, lambda plan: plan.replace(text, f'{text},"topic":"another topic"')
    )
    done = quiet_desk.coterie("replay", str(file))
    assert done.returncode == 1
    assert "decides differently now" in sentence(done)
    assert 'context.topic: recorded "rain", now "another topic"' in done.stdout
    assert "trail_digest: recorded" in done.stdout


def test_a_start_that_is_refused_now_says_why(quiet_desk: Project, recorded: Path) -> None:
    file = with_another_plan(
        recorded, lambda text: text.replace('"entry_team":"writing"', '"entry_team":"nowhere"')
    )
    done = quiet_desk.coterie("replay", str(file))
    assert done.returncode == 1
    assert "it ends with: the plan has no team 'nowhere'" in done.stdout


def test_other_calls_are_noticed(quiet_desk: Project, recorded: Path) -> None:
    file = with_another_plan(recorded, lambda text: text.replace('"judge"', '"referee"'))
    done = quiet_desk.coterie("replay", str(file))
    assert done.returncode == 1
    assert "Nondeterminism" in done.stdout


def test_a_failed_run_replays_too(desk: Project) -> None:
    assert desk.coterie("run", "failing", "--set", "topic=x", "--id", "sad").returncode == 1
    done = desk.coterie("replay", "sad")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the same calls and the same" in done.stdout


def test_a_refused_run_replays_to_its_refusal(desk: Project) -> None:
    desk.temporal(
        "workflow",
        "start",
        "--type",
        "TeamWorkflow",
        "--task-queue",
        "coterie",
        "--workflow-id",
        "refused",
        "--input",
        '{"plan": {"name": 1}}',
    )
    worker = desk.begin("worker")
    assert desk.coterie("result", "refused").returncode == 1
    worker.terminate()
    worker.wait(60)
    done = desk.coterie("replay", "refused")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the same end: this is not the input of a run" in done.stdout


def test_every_open_run_is_replayed_in_a_line_each(desk: Project) -> None:
    """Before a deployment; a run that waits for a person is one of them."""
    worker = desk.begin("worker")
    for name in ("open-a", "open-b"):
        assert desk.coterie("start", "article", "--set", "topic=x", "--id", name).returncode == 0
    asyncio.run(asks(desk, "open-a"))
    asyncio.run(asks(desk, "open-b"))
    chosen = "WorkflowId STARTS_WITH 'open-'"
    until(lambda: "2 of 2" in desk.coterie("replay", "--open", "--query", chosen).stderr, "both")
    done = desk.coterie("replay", "--open", "--query", chosen, "--html", "upgrade.html")
    assert done.returncode == 0, done.stderr
    page = (desk.folder / "upgrade.html").read_text()
    assert "Nothing would be decided differently." in page
    assert ("open-a" in page, "open-b" in page) == (True, True)
    rows = sorted(done.stdout.splitlines())
    assert [row.split()[:2] for row in rows] == [["same", "open-a"], ["same", "open-b"]]
    assert "it is still open, and its worker reports the same 5 decisions" in rows[0]
    one = desk.coterie("replay", "--open", "--query", chosen, "--limit", "1")
    assert "1 of 1 run the same" in one.stderr
    for name in ("open-a", "open-b"):
        desk.temporal("workflow", "terminate", "-w", name)
    worker.terminate()
    worker.wait(60)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name a history file or a run, or replay all open runs with --open"),
        (("a", "--open"), "name a history file or a run, or replay all open runs with --open"),
        (("a", "--limit", "3"), "add --open"),
        (("--open", "--limit", "0"), "'0' is not a number of runs"),
        (("--open", "--query", "Colour = 1"), "could not list runs"),
    ],
)
def test_a_mistaken_call_is_reported(
    desk: Project, arguments: tuple[str, ...], message: str
) -> None:
    done = desk.coterie("replay", *arguments)
    assert done.returncode == 2
    assert message in sentence(done)
