"""The process of one long call, which outlives its worker.

It reads its order from standard input, leaves the worker's process group, and reports `begun`. The
skill then runs in it as in a worker: under the same checks, limits and sandbox.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from pydantic import JsonValue

from activities.os_errors import reason_of
from activities.processes.process_privacy import keep_to_itself
from activities.skills.functions.function_skills import FunctionSkill
from activities.skills.long_calls.job_folder import JobFolder
from activities.skills.long_calls.job_messages import ORDER, JobEnd, JobOrder
from activities.skills.skill_registry import AnySkill, find_skill
from activities.user_code.child_pool import UserCode
from activities.workspace.skill_base import SkillContext
from activities.workspace.skill_failures import OutcomeLost, SkillFailure, SkillRefusal


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
    lock = folder.take(order.seconds)
    if lock is not None:
        _let_go()
        os.close(writer)
        folder.write(asyncio.run(_ended(order, folder)))
    os._exit(0)


def _let_go() -> None:
    """Close the pipes to the worker, who would wait for their end."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    os.close(nothing)


async def _ended(order: JobOrder, folder: JobFolder) -> JobEnd:
    """Run the skill; any exception becomes an end."""
    task = asyncio.create_task(_called(order, folder))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        return JobEnd(data=await task)
    except SkillRefusal as refusal:
        return JobEnd(failure="refused", type=refusal.type, message=str(refusal))
    except SkillFailure as failure:
        return JobEnd(failure="failed", message=str(failure), may_pass=failure.may_pass)
    except OutcomeLost as lost:
        return JobEnd(failure="lost", message=str(lost))
    except TimeoutError:
        return JobEnd(failure="lost", message=f"it did not end within {order.seconds:g} s")
    except asyncio.CancelledError:
        return JobEnd(failure="lost", message="it was cancelled")
    except OSError as error:
        why = f"it hit a system error: {reason_of(error)}"
        return JobEnd(failure="lost", message=why, may_pass=True)


async def _called(order: JobOrder, folder: JobFolder) -> JsonValue:
    context = SkillContext(
        workspace=order.workspace,
        key=order.key,
        run=order.run,
        timeout=order.seconds,
        progress=order.progress,
        beat=folder.note,
    )
    user_code = None
    try:
        async with asyncio.timeout(order.seconds):
            skill: AnySkill
            if order.function is None:
                skill = find_skill(order.skill)
            else:
                place = order.function
                user_code = UserCode(place.folder, place.environment, place.import_path)
                skill = FunctionSkill(place.found, user_code, place.secrets)
            return await skill.call(order.input, context)
    finally:
        if user_code is not None:
            await user_code.close()
