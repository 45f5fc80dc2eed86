"""`Python.run`: run Python code that a model wrote. In code mode, the code calls tools.

Then the code stops at its calls with its state stored, and the next activity continues it: the same
state and the same answers always give the same end.
"""

import base64

from pydantic import JsonValue, TypeAdapter
from pydantic_core import from_json

from coterie.activities.contracts import (
    CodeAnswer,
    CodeState,
    CodeTurn,
    FailureType,
    SuspendedCode,
)
from coterie.activities.process_pool.work import WorkEnded
from coterie.activities.storage.absences import may_come_back
from coterie.activities.storage.blobs import BlobMissing, BlobsUnusable
from coterie.activities.tool_functions.compute.code_program import (
    RUN_PART,
    PartEnd,
    ProgramPart,
    ResolvedAnswer,
)
from coterie.activities.tool_functions.compute.python_code import (
    EVALUATE_CODE,
    MAX_SECONDS,
    PythonInput,
    PythonResult,
)
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction
from coterie.activities.workspace.function_failures import FunctionFailure

_MAX_INLINE = 1_000
"""Bytes of a state that the history holds itself."""
_MAX_WITHOUT_STORAGE = 500_000
"""Bytes of a state in a history, where the worker has no storage."""


class CodeSuspended(Exception):
    """The code waits for calls of tools; nothing has failed."""

    def __init__(self, suspended: SuspendedCode) -> None:
        self.suspended = suspended
        super().__init__("the code waits for calls of tools")


async def run_python(value: PythonInput, context: FunctionContext) -> PythonResult:
    """Run code.

    Raises:
        FunctionFailure: It has an error, exceeds a limit, or its value is not JSON.
        CodeSuspended: It waits for calls of tools.
    """
    for name in value.inputs:
        if not name.isidentifier() or name.startswith("_"):
            raise FunctionFailure(f"the input {name!r} is not a name of a variable")
    if context.code is not None:
        return await _begin(value, context.code, context)
    try:
        end = await context.runner.run(EVALUATE_CODE, value)
    except WorkEnded as ended:
        raise FunctionFailure(
            f"the code did not end: {ended}", may_pass=ended.limit is None
        ) from None
    if end.result is None:
        raise FunctionFailure(end.failure)
    return end.result


async def _begin(value: PythonInput, turn: CodeTurn, context: FunctionContext) -> PythonResult:
    """Run code that calls tools, up to its first calls."""
    part = ProgramPart(input=value, functions=turn.functions, now=turn.now, seed=context.key)
    return await _run_part(part, context)


async def continue_program(turn: CodeTurn, context: FunctionContext) -> JsonValue:
    """Run code on from the calls that it waits for.

    Raises:
        FunctionFailure: As `run_python`, or its state is not there or cannot be continued.
        CodeSuspended: It waits for further calls of tools.
    """
    assert turn.state is not None, "a program continues from its state"
    state = await _state(turn.state, context)
    answers = tuple([await _resolve(answer, context) for answer in turn.answers])
    part = ProgramPart(state=state, answers=answers, seconds=MAX_SECONDS)
    return (await _run_part(part, context)).model_dump(mode="json")


async def _run_part(part: ProgramPart, context: FunctionContext) -> PythonResult:
    try:
        ended = await context.runner.run(RUN_PART, part)
    except WorkEnded as end:
        raise FunctionFailure(f"the code did not end: {end}", may_pass=end.limit is None) from None
    if ended.calls:
        raise CodeSuspended(await _suspension(ended, context))
    if ended.end.result is None:
        raise FunctionFailure(ended.end.failure)
    return ended.end.result


async def _suspension(ended: PartEnd, context: FunctionContext) -> SuspendedCode:
    """Return where the code stopped, with its state in the storage unless it is small."""
    size = len(ended.state)
    if size <= _MAX_INLINE:
        state = CodeState(inline=ended.state, size=size)
    elif context.store is not None:
        data = base64.b64decode(ended.state)
        state = CodeState(kept=await context.store(data), size=len(data))
    elif size <= _MAX_WITHOUT_STORAGE:
        state = CodeState(inline=ended.state, size=size)
    else:
        raise FunctionFailure(
            f"at a call, the variables of the code take {size:,} bytes, and this worker has no "
            "storage for them; keep less in variables while the code calls tools"
        )
    return SuspendedCode(state=state, calls=ended.calls)


async def _state(state: CodeState, context: FunctionContext) -> str:
    if not state.kept:
        return state.inline
    return base64.b64encode(await _load(state.kept, context)).decode()


async def _resolve(answer: CodeAnswer, context: FunctionContext) -> ResolvedAnswer:
    if answer.kept is None:
        return ResolvedAnswer(
            id=answer.id, value=answer.value, error=answer.error, message=answer.message
        )
    value: JsonValue = from_json(await _load(answer.kept, context))
    return ResolvedAnswer(id=answer.id, value=value)


async def _load(name: str, context: FunctionContext) -> bytes:
    """Return what is stored under a name."""
    if context.load is None:
        raise FunctionFailure("this worker has no storage, and the code needs a stored value")
    try:
        return await context.load(name)
    except (BlobMissing, BlobsUnusable) as error:
        raise FunctionFailure(
            f"the code cannot continue: {error}", may_pass=may_come_back(error)
        ) from None


RUN_PYTHON = ToolFunction[PythonInput, PythonResult](
    name="Python.run",
    description="Runs Python code in a sandbox without files, network or imports.",
    effect="read",
    input=TypeAdapter(PythonInput),
    output=TypeAdapter(PythonResult),
    run=run_python,
    timeout=60.0,
    errors={
        FailureType.FUNCTION_REFUSED: "the code imports, opens files, or reaches other code; the "
        "message names the part",
        FailureType.FUNCTION_FAILED: "the code raises an error, exceeds its time, memory or "
        "recursion limit, or its value is not JSON; the message has its traceback",
    },
)
