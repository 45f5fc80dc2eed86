"""`AgentSkills.use`: read an agent skill, or one of its files, as the run's plan has it."""

from pydantic import Field, TypeAdapter

from coterie.activities.contracts import FailureType
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction
from coterie.activities.workspace.function_failures import FunctionRefusal
from coterie.dsl.model.agent_skills import MAIN_FILE, SKILL_FUNCTION
from coterie.dsl.schema_keys import KIND
from coterie.dsl.values import Documented


class SkillRead(Documented):
    """What to read of which skill."""

    name: str = Field(min_length=1, max_length=64)
    """The skill."""
    file: str = Field(
        default=MAIN_FILE, min_length=1, max_length=500, json_schema_extra={KIND: "path"}
    )
    """One of its files, as its instructions name it; without it, the instructions."""
    start_line: int = Field(default=1, ge=1)
    """The first line to read, from 1."""


async def read_excerpt(value: SkillRead, context: FunctionContext) -> str:
    """Return the part of the skill that came with the call.

    Raises:
        FunctionRefusal: The plan does not have it, or no run makes the call.
    """
    excerpt = context.skill_excerpt
    if excerpt is None:
        raise FunctionRefusal(
            "agent skills belong to the plan of a run, and no run makes this call"
        )
    if excerpt.refusal:
        raise FunctionRefusal(excerpt.refusal)
    return excerpt.text


USE = ToolFunction[SkillRead, str](
    name=SKILL_FUNCTION,
    description="Reads the instructions of an agent skill, or one of its files.",
    effect="read",
    input=TypeAdapter(SkillRead),
    output=TypeAdapter(str),
    run=read_excerpt,
    timeout=2.0,
    retries=0,
    errors={
        FailureType.FUNCTION_REFUSED: "the run's plan has no such skill, file or line, or the file "
        "is not a text",
        FailureType.FUNCTION_FAILED: "the system reported an error",
    },
    local_activity=True,
)
