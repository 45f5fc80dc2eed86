"""`Python.run`: run Python code that a model wrote, in a sandbox with limits.

The code computes on values: it has no files, no network, no imports and no other tools.
"""

from pydantic import Field, JsonValue, TypeAdapter

from coterie.activities.contracts import FailureType
from coterie.activities.process_pool.work import Work, WorkEnded
from coterie.activities.skills.compute.python_sandbox import CodeFailed, CodeLimits, run_code
from coterie.activities.workspace.skill_base import Skill, SkillContext
from coterie.activities.workspace.skill_failures import SkillFailure
from coterie.dsl.schema_keys import KIND
from coterie.dsl.values import Documented, Frozen

MAX_SECONDS = 30.0
MAX_MEMORY_MB = 512


class PythonInput(Documented):
    """The code and its inputs."""

    code: str = Field(min_length=1, max_length=50_000, json_schema_extra={KIND: "code"})
    """Python without imports. The value of the last expression is the result. The modules base64,
    collections, datetime, decimal, functools, hashlib, itertools, json, math, random and re are
    there already. Not supported: inheritance, `yield`, `del`, properties."""
    inputs: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue], max_length=50)
    """Variables of the code, by name."""
    max_seconds: float = Field(default=5.0, gt=0, le=MAX_SECONDS)
    """How long it may run."""
    max_memory_mb: int = Field(default=128, ge=1, le=MAX_MEMORY_MB)
    """How much memory it may use."""


class PythonResult(Documented):
    """What the code returned and printed."""

    value: JsonValue
    """The value of the last expression as JSON: sets and tuples are lists, dates and decimals are
    texts; null without a last expression. Other values, such as ranges and NaN, are failures."""
    printed: str
    """What it printed; long output lacks its middle."""
    cut: bool
    """Whether `printed` lacks its middle."""
    seconds: float
    """How long it ran."""


class CodeEnd(Frozen):
    """How code ended."""

    result: PythonResult | None = None
    failure: str = ""
    """Why there is no result, for its writer."""


async def run_python(value: PythonInput, context: SkillContext) -> PythonResult:
    """Run code.

    Raises:
        SkillFailure: It has an error, exceeds a limit, or its value is not JSON.
    """
    for name in value.inputs:
        if not name.isidentifier() or name.startswith("_"):
            raise SkillFailure(f"the input {name!r} is not a name of a variable")
    try:
        end = await context.runner.run(EVALUATE_CODE, value)
    except WorkEnded as ended:
        raise SkillFailure(f"the code did not end: {ended}", may_pass=ended.limit is None) from None
    if end.result is None:
        raise SkillFailure(end.failure)
    return end.result


def evaluate_code(value: PythonInput) -> CodeEnd:
    """Run code in a sandbox; blocking."""
    limits = CodeLimits(value.max_seconds, value.max_memory_mb << 20)
    try:
        result = run_code(value.code, value.inputs, limits)
    except CodeFailed as failure:
        return CodeEnd(failure=str(failure))
    return CodeEnd(
        result=PythonResult(
            value=result.value,
            printed=result.printed.text(),
            cut=result.printed.cut,
            seconds=result.seconds,
        )
    )


EVALUATE_CODE = Work[PythonInput, CodeEnd](
    "coterie.activities.skills.compute.python_code:EVALUATE_CODE",
    "coterie.activities.skills.compute.python_code:evaluate_code",
    TypeAdapter(PythonInput),
    TypeAdapter(CodeEnd),
    cpu=60,
)


RUN_PYTHON = Skill[PythonInput, PythonResult](
    name="Python.run",
    description="Runs Python code in a sandbox without files, network or imports.",
    effect="read",
    input=TypeAdapter(PythonInput),
    output=TypeAdapter(PythonResult),
    run=run_python,
    timeout=60.0,
    errors={
        FailureType.SKILL_REFUSED: "the code imports, opens files, or reaches other code; the "
        "message names the part",
        FailureType.SKILL_FAILED: "the code raises an error, exceeds its time, memory or recursion "
        "limit, or its value is not JSON; the message has its traceback",
    },
)
