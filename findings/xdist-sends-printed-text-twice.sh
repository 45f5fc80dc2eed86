#!/usr/bin/env bash
# pytest-xdist sends each report of a test to the controller: setup, call and teardown, with all text
# that was captured until then. So the text that a passing test prints crosses the process boundary
# twice and is decoded there twice, although nobody sees it; a test is six messages in all.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pytest==9.2.0 pytest-xdist==3.8.0
cat >"$folder/conftest.py" <<'PYTHON'
import json

seen = []


def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        from xdist.workermanage import WorkerController

        receive = WorkerController.process_from_remote

        def note(self, message):
            if isinstance(message, tuple):
                seen.append((message[0], repr(message[1]).count("some words")))
            return receive(self, message)

        WorkerController.process_from_remote = note


def pytest_unconfigure(config):
    if not hasattr(config, "workerinput"):
        (config.rootpath / "seen.json").write_text(json.dumps(seen))
PYTHON
cat >"$folder/test_talks.py" <<'PYTHON'
def test_talks():
    print("some words " * 1000)
PYTHON
cd "$folder"
"$folder/venv/bin/python" -m pytest -q -n 1 -p no:cacheprovider "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import json
from importlib.metadata import version
from pathlib import Path

seen = json.loads(Path("seen.json").read_text())
names = [name for name, _ in seen]
of_test = seen[names.index("logstart") : names.index("runtest_protocol_complete") + 1]
print("pytest-xdist", version("pytest-xdist"), "pytest", version("pytest"))
for name, words in of_test:
    print(f"{name:26} with the printed text {words} times")
assert [name for name, _ in of_test] == [
    "logstart", "testreport", "testreport", "testreport", "logfinish", "runtest_protocol_complete",
], "the behaviour has changed"  # fmt: skip
assert [words for _, words in of_test] == [0, 0, 1000, 1000, 0, 0], "the behaviour has changed"
PYTHON
