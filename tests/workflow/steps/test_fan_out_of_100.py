"""A hundred branches at once: right, linear, and the same when the worker ends in the middle."""

import gc
from collections import Counter
from pathlib import Path

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHandle

from tests.support import fan_out
from tests.support.team_tests import failures_text, results, written

EVENTS_PER_BRANCH = 6.0
"""Three of its activity, three of a workflow task of its own; fewer when tasks take several."""


async def size(client: Client, run: str) -> tuple[int, int, Counter[str]]:
    """Events and bytes of a run's history, and how often each kind of event occurs."""
    handle: WorkflowHandle[object, object] = client.get_workflow_handle(run)
    events = (await handle.fetch_history()).events
    kinds = Counter(EventType.Name(event.event_type) for event in events)
    return len(events), sum(event.ByteSize() for event in events), kinds


async def test_a_hundred_branches_come_to_the_right_result_with_a_linear_history(
    skipping_client: Client, tmp_path: Path
) -> None:
    """One branch waits a day for a person, one fails, one is too late; 98 arrive."""
    measured: dict[int, tuple[int, int]] = {}
    for branches in (50, 100):
        folder = tmp_path / str(branches)
        folder.mkdir()
        file = written(folder, fan_out.team(branches), fan_out.tests(branches))
        found = await results(skipping_client, file)
        assert failures_text(found) == ""
        events, length, kinds = await size(skipping_client, found[0].run)
        assert kinds["EVENT_TYPE_ACTIVITY_TASK_SCHEDULED"] == branches
        assert not [kind for kind in kinds if "CHILD" in kind]
        measured[branches] = events, length
    events = measured[100][0] - measured[50][0]
    length = measured[100][1] - measured[50][1]
    print(f"per branch: {events / 50:.2f} events, {length / 50:.0f} bytes")  # noqa: T201
    assert events / 50 <= EVENTS_PER_BRANCH
    assert length / 50 <= 1.1 * measured[50][1] / 50, "bytes per branch grow with the branches"


async def test_the_worker_ends_in_the_middle_of_a_hundred_branches(
    skipping_client: Client, tmp_path: Path
) -> None:
    tests = fan_out.tests(100, crash_after="b030/work", crash_during="b010/consent")
    found = await results(skipping_client, written(tmp_path, fan_out.team(100), tests))
    assert failures_text(found) == ""
    gc.collect()  # a run that is put out of memory complains about nothing
    _, _, kinds = await size(skipping_client, found[0].run)
    assert kinds["EVENT_TYPE_ACTIVITY_TASK_SCHEDULED"] == 100, "no call was made again"
