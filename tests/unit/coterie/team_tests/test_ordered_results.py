"""Cases run at the same time, a few at once, and their results come in order."""

import asyncio
from functools import partial

from coterie.testing.case_runner import in_order


async def test_results_come_in_the_order_of_the_work_while_few_pieces_run_at_once() -> None:
    running: set[int] = set()
    most = 0

    async def piece(number: int) -> int:
        nonlocal most
        running.add(number)
        most = max(most, len(running))
        for _ in range(5 - number):  # the first takes longest
            await asyncio.sleep(0)
        running.remove(number)
        return number

    found = [number async for number in in_order([partial(piece, n) for n in range(5)], 2)]
    assert (found, most) == ([0, 1, 2, 3, 4], 2)


async def test_work_whose_result_nobody_wants_is_cancelled_and_cleans_up() -> None:
    cleaned: list[int] = []

    async def piece(number: int) -> int:
        if number == 0:
            return number
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.append(number)
        raise AssertionError("nothing ends it")

    results = in_order([partial(piece, n) for n in range(3)], 3)
    assert await anext(results) == 0
    async with asyncio.timeout(5):
        await results.aclose()
    assert cleaned == [1, 2]
