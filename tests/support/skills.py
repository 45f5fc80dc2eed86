"""A workspace, and skills called as Temporal calls them."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from pydantic import JsonValue
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.contracts import SkillRequest
from activities.skills.activity import SkillActivities
from activities.skills.base import Workspace
from activities.skills.registry import SKILLS, AnySkill


def environment(attempt: int = 1, heartbeat_timeout: float = 30.0) -> ActivityEnvironment:
    """Where activities run without a server."""
    made = ActivityEnvironment()
    made.info = replace(
        made.info, attempt=attempt, heartbeat_timeout=timedelta(seconds=heartbeat_timeout)
    )
    return made


async def call(
    workspace: Workspace,
    skill: str,
    input: JsonValue = None,
    *,
    key: str = "run-1/coder#1/apply",
    at: ActivityEnvironment | None = None,
    skills: Mapping[str, AnySkill] = SKILLS,
) -> JsonValue:
    """Call a skill by its name; what it returned, or the ApplicationError that Temporal sees."""
    activities = SkillActivities(workspace, skills)
    request = SkillRequest(skill=skill, input=input, key=key)
    result = await (at or environment()).run(activities.call_skill, request)
    return result.data


async def refusal(workspace: Workspace, skill: str, input: JsonValue = None) -> ApplicationError:
    """The error that a call ends in."""
    try:
        result = await call(workspace, skill, input)
    except ApplicationError as error:
        return error
    raise AssertionError(f"{skill} was expected to fail and returned {result}")


async def said(fifo: Path) -> str:
    """Wait until somebody writes into a named pipe; the test's own timeout bounds it."""
    return await asyncio.to_thread(fifo.read_text)


def files(root: Path) -> dict[str, str]:
    """The texts of a project by path, without the state directory."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes().decode()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".coterie" not in path.parts
    }
