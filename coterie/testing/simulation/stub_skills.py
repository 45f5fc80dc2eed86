"""Stub skills: real ones on the case's workspace, except those with results in the file."""

from collections.abc import Sequence

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.contracts import CALL_SKILL, SkillRequest, SkillResult
from activities.skills.skill_activity import SkillActivities
from activities.workspace.skill_base import Workspace
from coterie.testing.files.test_document import SkillResultDocument
from dsl.model.step_paths import without_rounds
from workflows.core.state_keys import SkillCallKey


class StubSkills:
    """Runs skills, or returns their results from the file."""

    def __init__(self, workspace: Workspace, played: Sequence[SkillResultDocument]) -> None:
        self._real = SkillActivities(workspace)
        self._played = played
        self.used: set[int] = set()
        """Indexes of the entries that were used."""

    @activity.defn(name=CALL_SKILL)
    async def call_skill(self, request: SkillRequest) -> SkillResult:
        """Run one skill.

        Raises:
            ApplicationError: It failed, really or according to the file.
        """
        entry = self._entry(request)
        if entry is None:
            return await self._real.call_skill(request)
        if entry.error is not None:
            raise ApplicationError(entry.error.message, type=entry.error.type, non_retryable=True)
        return SkillResult(data=entry.data)

    def _entry(self, request: SkillRequest) -> SkillResultDocument | None:
        """Return the first entry for this execution of the step, else the first for all."""
        key = SkillCallKey(request.key)
        names = (key.step, without_rounds(key.step))
        fitting = [
            (entry.visit is None, number, entry)
            for number, entry in enumerate(self._played)
            if entry.step in names and entry.visit in (None, key.execution)
        ]
        if not fitting:
            return None
        _, number, entry = min(fitting, key=lambda fit: fit[:2])
        self.used.add(number)
        return entry
