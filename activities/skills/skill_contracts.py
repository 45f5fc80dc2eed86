"""The contracts of the skills as data, so that checking a document loads no skill.

`python -m tests.support.write_contracts` generates `contracts.json` from the skills.
"""

import json
from pathlib import Path

from coterie.dsl.model.capabilities import SkillContract

CONTRACTS = Path(__file__).with_name("contracts.json")


def known_contracts() -> dict[str, SkillContract]:
    """Return `{name: contract}` of every skill, equal to `skill_registry.contracts()`."""
    contracts = json.loads(CONTRACTS.read_text(encoding="utf-8"))
    return {contract["name"]: SkillContract.model_validate(contract) for contract in contracts}
