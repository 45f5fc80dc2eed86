"""Calls of more than ten minutes: started by one activity, asked for by the next ones.

The call runs in a process of its own, which outlives the worker. So an activity is never long: a
run continues as new between two of them, and a worker that stops or dies interrupts nothing.
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from time import monotonic
from typing import assert_never

from pydantic import JsonValue
from temporalio import activity

from coterie.activities.attempts import is_unwanted
from coterie.activities.contracts import FailureType, FunctionRequest
from coterie.activities.os_errors import may_pass, reason_of
from coterie.activities.processes.child_process import boot_code
from coterie.activities.threads.run_threads import FUNCTION_THREADS
from coterie.activities.tool_functions.command_runner import COMMANDS
from coterie.activities.tool_functions.function_registry import AnyFunction
from coterie.activities.tool_functions.functions.python_functions import PythonFunction
from coterie.activities.tool_functions.long_calls.job_folder import JobFolder, JobState
from coterie.activities.tool_functions.long_calls.job_messages import (
    ORDER,
    FunctionProcess,
    JobEnd,
    JobOrder,
    JobTerms,
)
from coterie.activities.workspace.command_start import SAFE_IMPORTS, environment_of
from coterie.activities.workspace.function_base import FunctionContext
from coterie.activities.workspace.function_failures import (
    FunctionFailure,
    FunctionRefusal,
    Happened,
)
from coterie.dsl.model.tools.asked_input import AskedInput, ServerTask
from coterie.dsl.values import MAX_CALL_SECONDS
from coterie.dsl.visible import shortened_text

_POLLED_SHARE = 0.8
"""Of the time limit of an activity that asks for a call: it returns before it is cut off."""
_MAX_POLLED_SECONDS = 240.0
_ABSENT_SECONDS = 5.0
"""How long a worker looks for a call that it does not know, before another worker may."""
_MAX_SILENT = 60
_FIRST_LOOK, _MAX_LOOK = 0.1, 2.0
"""Seconds between two looks, which double."""
_HOST = "coterie.activities.tool_functions.long_calls.job_host"


class LongCalls:
    """Starts and follows the long calls of one worker.

    Another worker knows them too if it has the same workspace on the same machine.
    """

    def __init__(self, long_seconds: float = MAX_CALL_SECONDS) -> None:
        """Take how long the longest call is that an activity makes by itself."""
        self._long_seconds = long_seconds

    def takes(self, tool_function: AnyFunction, value: JsonValue, context: FunctionContext) -> bool:
        """Return whether a call may take so long that it must not be one activity."""
        limit = context.timeout
        if limit is None or limit <= self._long_seconds:
            return False
        match tool_function:
            case PythonFunction():
                return tool_function.seconds(context) > self._long_seconds
            case _ if tool_function in COMMANDS.values() and isinstance(value, dict):
                command = context.workspace.commands.get(str(value.get("command")))
                return command is not None and command.timeout > self._long_seconds
            case _:
                return False

    async def call(
        self, tool_function: AnyFunction, request: FunctionRequest, context: FunctionContext
    ) -> JsonValue:
        """Start the call, or ask how one stands that was started.

        Raises:
            FunctionRefusal: It continues, and must be asked for again; or it was refused.
            FunctionFailure: It failed, or nobody knows how it ended.
        """
        task = task_of(request)
        try:
            id = _id_of(request) if task is None else task.id
            folder = JobFolder(context.workspace.state_dir, id)
        except ValueError as error:
            raise FunctionRefusal(str(error)) from None
        try:
            if task is None:
                terms = JobTerms(seconds=context.timeout or 0.0, retries=_retries_of(tool_function))
                await context.effect.begin()
                await _start(folder, _order(folder, tool_function, request, context, terms))
                raise _continues(tool_function, ServerTask(id=id))
            if task.unwanted:
                folder.cancel()
                return None
            return await _follow_call(folder, task, tool_function, request, context)
        except asyncio.CancelledError:
            if is_unwanted():
                folder.cancel()
            raise


def task_of(request: FunctionRequest) -> ServerTask | None:
    """Return the task that a call asks for; None for a call that begins."""
    return None if request.given_input is None else request.given_input.asked.task


async def _follow_call(
    folder: JobFolder,
    task: ServerTask,
    tool_function: AnyFunction,
    request: FunctionRequest,
    context: FunctionContext,
) -> JsonValue:
    """Look until the call has ended, or the time of this activity is over."""
    until = min((context.timeout or _MAX_POLLED_SECONDS) * _POLLED_SHARE, _MAX_POLLED_SECONDS)
    began, look = monotonic(), _FIRST_LOOK
    while True:
        is_late = monotonic() - began + look > until
        state, end = _look_at(folder)
        match state:
            case "ended":
                assert end is not None, "read with the state"
                if not _may_repeat(folder, tool_function, certain=end.may_pass):
                    return _data(end, tool_function)
                await _start_again(folder, tool_function, request, context)
            case "lost":
                if not _may_repeat(folder, tool_function, certain=True):
                    raise _lost_call_failure(tool_function, "its process was killed")
                await _start_again(folder, tool_function, request, context)
            case "absent" if is_late or monotonic() - began > _ABSENT_SECONDS:
                if task.silent >= _MAX_SILENT:
                    raise _lost_call_failure(tool_function, "no worker knows its process")
                raise _continues(tool_function, task.model_copy(update={"silent": task.silent + 1}))
            case "running" if is_late:
                raise _continues(tool_function, ServerTask(id=task.id))
            case "running" | "absent":
                await asyncio.sleep(look)
                look = min(2 * look, _MAX_LOOK)


def _look_at(folder: JobFolder) -> tuple[JobState, JobEnd | None]:
    """Return how a call stands, and its end; a folder that cannot be read now may come back."""
    try:
        state = folder.state()
        return state, folder.end() if state == "ended" else None
    except OSError:
        return "absent", None


def _may_repeat(folder: JobFolder, tool_function: AnyFunction, *, certain: bool) -> bool:
    """Return whether a call that came to nothing is made again, by the terms of its contract."""
    if not certain or tool_function.effect == "once" or folder.is_unwanted:
        return False
    return folder.beginnings <= folder.terms.retries


def _retries_of(tool_function: AnyFunction) -> int:
    """Return how often a call may be begun again: as often as Temporal may repeat its activity."""
    policy = activity.info().retry_policy if activity.in_activity() else None
    if policy is None or policy.maximum_attempts < 1:
        return tool_function.contract().retries
    return policy.maximum_attempts - 1


async def _start_again(
    folder: JobFolder,
    tool_function: AnyFunction,
    request: FunctionRequest,
    context: FunctionContext,
) -> None:
    terms = folder.terms
    folder.forget()
    await _start(folder, _order(folder, tool_function, request, context, terms))


def _id_of(request: FunctionRequest) -> str:
    """Return the id of a call: the same in every attempt, and never that of another run."""
    parts = [request.key]
    if activity.in_activity():
        info = activity.info()
        parts += [info.workflow_run_id or "", info.activity_id]
    return sha256("\0".join(parts).encode()).hexdigest()[:32]


def _order(
    folder: JobFolder,
    tool_function: AnyFunction,
    request: FunctionRequest,
    context: FunctionContext,
    terms: JobTerms,
) -> JobOrder:
    function, workspace = None, context.workspace
    names: tuple[str, ...] = ()
    if isinstance(request.input, dict):
        command = workspace.commands.get(str(request.input.get("command")))
        names = () if command is None else command.env
    # The process needs nothing else of it.
    environment = environment_of(names, workspace.environment)
    if isinstance(tool_function, PythonFunction):
        code, tool = tool_function.user_code, tool_function.found
        secrets = {
            name: tool_function.secrets[name]
            for name in tool.secrets
            if name in tool_function.secrets
        }
        function = FunctionProcess(
            found=tool,
            folder=code.folder,
            import_path=tuple(code.import_path),
            environment=_writable(code.environment),
            secrets=secrets,
        )
    return JobOrder(
        skill=tool_function.name,
        input=request.input,
        key=request.key,
        run=context.run,
        seconds=terms.seconds,
        retries=terms.retries,
        workspace=replace(workspace, environment=_writable(environment)),
        progress=folder.progress(),
        function=function,
    )


def _writable(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that are text: the others cannot travel in an order."""
    return {name: value for name, value in environment.items() if _is_text(name + value)}


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


async def _start(folder: JobFolder, order: JobOrder) -> None:
    """Start the process of a call, even if this activity is cancelled meanwhile."""
    starting = asyncio.create_task(_start_job(folder, order))
    try:
        await asyncio.shield(starting)
    except asyncio.CancelledError:
        await asyncio.wait({starting})
        raise


async def _start_job(folder: JobFolder, order: JobOrder) -> None:
    """Return when the process of a call has begun; it ends by itself if there is one already.

    Raises:
        FunctionFailure: It cannot start.
    """
    workspace = order.workspace
    environment = {**environment_of((), workspace.environment), **SAFE_IMPORTS}
    import_path = json.dumps([part for part in sys.path if part])
    try:
        await FUNCTION_THREADS.run(folder.prepare)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-c", boot_code(_HOST), import_path),
            *(workspace.state_dir, folder.id),
            cwd=workspace.root,
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        why = f"could not start the process of a long call: {reason_of(error)}"
        raise FunctionFailure(why, may_pass=may_pass(error), happened="no") from None
    _, errors = await process.communicate(ORDER.dump_json(order))
    if folder.state() == "absent":
        last = errors.decode(errors="replace").strip().rpartition("\n")[2]
        why = f"the process of a long call could not start: {shortened_text(last, 300)}"
        raise FunctionFailure(why, may_pass=True, happened="no")


def _continues(tool_function: AnyFunction, task: ServerTask) -> FunctionRefusal:
    message = f"{tool_function.name} continues in a process of its own"
    return FunctionRefusal(message, FailureType.INPUT_REQUIRED, AskedInput(task=task))


def _data(end: JobEnd, tool_function: AnyFunction) -> JsonValue:
    """Return the result of a call, or raise its failure."""
    match end.failure:
        case None:
            return end.data
        case "refused":
            raise FunctionRefusal(end.message, end.type)
        case "failed":
            raise FunctionFailure(end.message, happened=end.happened, said=end.said)
        case "lost":
            raise _lost_call_failure(tool_function, end.message, end.happened)
        case _:
            assert_never(end.failure)


def _lost_call_failure(
    tool_function: AnyFunction, why: str, happened: Happened = "unknown"
) -> FunctionFailure:
    return FunctionFailure(f"{tool_function.name}: {why}", happened=happened)
