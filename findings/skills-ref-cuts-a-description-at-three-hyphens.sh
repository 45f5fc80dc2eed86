#!/usr/bin/env bash
# The reference library of agentskills.io ends the front matter at the first three hyphens anywhere: a valid
# description that has them loses its end, and the keys after it are not read. Its validator finds nothing wrong.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check skills-ref==0.1.1
mkdir "$folder/refunds"
cat >"$folder/refunds/SKILL.md" <<'SKILL'
---
name: refunds
description: Decides about refunds --- also of old orders.
license: MIT
---
Ask for the number of the order.
SKILL
"$folder/venv/bin/python" - "$folder/refunds" <<'PYTHON'
import sys
from importlib.metadata import version
from pathlib import Path

from skills_ref import read_properties, validate

skill = Path(sys.argv[1])
properties = read_properties(skill)
print("skills-ref", version("skills-ref"), "read:", properties.to_dict())
print("problems of its validator:", validate(skill))
assert properties.description == "Decides about refunds"
assert properties.license is None
assert validate(skill) == []
PYTHON
