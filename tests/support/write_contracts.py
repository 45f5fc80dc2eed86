"""Write `contracts.json`: run `python -m tests.support.write_contracts`."""

import json

from coterie.activities.tool_functions.function_contracts import CONTRACTS
from coterie.activities.tool_functions.function_registry import contracts


def main() -> None:
    """Write the contracts of all tool functions as data."""
    found = [contract.model_dump(mode="json") for contract in contracts().values()]
    CONTRACTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
