"""Places that runs share: no run has more than its part, and nobody waits without need."""

import asyncio
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from coterie.activities.threads.run_shares import RunShares

RUNS = st.lists(st.sampled_from(["a", "b", "c", ""]), min_size=1, max_size=12)


@given(RUNS, st.integers(1, 4), st.integers(1, 4), st.sets(st.integers(0, 11)))
def test_places_are_never_exceeded_and_everybody_enters_in_the_end(
    runs: list[str], places: int, per_run: int, cancelled: set[int]
) -> None:
    async def take_all() -> None:
        shares, held, entered = RunShares(places, per_run), Counter[str](), set[int]()

        async def take(number: int, run: str) -> None:
            async with shares.place(run):
                entered.add(number)
                held[run] += 1
                try:
                    assert held.total() <= places
                    assert not run or held[run] <= per_run
                    await asyncio.sleep(0)
                finally:
                    held[run] -= 1

        tasks = [asyncio.create_task(take(*one)) for one in enumerate(runs)]
        await asyncio.sleep(0)
        for number in cancelled & set(range(len(runs))):
            tasks[number].cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        unexpected = [end for end in ends if isinstance(end, AssertionError)]
        assert not unexpected
        assert entered | cancelled >= set(range(len(runs)))
        async with asyncio.TaskGroup() as again:  # every place is free again
            for number in range(places):
                again.create_task(take(number, ""))

    asyncio.run(take_all())


async def test_a_run_that_has_none_enters_before_one_that_has_some() -> None:
    shares, order = RunShares(2, 2), list[str]()

    async def take(run: str) -> None:
        async with shares.place(run):
            order.append(run)

    await shares.acquire("hostile")
    await shares.acquire("hostile")
    waiting = [asyncio.create_task(take(run)) for run in ("hostile", "hostile", "neighbour")]
    await asyncio.sleep(0)
    shares.release("hostile")
    await asyncio.wait(waiting)
    assert order[0] == "neighbour"
