"""What a gateway's event streams cost: `python -m bench.event_streams`.

Latency and requests are measured on a real server: signals to a run that waits, an idle run with
many viewers. CPU and memory are measured over runs of 10,000 steps (60,000 events in ten histories)
that a stand-in serves from memory in serialised pages, so that only the gateway's own work counts.
"""

import argparse
import asyncio
import gc
import json
import resource
import statistics
import sys
import time
from collections.abc import AsyncGenerator
from dataclasses import asdict, dataclass
from pathlib import Path

from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import History, HistoryEvent
from temporalio.client import Client, WorkflowExecutionDescription

from coterie.activities.contracts import AgentRequest, AgentResponse, TokenUsage
from coterie.failures import CommandError
from coterie.gateway.streams.event_stream import EventStream, StreamRequest
from coterie.gateway.streams.history_pages import HistoryPage, HistoryPages, LatestHistory
from coterie.gateway.streams.stream_hub import StreamHub
from coterie.runs.histories.history_events import read_events
from coterie.storage.wire import data_converter
from tests.support.servers.temporal_server import dev_server

_PARTS = 10
_STEPS = 1_000
"""Of each history."""
_RUNS = 10
_VIEWERS = 100
_SIGNALS = 40
_PAGE = 1_000
_IDLE_SECONDS = 45.0


@dataclass(frozen=True, slots=True)
class StreamFigures:
    """What was measured."""

    events: int
    """Of one long run."""
    latency_median: float
    """Seconds from a signal to its message at a viewer."""
    latency_p95: float
    requests_per_minute: float
    """To the server, of one idle run, whatever its viewers."""
    requests_per_viewer_and_minute: float
    opening_cpu: float
    """CPU seconds from the request to the first 200 rows of a long run."""
    whole_cpu: float
    """CPU seconds to send all rows of a long run to one viewer."""
    viewers_megabytes: float
    """Added by the viewers of the long runs."""


def long_run() -> dict[str, list[bytes]]:
    """Return the pages of a run of many steps: `{run id: its pages}`."""
    run_ids = [f"00000000-0000-4000-8000-{number:012}" for number in range(_PARTS)]
    pages: dict[str, list[bytes]] = {}
    for number, run_id in enumerate(run_ids):
        before = run_ids[number - 1] if number else ""
        after = run_ids[number + 1] if number + 1 < _PARTS else ""
        events = _history(run_ids[0], run_id, before, after)
        pages[run_id] = [
            History(events=events[start : start + _PAGE]).SerializeToString()
            for start in range(0, len(events), _PAGE)
        ]
    return pages


def _history(first: str, run_id: str, before: str, after: str) -> list[HistoryEvent]:
    converter = data_converter.payload_converter
    (request,) = converter.to_payloads(
        [AgentRequest(team="work", task="write", inputs={"text": "x" * 500})]
    )
    usage = TokenUsage(input_tokens=100, output_tokens=20)
    (response,) = converter.to_payloads([AgentResponse(data={"text": "y" * 100}, usage=usage)])
    (summary,) = converter.to_payloads(["work/write"])
    start = _event(EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, 1)
    attributes = start.workflow_execution_started_event_attributes
    attributes.first_execution_run_id, attributes.original_execution_run_id = first, run_id
    attributes.continued_execution_run_id = before
    events = [start]
    for step in range(_STEPS):
        events += _step(len(events) + 1, f"{step:04}.work.write", request, response, summary)
    if after:
        last = _event(EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW, len(events) + 1)
        last.workflow_execution_continued_as_new_event_attributes.new_execution_run_id = after
        events.append(last)
    return events


def _step(
    id: int, call: str, request: Payload, response: Payload, summary: Payload
) -> list[HistoryEvent]:
    tasks = [
        _event(type, id + offset)
        for offset, type in enumerate(
            (
                EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED,
                EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED,
                EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
            )
        )
    ]
    scheduled = _event(EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, id + 3)
    asked = scheduled.activity_task_scheduled_event_attributes
    asked.activity_id, asked.activity_type.name = call, "run_agent"
    asked.input.payloads.append(request)
    scheduled.user_metadata.summary.CopyFrom(summary)
    started = _event(EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED, id + 4)
    started.activity_task_started_event_attributes.scheduled_event_id = id + 3
    started.activity_task_started_event_attributes.attempt = 1
    ended = _event(EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED, id + 5)
    ended.activity_task_completed_event_attributes.scheduled_event_id = id + 3
    ended.activity_task_completed_event_attributes.result.payloads.append(response)
    return [*tasks, scheduled, started, ended]


def _event(type: "EventType.ValueType", id: int) -> HistoryEvent:
    event = HistoryEvent(event_id=id, event_type=type)
    event.event_time.seconds = 1_790_000_000 + id
    return event


def _no_client() -> Client:
    raise AssertionError("the stand-in needs no server")


class StandInPages(HistoryPages):
    """Serves the same long run under each id."""

    def __init__(self, pages: dict[str, list[bytes]]) -> None:
        super().__init__(_no_client)
        self._pages = pages
        self._run_ids = list(pages)

    async def latest(self, run: str) -> LatestHistory:
        """Return the last history."""
        return LatestHistory(self._run_ids[-1], self._run_ids[0])

    async def describe(self, run: str) -> WorkflowExecutionDescription:
        """Know nothing of calls."""
        raise CommandError("a stand-in describes nothing")

    async def page(
        self,
        run: str,
        run_id: str,
        token: bytes,
        *,
        size: int = 0,
        waits: bool = False,
        seconds: float | None = None,
    ) -> HistoryPage:
        """Return a page; after the last one of the last history, wait for ever."""
        pages, number = self._pages[run_id], int(token or b"0")
        is_open = waits and run_id == self._run_ids[-1]
        if number >= len(pages):
            await asyncio.Event().wait()
        await asyncio.sleep(0)
        events = tuple(read_events(History.FromString(pages[number]).events))
        is_last = number + 1 == len(pages) and not is_open
        return HistoryPage(events, b"" if is_last else str(number + 1).encode())

    async def backwards(self, run: str, run_id: str, size: int) -> AsyncGenerator[HistoryPage]:
        """Yield pages from the newest event."""
        pages = self._pages[run_id]
        for number in reversed(range(len(pages))):
            await asyncio.sleep(0)
            events = tuple(read_events(History.FromString(pages[number]).events))
            yield HistoryPage(events, b"x" if number else b"")


async def read_rows(hub: StreamHub, run: str, count: int, *, whole: bool = False) -> None:
    """Read so many rows, then leave."""
    messages = EventStream(hub, StreamRequest((run,), whole=whole)).messages()
    found = 0
    async for message in messages:
        found += b"event: history" in message
        if found == count:
            break
    await messages.aclose()


def cpu() -> float:
    """Return the CPU seconds of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def memory() -> float:
    """Return the megabytes of this process."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1_000_000


async def opening_cost(pages: dict[str, list[bytes]]) -> float:
    """Return the CPU seconds to the first 200 rows in a process that has opened no run yet."""
    hub = StreamHub(StandInPages(pages))
    began = cpu()
    await read_rows(hub, "long", 200)
    cost = cpu() - began
    await hub.close()
    return cost


async def whole_cost(pages: dict[str, list[bytes]]) -> float:
    """Return the CPU seconds to send all rows."""
    hub = StreamHub(StandInPages(pages))
    began = cpu()
    await read_rows(hub, "long", 3 * _PARTS * _STEPS, whole=True)
    cost = cpu() - began
    await hub.close()
    return cost


async def viewers_cost(pages: dict[str, list[bytes]]) -> float:
    """Return the megabytes that many viewers add."""
    hub = StreamHub(StandInPages(pages))
    before = memory()

    async def view(number: int) -> None:
        messages = EventStream(hub, StreamRequest((f"long-{number % _RUNS}",))).messages()
        async for _ in messages:
            pass

    viewing = [asyncio.create_task(view(number)) for number in range(_VIEWERS)]
    last, now = -1.0, 0.0
    while now - last > 0.05:  # until all followers have read what there is
        last = cpu()
        await asyncio.sleep(1)
        now = cpu()
    added = memory() - before
    for task in viewing:
        task.cancel()
    await asyncio.gather(*viewing, return_exceptions=True)
    await hub.close()
    return added


async def server_figures() -> tuple[list[float], float]:
    """Return the latencies of signals, and the requests per minute of an idle run."""
    async with dev_server(log_level="error") as env:
        client = env.client
        handle = await client.start_workflow("Nobody", id="idle", task_queue="nobody")
        pages = HistoryPages(lambda: client)
        hub = StreamHub(pages)
        seen: dict[str, float] = {}
        arrived = asyncio.Event()

        async def view(number: int) -> None:
            async for message in EventStream(hub, StreamRequest(("idle",))).messages():
                if number == 0 and b'"message_received"' in message:
                    data = json.loads(message.partition(b"data: ")[2])
                    seen[data["name"]] = time.perf_counter()
                    arrived.set()

        viewing = [asyncio.create_task(view(number)) for number in range(_VIEWERS)]
        await asyncio.sleep(3)
        latencies: list[float] = []
        for number in range(_SIGNALS):
            arrived.clear()
            began = time.perf_counter()
            await handle.signal(f"s{number}")
            await arrived.wait()
            latencies.append(seen[f"s{number}"] - began)
            await asyncio.sleep(0.1)
        before = pages.requests
        await asyncio.sleep(_IDLE_SECONDS)
        requests = (pages.requests - before) * 60 / _IDLE_SECONDS
        for task in viewing:
            task.cancel()
        await asyncio.gather(*viewing, return_exceptions=True)
        await hub.close()
        return latencies, requests


async def measured() -> StreamFigures:
    """Measure everything."""
    pages = long_run()
    await read_rows(StreamHub(StandInPages(pages)), "warm", 1)  # the models are built at first use
    opening = await opening_cost(pages)
    whole = await whole_cost(pages)
    viewers = await viewers_cost(pages)
    latencies, requests = await server_figures()
    ordered = sorted(latencies)
    return StreamFigures(
        sum(len(History.FromString(one).events) for parts in pages.values() for one in parts),
        statistics.median(ordered),
        ordered[int(len(ordered) * 0.95)],
        requests,
        requests / _VIEWERS,
        opening,
        whole,
        viewers,
    )


def main() -> int:
    """Measure, and print the figures as JSON."""
    argparse.ArgumentParser(prog="python -m bench.event_streams", description=__doc__).parse_args()
    figures = asyncio.run(measured())
    print(json.dumps({name: round(value, 4) for name, value in asdict(figures).items()}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
