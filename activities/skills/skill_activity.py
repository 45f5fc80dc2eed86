"""The activity that runs skills: every rule that all skills share, in one place."""

import asyncio
from collections.abc import Mapping

from pydantic import JsonValue
from pydantic_core import to_json
from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.attempts import confirm_attempt
from activities.contracts import CALL_SKILL, FailureType, SkillRequest, SkillResult
from activities.heartbeats import heartbeating
from activities.metering import Meter
from activities.os_errors import reason_of, shown_path
from activities.skills.skill_registry import SKILLS, AnySkill, find_skill
from activities.workspace.skill_base import (
    OutcomeLost,
    SkillContext,
    SkillFailure,
    SkillRefusal,
    Workspace,
)

MAX_RESULT_SIZE = 1_500_000
"""Bytes of JSON; Temporal takes 2 MiB a payload."""


def _attempt() -> int:
    return activity.info().attempt if activity.in_activity() else 1


class SkillActivities:
    """Runs skills on one workspace."""

    def __init__(self, workspace: Workspace, skills: Mapping[str, AnySkill] = SKILLS) -> None:
        self._workspace = workspace
        self._skills = skills

    @activity.defn(name=CALL_SKILL)
    async def call_skill(self, request: SkillRequest) -> SkillResult:
        """Run one skill: input checked, heartbeats while it runs, output checked.

        Raises:
            ApplicationError: its type is a FailureType; only what may pass is tried again.
        """
        meter = Meter.of_activity()
        try:
            skill = find_skill(request.skill, self._skills)
            if skill.effect == "once" and _attempt() > 1:
                raise _unknown(skill, "its first attempt was lost", meter)
            async with heartbeating(meter.told):
                data = await self._called(skill, request, meter)
        except SkillRefusal as refusal:
            raise ApplicationError(
                str(refusal), *meter.told(), type=FailureType.SKILL_REFUSED, non_retryable=True
            ) from None
        except SkillFailure as failure:
            raise ApplicationError(
                str(failure),
                *meter.hand_on(),
                type=FailureType.SKILL_FAILED,
                non_retryable=not failure.may_pass,
            ) from None
        except OSError as error:
            raise ApplicationError(
                f"{request.skill} met an error of the system: {self._told(error)}",
                *meter.hand_on(),
                type=FailureType.SKILL_FAILED,
            ) from None
        except asyncio.CancelledError:
            cut = meter.cut_off()
            if cut is not None:
                raise cut from None
            raise
        _refuse_huge(request.skill, data)
        return SkillResult(data=data, seconds=meter.seconds)

    async def _called(self, skill: AnySkill, request: SkillRequest, meter: Meter) -> JsonValue:
        """The skill; what may happen only once and is broken off may have happened or not."""
        context = SkillContext(workspace=self._workspace, key=request.key, run=_run_id(request))
        if skill.effect != "once":
            return await skill.call(request.input, context)
        await confirm_attempt()
        try:
            return await skill.call(request.input, context)
        except (SkillRefusal, SkillFailure):
            raise
        except asyncio.CancelledError:
            if activity.in_activity() and activity.is_worker_shutdown():
                raise _unknown(skill, "its worker was stopped meanwhile", meter) from None
            raise
        except OutcomeLost as lost:
            raise _unknown(skill, str(lost), meter) from None
        except OSError as error:
            why = f"it met an error of the system: {self._told(error)}"
            raise _unknown(skill, why, meter) from None

    def _told(self, error: OSError) -> str:
        """Reason and path; of a file outside the workspace not the folders above it."""
        reason, path = reason_of(error), error.filename
        if not isinstance(path, str):
            return reason
        return f"{reason}: {shown_path(path, self._workspace.root)!r}"


def _unknown(skill: AnySkill, why: str, meter: Meter) -> ApplicationError:
    return ApplicationError(
        f"whether {skill.name} was done is unknown: {why}; what may happen only once is not "
        "tried again",
        *meter.told(),
        type=FailureType.OUTCOME_UNKNOWN,
        non_retryable=True,
    )


def _run_id(request: SkillRequest) -> str:
    if activity.in_activity():
        return activity.info().workflow_id or ""
    return request.key.partition("/")[0]


def _refuse_huge(skill: str, data: JsonValue) -> None:
    try:
        size = len(to_json(data))
    except ValueError as error:
        raise ApplicationError(
            f"the result of {skill} holds what JSON has not: {error}",
            type=FailureType.SKILL_FAILED,
            non_retryable=True,
        ) from None
    if size > MAX_RESULT_SIZE:
        raise ApplicationError(
            f"the result of {skill} has {size} bytes, and at most {MAX_RESULT_SIZE} fit into a "
            "run's history; narrow the input (fewer files, a smaller max_bytes)",
            type=FailureType.SKILL_FAILED,
            non_retryable=True,
        )
