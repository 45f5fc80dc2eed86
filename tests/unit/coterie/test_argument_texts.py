"""Every argument of every command takes only text that UTF-8 can carry, and strict JSON."""

import ast
import inspect
import re
from argparse import Action, ArgumentParser
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import cast

import pytest

from coterie.argument_values import read_text, split_settings
from coterie.cli import main
from coterie.commands.parser import whole_parser
from coterie.commands.table import VERBS
from coterie.documents.catalog import Catalog
from coterie.dsl.errors import InvalidDocument
from coterie.failures import CommandError, ExitCode
from coterie.settings import load

HALF = "caf\udce9"


def _arguments() -> Iterator[tuple[str, Action]]:
    """Yield every argument of every command that takes a text."""
    commands = next(one.choices for one in whole_parser()._actions if one.dest == "verb")
    for verb, parser in cast("dict[str, ArgumentParser]", commands).items():
        yield from ((verb, one) for one in parser._actions if one.nargs != 0)


ARGUMENTS = {f"{verb} {one.option_strings or one.dest}": (verb, one) for verb, one in _arguments()}


def _words(verb: str, action: Action, value: str) -> list[str]:
    """Return a call with a value for one argument, and one for each that is required."""
    option = action.option_strings[-1:]
    needed = [
        other
        for command, other in ARGUMENTS.values()
        if command == verb and other is not action and other.required
    ]
    words = [verb, *option, value]
    for other in needed:
        given = next(iter(other.choices)) if other.choices else "x"
        words += [*other.option_strings[-1:], given]
    return words


def test_the_table_has_arguments_of_nearly_every_command() -> None:
    without = {"completion", "doctor", "purge", "server"}
    assert {verb for verb, _ in ARGUMENTS.values()} >= VERBS.keys() - without


@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_argument_that_is_no_text_is_refused_with_a_sentence(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    verb, action = ARGUMENTS[name]
    value = f"a={HALF}" if action.metavar == "KEY=VALUE" else HALF
    assert main(_words(verb, action, value)) == 2
    assert capsys.readouterr().err == f"coterie: the argument {value!a} is not UTF-8 text\n"


JSON = {name: one for name, one in ARGUMENTS.items() if "JSON" in str(one[1].metavar)}


SUBJECTS = {
    "run": ["coordinator"],
    "start": ["coordinator"],
    "chat": ["tool_router", "--script", "lines.txt"],
    "agent": ["run", "goal"],
    "approve": ["x"],
    "skip": ["x", "task"],
    "tools": ["call", "Calculator.evaluate"],
}
"""What each command that takes JSON is called with; a new one belongs here."""


@pytest.mark.parametrize("name", JSON)
def test_json_that_parsers_read_differently_is_refused_by_every_command(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lines.txt").write_text("hello\n")
    verb, action = JSON[name]
    option = action.option_strings[-1]
    assert main([verb, *SUBJECTS[verb], option, '{"a": 1, "a": 2}']) == 2
    error = capsys.readouterr().err
    assert f"{option}: it has the key 'a' twice in one object" in error
    assert "a bug" not in error


def test_an_environment_variable_that_is_no_text_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COTERIE_TASK_QUEUE", HALF)
    assert main(["runs"]) == 2
    assert capsys.readouterr().err == (
        "coterie: COTERIE_TASK_QUEUE is 'caf\\udce9', which is not UTF-8 text\n"
    )


def test_a_file_whose_name_is_no_text_is_refused_with_the_fix(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    (tmp_path / "config" / "teams" / f"{HALF}.yml").write_text("a: 1\n")
    assert main(["validate"]) == 2
    error = capsys.readouterr().out
    assert "'caf\\udce9.yml' is a name that is not UTF-8" in error
    assert "fix: rename the file" in error


def test_every_command_that_waits_for_a_run_has_a_limit_and_need_not_wait() -> None:
    waiting = {verb for verb, one in ARGUMENTS.values() if "--timeout" in one.option_strings}
    assert waiting >= {"cancel", "pause", "resume", "result"}
    parser = whole_parser()
    for verb in waiting:
        words = [verb, "x"]
        assert parser.parse_args(words).timeout is None
        assert parser.parse_args([*words, "--no-wait"]).timeout == 0
        assert parser.parse_args([*words, "--timeout", "1m"]).timeout == 60
        with pytest.raises(SystemExit):
            parser.parse_args([*words, "--timeout", "0"])
    assert f"{ExitCode.NOT_YET:d} not yet" in parser.format_help()


def _replaced(source: str) -> set[str]:
    """Return the arguments that a module replaces before it hands the others on."""
    dicts = [one for one in ast.walk(ast.parse(source)) if isinstance(one, ast.Dict)]
    handed = [one for one in dicts if "vars(args)" in map(ast.unparse, one.values)]
    keys = [key for one in handed for key in one.keys]
    return {str(key.value) for key in keys if isinstance(key, ast.Constant)}


def _called_by(module: ModuleType) -> set[ModuleType]:
    """Return our own modules whose functions a module names."""
    functions = filter(inspect.isfunction, vars(module).values())
    found = {inspect.getmodule(one) for one in functions}
    return {one for one in found if one is not None and one.__name__.startswith("coterie.")}


def _unread(verb: str, source: str) -> set[str]:
    """Return the arguments of a command that neither its source nor a module it calls reads.

    What it replaces, it reads itself: the others see only what is in its place.
    """
    own = import_module(VERBS[verb].module)
    called = _called_by(own)
    for one in [other for other in called if other.__name__.startswith("coterie.commands.")]:
        called |= _called_by(one)  # a module of commands hands its arguments on, too
    others = "".join(map(inspect.getsource, called - {own}))
    replaced = _replaced(source)
    return {
        one.dest
        for command, one in ARGUMENTS.values()
        if command == verb
        and not re.search(
            rf"\bargs\.{one.dest}\b", source if one.dest in replaced else source + others
        )
    }


@pytest.mark.parametrize("verb", VERBS)
def test_a_command_reads_each_argument_that_it_takes(verb: str) -> None:
    """Its module does, or one of the modules that it hands its arguments to."""
    assert _unread(verb, inspect.getsource(import_module(VERBS[verb].module))) == set()


def test_an_argument_that_a_command_replaces_is_read_by_itself() -> None:
    source = inspect.getsource(import_module(VERBS["agent"].module))
    assert _unread("agent", source.replace("args.context", "None")) == {"context"}


@pytest.mark.parametrize("path", ["a..b", "a.", ".a", ".", 'a.["b"].'])
def test_a_path_with_an_empty_part_is_refused(path: str) -> None:
    with pytest.raises(CommandError, match="has an empty part"):
        split_settings([f"{path}=5"])


@pytest.mark.parametrize("path", ["a", "a.b", "a[0].b", 'a["b.c"]', '["b"].c', 'a[""]'])
def test_a_path_without_an_empty_part_is_taken(path: str) -> None:
    assert split_settings([f"{path}=5"]) == [(path, "5")]


BYTES = {
    "Latin-1": ("a: 1\nb: gr\u00fcn\n".encode("latin-1"), 2, 6, "byte 0xFC, in Latin-1 '\u00fc'"),
    "UTF-16": ("a: 1\n".encode("utf-16"), 1, 1, "it is UTF-16 text"),
    "a long file": (b"# x\n" * 5_000 + b"\xff", 5_001, 1, "byte 0xFF"),
    "a byte order mark": (b"\xef\xbb\xbfa: \x96", 1, 4, "byte 0x96"),
}


@pytest.mark.parametrize("kind", BYTES)
def test_bytes_that_are_no_utf8_are_reported_at_their_place(kind: str, tmp_path: Path) -> None:
    data, line, column, reason = BYTES[kind]
    file = tmp_path / "given.yml"
    file.write_bytes(data)
    with pytest.raises(InvalidDocument) as argument:
        read_text(file, "given.yml")
    catalog = Catalog(load({}, tmp_path))
    located = catalog.locate("given.yml")
    with pytest.raises(InvalidDocument) as document:
        catalog.sources(located)
    for (problem,) in (argument.value.problems, document.value.problems):
        assert (problem.line, problem.column) == (line, column)
        assert reason in problem.message
        assert problem.fix == "save the file as UTF-8"


def test_a_team_is_drawn_where_the_worker_lacks_its_commands(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "coterie.yml").write_text("worker: {}\n")
    assert main(["graph", "development"]) == 0
    assert "Discovery" in capsys.readouterr().out
    assert main(["plan", "development"]) == 2
    assert "fix: add it to coterie.yml: `worker: { commands: { test:" in capsys.readouterr().err
