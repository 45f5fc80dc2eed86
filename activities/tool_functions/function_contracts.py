"""The contracts of the tool functions as data, so that checking a document loads no function.

`python -m tests.support.write_contracts` generates `contracts.json` from the tool functions.
"""

import json
from pathlib import Path

from coterie.dsl.model.capabilities import FunctionContract

CONTRACTS = Path(__file__).with_name("contracts.json")


def known_contracts() -> dict[str, FunctionContract]:
    """Return `{name: contract}` of every function, equal to `function_registry.contracts()`."""
    contracts = json.loads(CONTRACTS.read_text(encoding="utf-8"))
    return {contract["name"]: FunctionContract.model_validate(contract) for contract in contracts}
