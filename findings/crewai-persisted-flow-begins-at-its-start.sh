#!/usr/bin/env bash
# A flow with `@persist` that failed in its second method gets its state back, and runs its first method again.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check crewai==1.15.30
cat >"$folder/flow.py" <<'PYTHON'
from importlib.metadata import version
from pathlib import Path

from crewai.flow.flow import Flow, listen, start
from crewai.flow.persistence import SQLiteFlowPersistence, persist
from pydantic import BaseModel

calls = []
broken = True


class Order(BaseModel):
    id: str = ""
    paid: bool = False


@persist(SQLiteFlowPersistence(str(Path(__file__).with_name("flow.db"))))
class Shop(Flow[Order]):
    @start()
    def pay(self) -> None:
        calls.append(("pay", self.state.paid))
        self.state.paid = True

    @listen(pay)
    def ship(self) -> str:
        calls.append(("ship", self.state.paid))
        if broken:
            raise RuntimeError("no courier")
        return "shipped"


try:
    Shop(suppress_flow_events=True).kickoff(inputs={"id": "order-1"})
except RuntimeError as error:
    calls.append(("failed", str(error)))
broken = False
Shop(suppress_flow_events=True).kickoff(inputs={"id": "order-1"})
print("crewai", version("crewai"), "calls, each with `paid` of the state:", calls)
pays = [paid for name, paid in calls if name == "pay"]
assert pays == [False, True], "the second time, it pays what the state calls paid"
PYTHON
export CREWAI_DISABLE_TELEMETRY=true OTEL_SDK_DISABLED=true CREWAI_TRACING_ENABLED=false
"$folder/venv/bin/python" "$folder/flow.py" | grep '^crewai'
