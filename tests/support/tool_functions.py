"""A workspace, and tool functions called as Temporal calls them."""

import asyncio
import fcntl
import os
import select
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import JsonValue
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from coterie.activities.contracts import END_MARGIN, FunctionRequest
from coterie.activities.tool_functions.function_activity import FunctionActivities
from coterie.activities.tool_functions.function_registry import TOOL_FUNCTIONS, AnyFunction
from coterie.activities.workspace.function_base import Workspace
from coterie.dsl.model.memory_terms import MemoryOwner

MAX_WAIT = 60
"""Seconds for what a test waits for; a busy machine takes a few."""


def environment(
    attempt: int = 1, heartbeat_timeout: float = 30.0, timeout: float = 60.0
) -> ActivityEnvironment:
    """Where activities run without a server; it allows them 60 s, instead of the SDK's 1 s."""
    made = ActivityEnvironment()
    made.info = replace(
        made.info,
        attempt=attempt,
        heartbeat_timeout=timedelta(seconds=heartbeat_timeout),
        start_to_close_timeout=timedelta(seconds=timeout) + END_MARGIN,
    )
    return made


async def call(
    workspace: Workspace,
    function: str,
    input: JsonValue = None,
    *,
    key: str = "run-1/coder#1/apply",
    at: ActivityEnvironment | None = None,
    functions: Mapping[str, AnyFunction] = TOOL_FUNCTIONS,
    memory: MemoryOwner | None = None,
    untrusted: bool = False,
) -> JsonValue:
    """Call a function by its name; what it returned, or the ApplicationError that Temporal sees."""
    activities = FunctionActivities(workspace, functions)
    request = FunctionRequest(
        skill=function, input=input, key=key, memory=memory, untrusted=untrusted
    )
    result = await (at or environment()).run(activities.call_function, request)
    return result.data


async def refusal(workspace: Workspace, function: str, input: JsonValue = None) -> ApplicationError:
    """The error that a call ends in; that of a function which does not exist proves nothing."""
    with pytest.raises(ApplicationError) as caught:
        await call(workspace, function, input)
    assert not caught.value.message.startswith("unknown tool function"), caught.value.message
    return caught.value


async def said(fifo: Path) -> str:
    """Wait until somebody has written into a named pipe; fail when nobody does."""
    return await asyncio.to_thread(_read_pipe, fifo)


def _read_pipe(fifo: Path) -> str:
    text = b""
    with open(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as pipe:
        while True:
            ready, _, _ = select.select([pipe], [], [], MAX_WAIT)
            assert ready, f"nobody wrote into {fifo.name} within {MAX_WAIT} s"
            part = pipe.read(4096)
            if part == b"":
                return text.decode()
            text += part or b""


async def unlocked(path: Path) -> None:
    """Wait until nobody holds the lock of a file; fail when its holder lives on."""
    with path.open("w") as lock:
        for _ in range(20 * MAX_WAIT):
            with suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            await asyncio.sleep(0.05)  # between two looks
    pytest.fail(f"the holder of {path.name} still runs after {MAX_WAIT} s")


def files(root: Path) -> dict[str, str]:
    """The texts of a project by path, without the state directory."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes().decode()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".coterie" not in path.parts
    }
