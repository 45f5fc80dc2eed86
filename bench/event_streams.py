"""What a gateway's event streams cost: `python -m bench.event_streams`.

Latency and requests are measured on a real server: signals to a run that waits, an idle run with
many viewers. CPU and memory are measured over runs of 10,000 steps (60,000 events in ten histories)
that a stand-in serves from memory, serialised, so that only the gateway's own work counts.
"""

import argparse
import asyncio
import gc
import json
import resource
import statistics
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.long_histories import PARTS, STEPS, Histories, long_pages, long_run
from coterie.gateway.streams.event_stream import EventStream, StreamRequest
from coterie.gateway.streams.history_pages import HistoryPages
from coterie.gateway.streams.stream_hub import StreamHub
from tests.support.servers.temporal_server import dev_server

_RUNS = 10
_VIEWERS = 100
_SIGNALS = 40
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


async def opening_cost(histories: Histories) -> float:
    """Return the CPU seconds to the first 200 rows in a process that has opened no run yet."""
    hub = StreamHub(long_pages(histories))
    began = cpu()
    await read_rows(hub, "long", 200)
    cost = cpu() - began
    await hub.close()
    return cost


async def whole_cost(histories: Histories) -> float:
    """Return the CPU seconds to send all rows."""
    hub = StreamHub(long_pages(histories))
    began = cpu()
    await read_rows(hub, "long", 3 * PARTS * STEPS, whole=True)
    cost = cpu() - began
    await hub.close()
    return cost


async def viewers_cost(histories: Histories) -> float:
    """Return the megabytes that many viewers add."""
    hub = StreamHub(long_pages(histories))
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
    histories = long_run()
    await read_rows(
        StreamHub(long_pages(histories)), "warm", 1
    )  # the models are built at first use
    opening = await opening_cost(histories)
    whole = await whole_cost(histories)
    viewers = await viewers_cost(histories)
    latencies, requests = await server_figures()
    ordered = sorted(latencies)
    return StreamFigures(
        sum(map(len, histories.values())),
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
