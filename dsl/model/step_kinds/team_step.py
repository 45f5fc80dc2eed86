"""The step that runs another team."""

from typing import ClassVar, Literal

from typing_extensions import override

from coterie.dsl.model.step_kinds.step_base import StepBase
from coterie.dsl.values import Json


class TeamStep(StepBase):
    """Runs another team, which follows its own routing to its end."""

    implied_by: ClassVar = ("team",)
    filled: ClassVar = ("input",)
    fails_itself: ClassVar = True

    kind: Literal["team"]
    team: str
    input: Json | None = None
    """Merged over the team's copy of the context."""

    @property
    @override
    def contains_calls(self) -> bool:
        return True
