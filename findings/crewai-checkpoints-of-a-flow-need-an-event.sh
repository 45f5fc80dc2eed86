#!/usr/bin/env bash
# `checkpoint=True` writes no checkpoint of a flow without crews; with the event of its methods, it does.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check crewai==1.15.30
cat >"$folder/flow.py" <<'PYTHON'
import os
from importlib.metadata import version
from pathlib import Path

from crewai.flow.flow import Flow, listen, start
from crewai.state.checkpoint_config import CheckpointConfig

os.chdir(Path(__file__).parent)


class Shop(Flow):
    @start()
    def pay(self) -> str:
        return "paid"

    @listen(pay)
    def ship(self, paid: str) -> str:
        raise RuntimeError("no courier")


def files(folder: str, checkpoint: object) -> int:
    """Run the flow until it fails, and count what was written."""
    try:
        Shop(checkpoint=checkpoint).kickoff()
    except RuntimeError:
        pass
    return sum(1 for path in Path(folder).rglob("*") if path.is_file())


default = files(".checkpoints", True)
named = files("named", CheckpointConfig(location="named", on_events=["method_execution_finished"]))
print("crewai", version("crewai"), "checkpoints by default:", default, "with the event:", named)
assert default == 0
assert named >= 1
PYTHON
export CREWAI_DISABLE_TELEMETRY=true OTEL_SDK_DISABLED=true CREWAI_TRACING_ENABLED=false
"$folder/venv/bin/python" "$folder/flow.py" | grep '^crewai'
