#!/usr/bin/env bash
# Without `build_id`, a Worker or Replayer of temporalio hashes "all bytecode of imported modules" as
# its build id. It reads the code of every loaded module again for that, whoever wrote it; and it
# hashes only what a module does at import: other bodies of functions and other constants have the
# same id, so two deployments of different workflow code report one build.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check temporalio==1.35.0
cat >"$folder/ids.py" <<'PYTHON'
import asyncio
import json
import sys
from importlib.metadata import version
from pathlib import Path

from temporalio.worker import Replayer, _worker
from temporalio.worker._worker import load_default_build_id

reads = []
sys.addaudithook(lambda event, args: reads.append(str(args[0])) if event == "open" else None)
Path("rules.py").write_text(sys.argv[1])
for number in range(300):
    Path(f"other{number}.py").write_text("")
    __import__(f"other{number}")
import rules
from flow import Flow


async def replay_nothing(**options) -> int:
    """Return how many of the 300 modules are read for a replayer that replays no history."""

    async def histories():
        return
        yield

    reads.clear()
    async with Replayer(workflows=[Flow], **options).workflow_replay_iterator(histories()):
        pass
    return len({Path(name).name.split(".")[0] for name in reads if "other" in name})


own = asyncio.run(replay_nothing(build_id="mine"))
default = asyncio.run(replay_nothing())
print(json.dumps([version("temporalio"), load_default_build_id(memoize=False), own, default]))
PYTHON
cat >"$folder/flow.py" <<'PYTHON'
from temporalio import workflow


@workflow.defn
class Flow:
    @workflow.run
    async def run(self) -> None:
        pass
PYTHON
cat >"$folder/compare.py" <<'PYTHON'
import json
import subprocess
import sys

RULES = (
    "LIMIT = 10\ndef fee(amount):\n    return amount * 2\n",
    "LIMIT = 9999\ndef fee(amount):\n    if amount > LIMIT:\n        return 0\n    return amount / 3\n",
    "LIMIT = 10\ndef fee(amount):\n    return amount * 2\nMORE = 1\n",
)
seen = [
    json.loads(subprocess.check_output([sys.executable, "-B", "ids.py", text])) for text in RULES
]
ids = [build_id for _, build_id, *_ in seen]
print("temporalio", seen[0][0])
print(f"another function body and constant: the same id: {ids[0] == ids[1]}")
print(f"one more assignment at the top level: the same id: {ids[0] == ids[2]}")
print(f"of 300 foreign modules, read with a build id: {seen[0][2]}, without: {seen[0][3]}")
assert ids[0] == ids[1] != ids[2], "the behaviour has changed"
assert seen[0][2:] == [0, 300], "the behaviour has changed"
PYTHON
cd "$folder"
"$folder/venv/bin/python" "$folder/compare.py"
