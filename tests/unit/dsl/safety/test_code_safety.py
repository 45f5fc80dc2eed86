"""The static table is found behind aliases, and raises no false alarm on code that lacks it."""

import ast
from collections.abc import Iterator

import pytest

from coterie.dsl.safety import blocked_commands
from coterie.dsl.safety.blocked_calls import CALLS
from coterie.dsl.safety.blocked_code import MAX_CODE, CodeNames, blocked_code, blocked_program
from coterie.dsl.safety.blocked_commands import SimpleCommand, blocked_command, simple_commands
from coterie.dsl.safety.blocked_rules import BlockedRule
from tests.unit.dsl.safety.evasions import CODE, COMMANDS, HARMLESS_CODE, HARMLESS_COMMANDS
from tests.unit.dsl.safety.installed_functions import drawn_functions


@pytest.mark.parametrize(("code", "rule"), CODE.items(), ids=map(repr, CODE))
def test_no_way_around_the_table_passes(code: str, rule: BlockedRule) -> None:
    found = blocked_code(code)
    assert found is not None
    assert found.rule == rule


@pytest.mark.parametrize("name", sorted(CALLS))
def test_each_function_of_the_table_is_found_by_its_name_and_behind_an_alias(name: str) -> None:
    plain = name.replace("()", "('x')")
    module, _, rest = plain.partition(".")
    for code in (f"{plain}('x')", f"m = {module}\nm.{rest}('x')", f"f = {plain}"):
        found = blocked_code(code)
        assert found is not None, code
        assert found.rule == CALLS[name], code


@pytest.mark.parametrize("code", HARMLESS_CODE)
def test_code_that_only_looks_like_the_table_passes(code: str) -> None:
    assert blocked_code(code) is None


@pytest.mark.parametrize(("command", "rule"), COMMANDS.items(), ids=map(repr, COMMANDS))
def test_no_way_around_the_words_of_a_command_passes(command: str, rule: BlockedRule) -> None:
    found = blocked_command(command)
    assert found is not None
    assert found.rule == rule


@pytest.mark.parametrize("command", HARMLESS_COMMANDS)
def test_a_command_that_only_looks_dangerous_passes(command: str) -> None:
    assert blocked_command(command) is None


def test_2000_functions_of_installed_packages_raise_no_alarm() -> None:
    functions = drawn_functions(2_000, seed=20_311)
    assert [found for code in functions if (found := blocked_code(code)) is not None] == []


def test_a_program_may_import_but_not_start_or_delete() -> None:
    assert blocked_program("import os, sys\nprint(open(sys.argv[1]).read())") is None
    for code in ("import os as o; o.system('x')", "from shutil import rmtree as r; r('/')"):
        assert blocked_program(code) is not None


@pytest.mark.parametrize(
    "code",
    [
        "x = os\n" + "x = x\n" * 15_000,
        "".join(f"a{n} = a{n + 1} or a{n + 1}\n" for n in range(4_000)),
        "x = " + "(y if y else " * 60 + "y" + ")" * 60,
        "f(" + "'a' + " * 15_000 + "'b')",
        "getattr(os, n)\n" + "n = n + n\n" * 9_000,
        "os" + ".a" * 900,
        "[" + "[os][0].x," * 9_000 + "]",
    ],
    ids=["self", "chain", "nested", "texts", "doubled", "attributes", "items"],
)
def test_code_made_to_cost_much_is_looked_at_once(
    code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted, not timed: each expression is resolved once, and texts have a budget."""
    steps = 0
    resolve = CodeNames._names  # pyright: ignore[reportPrivateUsage]

    def counted(*given: object) -> tuple[str, ...]:
        nonlocal steps
        steps += 1
        return resolve(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(CodeNames, "_names", counted)
    assert len(code) <= MAX_CODE
    blocked_code(code)
    try:
        nodes = sum(1 for _ in ast.walk(ast.parse(code)))
    except (RecursionError, MemoryError):
        return  # judged by its lines
    assert steps <= 2 * nodes


@pytest.mark.parametrize(
    "command",
    [
        "watch " * 2_000,
        "ssh -a " * 2_000,
        "parallel 'parallel a b' " * 500,
        "eval " * 3_000 + "'" + "a" * 9_000 + "'",
        "A=" + "x" * 99 + "; " + "$A " * 6_000,
        "a" * 100_000 + "()",
        "{a,b} " * 3_000,
        "sh -c " * 3_000,
    ],
    ids=["watch", "ssh", "parallel", "eval", "variables", "word", "braces", "shells"],
)
def test_a_command_made_to_cost_much_is_read_once_and_its_inside_within_a_budget(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = 0

    def counted(text: str) -> Iterator[SimpleCommand]:
        nonlocal read
        read += len(text)
        return simple_commands(text)

    monkeypatch.setattr(blocked_commands, "simple_commands", counted)
    assert blocked_command(command) is None
    assert read <= len(command) + 50_000
