"""Collect the calls of a step of a run from its history."""

from contextlib import suppress

from temporalio.client import Client

from coterie.dsl.model.traversal.step_paths import split_reference
from coterie.failures import CommandError
from coterie.inspection.step_trace import named_step
from coterie.inspection.trace import traced_run
from coterie.runs.histories.history_links import links
from coterie.runs.histories.recorded_calls import RecordedCall, in_visits, recorded_calls
from coterie.runs.run_client import Run


async def step_calls(client: Client, run: Run, asked: str) -> list[RecordedCall]:
    """Return the calls of `TEAM/STEP#N`, or of a model's call such as `search@2.1#N`.

    Without the number, those of every visit.
    """
    path, visit = split_reference(asked)
    await run.describe()
    calls = [
        call
        async for history in links(client, run.id)
        for call in recorded_calls(history)
        if named_step(call.path, path) is not None
    ]
    with suppress(CommandError):  # another version ran it: the calls themselves name their visits
        in_visits(calls, (await traced_run(client, run.id)).trail)
    return [call for call in calls if visit in (None, call.visit)]
