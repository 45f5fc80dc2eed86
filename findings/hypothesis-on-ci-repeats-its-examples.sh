#!/usr/bin/env bash
# Where the environment says CI, Hypothesis loads another profile by itself: no randomness and no
# database of examples. Every build tries the same examples again, so nightly builds find nothing that the
# first one did not; the same test on a developer's machine tries others each time.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check hypothesis==6.170.15
cat >"$folder/examples.py" <<'PYTHON'
import json

from hypothesis import given, strategies

seen = []


@given(strategies.integers())
def note(number):
    seen.append(number)


note()
print(json.dumps(seen))
PYTHON
cat >"$folder/compare.py" <<'PYTHON'
import os
import subprocess
import sys
from importlib.metadata import version

names = ("CI", "TF_BUILD", "GITHUB_ACTIONS", "GITLAB_CI", "BUILDKITE", "CIRCLECI")
plain = {name: value for name, value in os.environ.items() if name not in names}


def examples(**more):
    return subprocess.check_output([sys.executable, "examples.py"], env=plain | more)


on_ci = [examples(CI="true") for _ in range(3)]
elsewhere = [examples() for _ in range(3)]
print("hypothesis", version("hypothesis"))
print(f"three runs on CI try {len(set(on_ci))} list of examples, elsewhere {len(set(elsewhere))}")
assert (len(set(on_ci)), len(set(elsewhere))) == (1, 3), "the behaviour has changed"
PYTHON
cd "$folder"
"$folder/venv/bin/python" "$folder/compare.py"
