"""What a contract never takes is known before the run; what only the run knows is left to it."""

import pytest
from pydantic import JsonValue

from coterie.activities.tool_functions.function_contracts import known_contracts
from coterie.activities.tool_functions.function_registry import TOOL_FUNCTIONS
from coterie.dsl.checks.contracts.contract_checks import ContractMismatch, contract_mismatches
from coterie.dsl.templates.literal_parts import known_parts

CONTRACTS = known_contracts()


def faults(function: str, given: JsonValue, *, whole: bool = True) -> list[ContractMismatch]:
    return contract_mismatches(known_parts(given), CONTRACTS[function].input_schema, whole=whole)


@pytest.mark.parametrize(
    ("given", "path", "part"),
    [
        ({"pth": "."}, ("pth",), "no input 'pth'"),
        ({"path": ["a"]}, ("path",), "a text for 'path', not a list"),
        ({"include": "*.py"}, ("include",), "a list for 'include', not '*.py'"),
        ({"include": ["a", 1]}, ("include", 1), "a text for its input, not 1"),
        ({"max_bytes": "many"}, ("max_bytes",), "a whole number for 'max_bytes', not 'many'"),
        ({"max_bytes": 1.5}, ("max_bytes",), "a whole number for 'max_bytes', not 1.5"),
        ({"max_bytes": 0}, ("max_bytes",), "at least 1 for 'max_bytes', not 0"),
        ({"max_bytes": "{{ context.n }} kB"}, ("max_bytes",), "not a text around a template"),
        ({"include": "src/{{ context.x }}"}, ("include",), "not a text around a template"),
        ("{{ {'pth': context.x} }}", ("pth",), "no input 'pth'"),
        ("{{ {'include': 'x' ~ context.x} }}", ("include",), "not a text around a template"),
        ("{{ context.a }}/x", (), "a mapping or null for its input"),
    ],
)
def test_a_literal_part_that_the_contract_never_takes_is_a_fault_at_its_path(
    given: JsonValue, path: tuple[str | int, ...], part: str
) -> None:
    (fault,) = faults("Discovery.collect", given)
    assert fault.path == path
    assert part in fault.message


@pytest.mark.parametrize(
    "given",
    [
        None,
        {},
        "{{ context.input }}",
        "{{ {context.key: 1} }}",
        {"path": "src/{{ context.x }}", "max_bytes": "{{ context.n }}"},
        {"max_bytes": "5000", "max_file_bytes": "{{ context.n }}000"},
        {"max_bytes": 5.0, "include": ["*.{{ context.suffix }}"]},
    ],
)
def test_contract_accepts_what_only_the_run_can_decide(given: JsonValue) -> None:
    assert faults("Discovery.collect", given) == []


def test_every_missing_input_is_named_unless_more_is_added_later() -> None:
    found = faults("AssetManager.process_action", {})
    assert [fault.path for fault in found] == [("file_path",), ("type",)]
    assert all(fault.missing for fault in found)
    assert faults("AssetManager.process_action", {}, whole=False) == []


def test_a_misspelt_input_is_not_also_a_missing_one() -> None:
    (fault,) = faults("CommandRunner.run", {"cmd": "test"})
    assert (fault.path, fault.fix) == (("cmd",), "did you mean 'command'?")


@pytest.mark.parametrize(
    "given", [{"file": "a", "action": "Modify"}, {"path": "a", "type": "d{{ x }}"}]
)
def test_further_names_of_an_input_are_taken_as_the_function_takes_them(given: JsonValue) -> None:
    assert faults("AssetManager.process_action", given) == []


@pytest.mark.parametrize("given", [{"path": "a", "type": "mod"}, {"path": "a", "type": "x{{ y }}"}])
def test_a_word_that_is_none_of_the_contract_s_is_a_fault(given: JsonValue) -> None:
    (fault,) = faults("AssetManager.process_action", given)
    assert fault.path == ("type",)
    assert fault.allowed == "create, modify, delete"


@pytest.mark.parametrize("name", sorted(TOOL_FUNCTIONS))
def test_the_written_contracts_are_those_of_the_functions(name: str) -> None:
    assert CONTRACTS[name] == TOOL_FUNCTIONS[name].contract()


@pytest.mark.parametrize(
    ("given", "allowed", "fits"),
    [
        (True, [1], False),
        (1, [True], False),
        (1.0, [1], True),
        ([1, True], [[1, True]], True),
        ([True, 1], [[1, True]], False),
        ({"a": True}, [{"a": 1}], False),
        ({"a": "{{ context.x }}"}, [{"a": 1}], True),
        (" Json ", ["json"], True),
    ],
)
def test_a_value_of_an_enum_is_equal_as_json_means_it(
    given: JsonValue, allowed: list[JsonValue], fits: bool
) -> None:
    found = contract_mismatches(known_parts({"x": given}), {"properties": {"x": {"enum": allowed}}})
    assert (found == []) is fits
