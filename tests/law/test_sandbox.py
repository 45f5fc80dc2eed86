"""What the sandbox of workflows lets through unseen cannot do anything that it should see."""

from coterie.sandbox import DATA, DECIDING, LANGUAGE, LIBRARIES
from tests.law.sources import ROOMS, imports, modules, tops

HARMLESS = {
    "collections", "copy", "dataclasses", "datetime", "enum", "functools", "hashlib", "json",
    "typing",
}  # fmt: skip
"""Of the standard library; `datetime.now` is refused by ruff."""

INSIDE = {"workflows", "workflows.team", "workflows.durable", "workflows.encoding"}
"""What reaches Temporal."""


def passed(name: str) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in (*DATA, *DECIDING))


def test_whatever_reaches_temporal_stays_inside_the_sandbox() -> None:
    assert {name for name, _ in modules("workflows") if not passed(name)} == INSIDE
    assert not tops({*LIBRARIES, *LANGUAGE}) & {"workflows", "coterie"}


def test_what_passes_through_imports_the_language_the_contracts_and_itself() -> None:
    for name, file in modules("workflows"):
        if passed(name):
            imported = imports(file)
            ours = {other for other in imported if tops({other}) & set(ROOMS)} - {"workflows"}
            pure = ("dsl", "activities.contracts")
            assert all(other.startswith(pure) or passed(other) for other in ours), name
            assert tops(imported - ours) <= HARMLESS | {"pydantic", "workflows"}, name
