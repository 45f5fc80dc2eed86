"""The process of one long call, which outlives its worker.

It reads its order from standard input, leaves the worker's process group, and reports `begun`. The
tool function then runs in it as in a worker: under the same checks, limits and sandbox.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from pydantic import JsonValue

from coterie.activities.os_errors import reason_of
from coterie.activities.processes.process_privacy import keep_to_itself
from coterie.activities.storage.absences import MAX_ABSENCE, outlast_absence
from coterie.activities.threads.run_threads import FUNCTION_THREADS
from coterie.activities.tool_functions.command_runner import COMMANDS
from coterie.activities.tool_functions.functions.python_functions import PythonFunction
from coterie.activities.tool_functions.long_calls.job_folder import JobFolder
from coterie.activities.tool_functions.long_calls.job_messages import (
    ORDER,
    JobEnd,
    JobOrder,
    JobTerms,
)
from coterie.activities.user_code.child_pool import UserCode
from coterie.activities.workspace.call_effects import EffectProgress, effect_after
from coterie.activities.workspace.function_base import FunctionContext
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal
from coterie.dsl.known_secrets import KnownSecrets, secrets_of

_LOOK_SECONDS = 0.5
"""Between two looks whether the call is still wanted."""


def main() -> None:
    """Begin the call, unless it has begun, and let the caller continue."""
    keep_to_itself()  # the order brings the worker's secrets
    folder = JobFolder(Path(sys.argv[2]), sys.argv[3])
    order = ORDER.validate_json(sys.stdin.buffer.read())
    reader, writer = os.pipe()
    if os.fork():
        os.close(writer)
        os.read(reader, 1)  # begun, or gone
        os._exit(0)
    os.setsid()
    lock = folder.take(JobTerms(seconds=order.seconds, retries=order.retries))
    if lock is not None:
        _let_go()
        os.close(writer)
        try:
            end = _without_secrets(asyncio.run(_run_to_end(order, folder)), order)
        except BaseException as error:  # a bug, which the run has to learn of
            why = f"its process failed with {type(error).__name__}"
            end = JobEnd(failure="lost", message=why)
        asyncio.run(outlast_absence(lambda: FUNCTION_THREADS.run(folder.write, end), MAX_ABSENCE))
    os._exit(0)


def _without_secrets(end: JobEnd, order: JobOrder) -> JobEnd:
    """Mask the secrets that the call got in the words of its failure, before they are stored.

    The result stays whole: it is data, and the run gets what a shorter call would return.
    """
    secrets = secrets_of(order.workspace.environment)
    if order.function is not None:
        secrets = (*secrets, *order.function.secrets.values())
    known_secrets = KnownSecrets(secrets)
    masked = {
        "message": known_secrets.without(end.message),
        "said": known_secrets.without(end.said),
    }
    return end.model_copy(update=masked)


def _let_go() -> None:
    """Close the pipes to the worker, who would wait for their end."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    os.close(nothing)


async def _run_to_end(order: JobOrder, folder: JobFolder) -> JobEnd:
    """Run the tool function; each way in which it can end becomes an end.

    A signal to end comes with the end of the machine or its container, or from the supervisor of
    the worker: like a kill, it does not mean that nobody wants the call.
    """
    effect = EffectProgress()
    task = asyncio.create_task(_call_function(order, folder, effect))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    watching = asyncio.create_task(_end_when_unwanted(task, folder))
    try:
        return JobEnd(data=await task)
    except FunctionRefusal as refusal:
        return JobEnd(failure="refused", type=refusal.type, message=str(refusal), happened="no")
    except FunctionFailure as failure:
        return JobEnd(
            failure="failed",
            message=str(failure),
            may_pass=failure.may_pass,
            happened=effect_after(failure, effect),
            said=failure.said,
        )
    except TimeoutError as late:
        return _lost_end(late, effect, f"it did not end within {order.seconds:g} s")
    except asyncio.CancelledError as stopped:
        if folder.is_unwanted:
            return _lost_end(stopped, effect, "it was cancelled")
        return _lost_end(stopped, effect, "its process was stopped", may_pass=True)
    except OSError as error:
        why = f"it hit a system error: {reason_of(error)}"
        return _lost_end(error, effect, why, may_pass=True)
    finally:
        watching.cancel()


def _lost_end(
    failure: BaseException, effect: EffectProgress, why: str, *, may_pass: bool = False
) -> JobEnd:
    """Return the end of a call that gave no answer."""
    happened = effect_after(failure, effect)
    return JobEnd(failure="lost", message=why, may_pass=may_pass, happened=happened)


async def _end_when_unwanted(task: asyncio.Task[JsonValue], folder: JobFolder) -> None:
    while not folder.is_unwanted:  # noqa: ASYNC110  # processes share no Event
        await asyncio.sleep(_LOOK_SECONDS)
    task.cancel()


async def _call_function(order: JobOrder, folder: JobFolder, effect: EffectProgress) -> JsonValue:
    context = FunctionContext(
        workspace=order.workspace,
        key=order.key,
        run=order.run,
        timeout=order.seconds,
        progress=order.progress,
        beat=folder.note,
        effect=effect,
    )
    user_code = None
    try:
        async with asyncio.timeout(order.seconds):
            process = order.function
            if process is None:
                return await COMMANDS[order.skill].call(order.input, context)
            user_code = UserCode(process.folder, process.environment, process.import_path)
            function = PythonFunction(process.found, user_code, process.secrets)
            return await function.call(order.input, context)
    finally:
        if user_code is not None:
            await user_code.close()
