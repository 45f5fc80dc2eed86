"""The table of `docs/serve.md`, from the table of operations.

Print it anew: python -m tests.support.documents.operations_page
"""

from collections.abc import Iterator

from coterie.gateway.endpoints import API
from coterie.gateway.operations.operations_table import OPERATIONS


def operation_rows() -> Iterator[str]:
    """The lines of the table."""
    yield "| Operation | Request | Roles | Meaning |"
    yield "|---|---|---|---|"
    for operation in OPERATIONS:
        roles = "any" if len(operation.roles) > 3 else ", ".join(operation.roles)
        request = f"`{operation.method} {API}{operation.path}`"
        sentence = operation.sentence[0].lower() + operation.sentence[1:].rstrip(".")
        yield f"| `{operation.name}` | {request} | {roles} | {sentence} |"


if __name__ == "__main__":
    print("\n".join(operation_rows()))  # noqa: T201
