"""What the sandbox of workflows lets through unseen cannot do anything that it should see."""

from coterie.sandbox import DATA, PURE
from tests.law.sources import ROOMS, imports, modules, tops

HARMLESS = {"collections", "dataclasses", "datetime", "enum", "hashlib", "typing"}
"""Of the standard library; `datetime.now` is refused by ruff."""


def test_the_interpreter_stays_inside_the_sandbox() -> None:
    passed = {name for name in (*PURE, *DATA) if tops({name}) & {"workflows", "coterie"}}
    assert passed == set(DATA)


def test_only_data_of_the_interpreter_passes_through() -> None:
    passed = {name: imports(file) for name, file in modules("workflows") if name in DATA}
    assert passed.keys() == set(DATA)
    for name, imported in passed.items():
        ours = {other for other in imported if tops({other}) & set(ROOMS)}
        pure = ("dsl.", "activities.contracts", *DATA)
        assert all(other.startswith(pure) for other in ours), name
        assert tops(imported - ours) <= HARMLESS | {"pydantic"}, name
