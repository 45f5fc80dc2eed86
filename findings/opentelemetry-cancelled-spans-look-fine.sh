#!/usr/bin/env bash
# A span of OpenTelemetry whose block is cancelled, for example by `asyncio.timeout`, ends like one
# that went well: status UNSET, no event. An exception sets ERROR and an event, but a cancellation is
# no `Exception`. So the calls that take too long are the ones that no trace shows as failed.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3.11 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check opentelemetry-sdk==1.45.2
cat >"$folder/spans.py" <<'PYTHON'
import asyncio
from importlib.metadata import version

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

kept = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(kept))
tracer = provider.get_tracer("calls")


async def call(name: str, work) -> None:
    with tracer.start_as_current_span(name):
        await work


async def fail() -> None:
    raise ValueError("no")


async def main() -> None:
    await call("went well", asyncio.sleep(0))
    try:
        await call("failed", fail())
    except ValueError:
        pass
    try:
        async with asyncio.timeout(0.01):
            await call("timed out", asyncio.Event().wait())
    except TimeoutError:
        pass


asyncio.run(main())
print("opentelemetry-sdk", version("opentelemetry-sdk"))
seen = [
    (span.name, span.status.status_code.name, [event.name for event in span.events])
    for span in kept.get_finished_spans()
]
for name, status, events in seen:
    print(f"{name:10} {status} {events}")
assert seen == [
    ("went well", "UNSET", []),
    ("failed", "ERROR", ["exception"]),
    ("timed out", "UNSET", []),
], "the behaviour has changed"
PYTHON
"$folder/venv/bin/python" "$folder/spans.py"
