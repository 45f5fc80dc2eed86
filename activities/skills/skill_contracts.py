"""The contracts of the skills as data, so that checking a document loads no skill.

`python -m activities.skills.skill_contracts` writes `contracts.json` from the skills themselves.
"""

import json
from pathlib import Path

from dsl.model.capabilities import SkillContract

_FILE = Path(__file__).with_name("contracts.json")


def known_contracts() -> dict[str, SkillContract]:
    """`{name: contract}` of every skill there is, equal to `registry.contracts()`."""
    written = json.loads(_FILE.read_text(encoding="utf-8"))
    return {one["name"]: SkillContract.model_validate(one) for one in written}


def write() -> None:
    """Write the contracts down anew; needed whenever a skill's contract changes."""
    from activities.skills.skill_registry import contracts

    found = [contract.model_dump(mode="json") for contract in contracts().values()]
    _FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
