"""Hostile templates in some runs of a worker, and what the other runs of that worker notice.

    python -m bench.hostile [--runs 10]

Prints how long other runs took meanwhile, the worker's peak memory, and how the hostile ones ended.
The exit code is 1 when one ended in another way than by name.
"""

import argparse
import asyncio
import sys
import time
from collections import Counter

from temporalio.client import Client

from bench.stage import WorkerProcess, stage
from coterie.storage.wire import data_converter
from coterie.workflows.core.messages import TeamInput
from tests.support.engine import plan_of
from tests.workflow.steps.test_hostile_templates import EXPRESSIONS, find, team

DEAR = "{{ (range(9999) | map('string') | list | length) ~ 'a' * 99999999 }}"
"""Does most of what its budget allows before it is refused."""
HOSTILE = (*(f"{{{{ {one} }}}}" for one in EXPRESSIONS), *[DEAR] * 30)


class Bench:
    """Starts runs of one worker and waits for them."""

    def __init__(self, client: Client, worker: WorkerProcess) -> None:
        self._client = client
        self._worker = worker
        self._count = 0

    async def ended(self, *templates: str) -> object:
        """Run a team of these templates to its end."""
        self._count += 1
        handle = await self._client.start_workflow(
            "TeamWorkflow",
            TeamInput(plan=plan_of(team(*templates))),
            id=f"hostile-{self._count}",
            task_queue=self._worker.queue,
        )
        return await handle.result()


async def main(runs: int) -> int:
    """Run hostile runs beside ordinary ones; report."""
    async with stage(["coterie"]) as (address, workers):
        worker = workers["coterie"]
        client = await Client.connect(address, data_converter=data_converter)
        bench = Bench(client, worker)
        await bench.ended()
        hostile = asyncio.gather(*(bench.ended(*HOSTILE) for _ in range(runs)))
        took: list[float] = []
        while not hostile.done():
            began = time.monotonic()
            await worker.alive_for(bench.ended())
            took.append(time.monotonic() - began)
        errors = Counter(_errors(result) for result in await hostile)
        peak = worker.peak_memory()
    print(f"{runs} hostile runs of {len(HOSTILE)} templates, {len(took)} other runs meanwhile")
    print(f"slowest other run: {max(took):.2f} s; peak memory of the worker: {peak:.0f} MB")
    for (named, other), number in errors.items():
        print(f"{number} hostile runs: {named} templates refused by name, {other} failed otherwise")
    return 0 if all(other == 0 and named for named, other in errors) else 1


def _errors(result: object) -> tuple[int, int]:
    """Templates of a hostile run that failed by name, and those that failed otherwise."""
    shown = next((one for one in find(result) if len(one) == len(HOSTILE)), list[object]())
    named = shown.count("EvaluationLimitExceeded")
    return named, len(HOSTILE) - named


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.hostile", description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="hostile runs at once (10)")
    sys.exit(asyncio.run(main(parser.parse_args().runs)))
