"""The skills of a test: real ones on the case's workspace, but for those that the file plays."""

from collections.abc import Sequence

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.contracts import CALL_SKILL, SkillRequest, SkillResult
from activities.skills.skill_activity import SkillActivities
from activities.workspace.skill_base import Workspace
from coterie.testing.files.test_document import SkillResultDocument
from dsl.model.step_paths import without_rounds


class StubSkills:
    """Runs skills, or gives what the file says that they came to."""

    def __init__(self, workspace: Workspace, played: Sequence[SkillResultDocument]) -> None:
        self._real = SkillActivities(workspace)
        self._played = played
        self.used: set[int] = set()
        """Which entries came to pass, by their place."""

    @activity.defn(name=CALL_SKILL)
    async def call_skill(self, request: SkillRequest) -> SkillResult:
        """One call of a skill.

        Raises:
            ApplicationError: it failed, really or as the file says.
        """
        entry = self._entry(request)
        if entry is None:
            return await self._real.call_skill(request)
        if entry.error is not None:
            raise ApplicationError(entry.error.message, type=entry.error.type, non_retryable=True)
        return SkillResult(data=entry.data)

    def _entry(self, request: SkillRequest) -> SkillResultDocument | None:
        """The first entry for this execution of the step, else the first for every one."""
        # The key of a call is `run/team/path#count`, and a run of a test has no `/` in its id.
        step, _, count = request.key.partition("/")[2].rpartition("#")
        fitting = [
            (entry.visit is None, number, entry)
            for number, entry in enumerate(self._played)
            if entry.step in (step, without_rounds(step)) and entry.visit in (None, int(count))
        ]
        if not fitting:
            return None
        _, number, entry = min(fitting, key=lambda fit: fit[:2])
        self.used.add(number)
        return entry
