"""Do several pieces of work at once, and yield their results in order."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


async def in_order(pieces: Sequence[Callable[[], Awaitable[T]]], at_once: int) -> AsyncGenerator[T]:
    """Yield the result of each piece, in the given order; cancel the rest when closed.

    Args:
        pieces: Each starts a piece of work.
        at_once: How many may be in progress.
    """
    turns = asyncio.Semaphore(at_once)

    async def in_turn(piece: Callable[[], Awaitable[T]]) -> T:
        async with turns:
            return await piece()

    tasks = [asyncio.create_task(in_turn(piece)) for piece in pieces]
    try:
        for task in tasks:
            yield await task
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
