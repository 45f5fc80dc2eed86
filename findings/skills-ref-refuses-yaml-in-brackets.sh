#!/usr/bin/env bash
# The specification of agent skills says YAML, and shows allowed-tools as a list. The reference library refuses a
# list or a mapping in brackets, as many YAML files have them, and takes a name that YAML reads as a number.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check skills-ref==0.1.1 PyYAML==6.0.3
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
from importlib.metadata import version
from pathlib import Path

import yaml
from skills_ref import validate

folder = Path(sys.argv[1])


def problems(name: str, rest: str) -> list[str]:
    """What the reference library says of a skill, whose front matter any reader of YAML takes."""
    front = f"name: {name}\ndescription: Decides.\n{rest}"
    yaml.safe_load(front)
    (folder / name).mkdir()
    (folder / name / "SKILL.md").write_text(f"---\n{front}---\nAsk.\n")
    return validate(folder / name)


print("skills-ref", version("skills-ref"))
listed = problems("list", "allowed-tools:\n  - Read\n  - Bash\n")
brackets = problems("brackets", "allowed-tools: [Read, Bash]\n")
braces = problems("braces", "metadata: {owner: ann}\n")
number = problems("2026", "")
for what, found in (("lines", listed), ("brackets", brackets), ("braces", braces), ("2026", number)):
    print(what, "->", found[0].splitlines()[0] if found else "no problem")
assert listed == []
assert "Invalid YAML" in brackets[0]
assert "Invalid YAML" in braces[0]
assert yaml.safe_load("name: 2026") == {"name": 2026}
assert number == []
PYTHON
