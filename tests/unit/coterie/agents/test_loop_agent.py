"""`Agent` is a door to the team `agent_loop`: what goes in, and what a program gets back."""

import inspect
import logging
from pathlib import Path
from typing import Any

import pytest

from coterie.agents import LLM, Agent, InvalidTeam, LoopState, TaskStatus, TeamRunError
from coterie.agents.loop_agent import loop_state
from coterie.agents.team_program import FinishedRun, RunnableTeam

CONTEXT: dict[str, Any] = {
    "planned": [
        {
            "id": "look",
            "description": "Look.",
            "dependencies": [],
            "required_tools": ["file_read"],
            "estimated_complexity": "low",
            "fallback": "skip",
        },
        {"id": "mend", "description": "Mend.", "dependencies": ["look"], "fallback": "ask"},
    ],
    "thought_history": ["First I look."],
    "action_history": [{"task_id": "look", "action": {"response": "Seen."}}],
    "learnings": ["It is simple."],
    "state": {
        "goal": "Mend it.",
        "success": False,
        "iterations": 2,
        "completed": False,
        "tasks": [
            {"id": "look", "status": "completed", "because": "it succeeded", "data": {"x": 1}},
            {"id": "mend", "status": "failed", "because": "no attempt is left", "attempts": 1},
            {"id": "task_1", "status": "blocked", "because": "'mend' failed"},
        ],
    },
}
SIGNATURE = (
    "(self, llm: coterie.agents.loop_agent.AgentModel, max_iterations: int = 10, "
    "enable_planning: bool = True, enable_reflection: bool = True, "
    "logger: logging.Logger | None = None) -> None"
)


def state(completed: bool = False, context: dict[str, Any] | None = None) -> LoopState:
    end = FinishedRun("agent_loop-1", completed, None, context or CONTEXT, "GoalNotReached: mend")
    return loop_state(end, "Mend it.", 5)


def test_the_arguments_and_their_defaults_are_those_of_the_design() -> None:
    assert str(inspect.signature(Agent.__init__)) == SIGNATURE
    assert list(inspect.signature(Agent.execute).parameters) == ["self", "goal", "context"]


def test_a_state_has_each_task_with_what_was_planned_and_how_it_ended() -> None:
    ended = state()
    assert [task.status for task in ended.tasks] == [
        TaskStatus.COMPLETED,
        TaskStatus.FAILED,
        TaskStatus.BLOCKED,
    ]
    look, mend, other = ended.tasks
    assert (look.description, look.result, look.error) == ("Look.", {"x": 1}, None)
    assert look.metadata == {
        "tools": ["file_read"],
        "complexity": "low",
        "fallback": "skip",
        "attempts": 0,
    }
    assert (mend.dependencies, mend.error) == (("look",), "no attempt is left")
    assert other.description == "Mend it."  # without a plan, the goal is the task
    assert ended.metadata["learnings"] == ["It is simple."]
    assert (ended.iteration, ended.max_iterations, ended.current_task_id) == (2, 5, "look")
    assert (ended.success, ended.completed, ended.error) == (False, False, "GoalNotReached: mend")


def test_a_run_that_ended_before_its_plan_is_a_state_without_tasks() -> None:
    ended = state(context={"goal": "Mend it."})
    assert (ended.tasks, ended.iteration, ended.success) == ((), 0, False)


async def test_the_context_becomes_details_and_the_folder_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    given: dict[str, Any] = {}

    async def run(self: RunnableTeam, context: dict[str, Any], *, id: str) -> FinishedRun:
        given.update(context)
        return FinishedRun(id, True, None, {"state": {"success": True}})

    monkeypatch.chdir(tmp_path)
    (tmp_path / "inner").mkdir()
    monkeypatch.setattr(RunnableTeam, "run", run)
    caplog.set_level(logging.INFO)
    ended = await Agent(LLM(), 3, enable_reflection=False).execute(
        "Mend it.", {"repo_path": "inner", "files": ["a.py"]}
    )
    assert given == {
        "goal": "Mend it.",
        "details": {"files": ["a.py"]},
        "planning": True,
        "reflection": False,
        "max_iterations": 3,
    }
    assert ended.success
    assert f"coterie watch {ended.run_id}" in caplog.text
    assert "reached its goal" in caplog.text


@pytest.mark.parametrize(
    ("llm", "context", "error", "message"),
    [
        (LLM(config_path="gone.yml"), {}, InvalidTeam, "gone.yml could not be read"),
        (LLM(), {"repo_path": "gone"}, InvalidTeam, "gone is not a folder"),
        (LLM(model="anthropic/claude-opus-5-5"), {}, TeamRunError, "ANTHROPIC_API_KEY"),
    ],
)
async def test_what_is_wrong_is_said_before_a_run_starts(
    llm: LLM,
    context: dict[str, Any],
    error: type[Exception],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(error, match=message):
        await Agent(llm).execute("Mend it.", context)
