"""Typed parameters of commands: one argument each, checked, never a shell's text or an option."""

from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue, ValidationError

from coterie.activities.contracts import FailureType
from coterie.activities.workspace.command_parameters import Parameter
from coterie.activities.workspace.function_base import Command, Workspace
from coterie.dsl.model.sections.worker_document import CommandSection
from coterie.dsl.values import Json
from tests.support.tool_functions import call, refusal

PARAMETERS = (
    Parameter("words", pattern=r"[^%]*", default="none"),
    Parameter("file", "path", default="."),
    Parameter("files", "path", many=True, default=[]),
    Parameter("count", "integer", minimum=-5, maximum=5, default=1),
    Parameter("ratio", "number", default=0.5),
    Parameter("level", "choice", values=("low", "high"), default="low"),
    Parameter("site", "url", default="https://a.example/"),
    Parameter("script", "code", default="1"),
    Parameter("line", "command", default="ls"),
)
PRINT = "import sys; print(sys.argv[1:])"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/-x.txt").write_text("x")
    named = {one.name: one for one in PARAMETERS}
    run = ("{python}", "-c", PRINT, "{words}", "--level={level}", "{count}", "{file}", "{files}")
    rest = ("{site}", "{script}", "{line}", "{ratio}", "{ignored}")
    show = Command("show", (*run, *rest), parameters=named)
    inside = Command("inside", ("{python}", "-c", PRINT, "{file}"), cwd="sub", parameters=named)
    plain = Command("plain", ("{python}", "-c", PRINT, "{words}"))
    needs = Command("needs", ("echo", "{a}"), parameters={"a": Parameter("a")})
    once = Command("once", ("echo", "{a}"), parameters={"a": Parameter("a")}, once=True)
    commands = {one.name: one for one in (show, inside, plain, needs, once)}
    return Workspace(tmp_path, commands, environment={"PATH": "/usr/local/bin:/usr/bin:/bin"})


async def run(workspace: Workspace, command: str = "show", **given: JsonValue) -> list[str]:
    """What the command got, as it printed it."""
    wanted: Json = {"command": command, "arguments": given}
    result = cast("Json", await call(workspace, "CommandRunner.run", wanted))
    assert result["passed"], result["output"]
    return cast("list[str]", result["argv"])[3:]


DEFAULTS = ["none", "--level=low", "1", ".", "https://a.example/", "1", "ls", "0.5", "{ignored}"]


async def test_each_value_becomes_one_argument_as_it_is(workspace: Workspace) -> None:
    words = "a b; rm -rf / && $(id) `id` | {python} {level} 'x\" *"
    got = await run(workspace, words=words, level="high", count=-3, files=["sub", "./sub"])
    assert got == [
        *(words, "--level=high", "-3", ".", "sub", "sub"),
        *("https://a.example/", "1", "ls", "0.5", "{ignored}"),
    ]


async def test_the_command_itself_sees_these_arguments(workspace: Workspace) -> None:
    wanted: Json = {"command": "show", "arguments": {"words": "a $HOME\nb"}}
    result = cast("Json", await call(workspace, "CommandRunner.run", wanted))
    assert str(result["output"]).startswith("['a $HOME\\nb', '--level=low', '1', '.', 'https://")


async def test_defaults_stand_where_nothing_is_given(workspace: Workspace) -> None:
    assert await run(workspace) == DEFAULTS


async def test_a_path_is_relative_to_the_commands_folder_and_never_an_option(
    workspace: Workspace,
) -> None:
    assert await run(workspace, "inside", file="sub/-x.txt") == ["./-x.txt"]


async def test_braces_of_a_command_without_parameters_stay(workspace: Workspace) -> None:
    assert await run(workspace, "plain") == ["{words}"]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"word": "x"}, "unknown argument 'word'; its parameters: count, file"),
        ({"word": "x"}, "did you mean 'words'?"),
        ({"words": 1}, "'words' must be a text"),
        ({"words": "x" * 201}, "at most 200 characters long"),
        ({"words": "a%"}, "like the pattern"),
        ({"words": "a\0b"}, "free of control characters"),
        ({"words": "\x1b[31m"}, "free of control characters"),
        ({"words": "--output=/etc/x"}, "starts with '-', and would be read as an option"),
        ({"file": "../x"}, "has '..', which could lead outside"),
        ({"file": "/etc/passwd"}, "is absolute"),
        ({"file": ".git/config"}, "in .git"),
        ({"file": "%2e%2e/x"}, "leaves its folder"),
        ({"files": "sub"}, "must be a list of at most 100 values"),
        ({"files": ["sub", "../x"]}, "'..'"),
        ({"files": ["sub"] * 101}, "must be a list of at most 100 values"),
        ({"count": 6}, "must be from -5 to 5"),
        ({"count": 1.5}, "must be a whole number"),
        ({"count": True}, "must be a whole number"),
        ({"count": "1"}, "must be a whole number"),
        ({"ratio": 1e300}, "must be from -inf to inf"),
        ({"level": "medium"}, "must be one of low, high"),
        ({"site": "file:///etc/passwd"}, "is no web address"),
        ({"script": "import os"}, "imports a module"),
        ({"line": "rm -rf /"}, "deletes files"),
    ],
)
async def test_a_value_that_does_not_fit_is_refused_before_anything_starts(
    workspace: Workspace, given: Json, why: str
) -> None:
    wanted: Json = {"command": "show", "arguments": given}
    error = await refusal(workspace, "CommandRunner.run", wanted)
    assert (error.type, error.non_retryable) == (FailureType.FUNCTION_REFUSED, True)
    assert why in error.message


@pytest.mark.parametrize(("function", "command"), [("run", "needs"), ("run_once", "once")])
async def test_a_parameter_without_a_default_is_required(
    workspace: Workspace, function: str, command: str
) -> None:
    error = await refusal(workspace, f"CommandRunner.{function}", {"command": command})
    assert f"command {command!r} cannot run so: the argument 'a' is missing" in error.message
    wanted: JsonValue = {"command": command, "arguments": {"a": "x"}}
    result = cast("Json", await call(workspace, f"CommandRunner.{function}", wanted))
    assert result["output"] == "x\n"


@pytest.mark.parametrize(
    "section",
    [
        {"run": ["a", "{x}"], "parameters": {"y": {}}},
        {"run": ["{x}", "{x}"], "parameters": {"x": {}}},
        {"run": ["a", "b{x}"], "parameters": {"x": {"many": True}}},
        {"run": ["a", "{python}"], "parameters": {"python": {}}},
        {"run": ["a", "{x}"], "parameters": {"x": {"type": "choice"}}},
        {"run": ["a", "{x}"], "parameters": {"x": {"values": ["a"]}}},
        {"run": ["a", "{x}"], "parameters": {"x": {"pattern": "(?=a)"}}},
        {"run": ["a", "{X}"], "parameters": {"X": {}}},
    ],
)
def test_a_parameter_without_a_place_or_meaning_is_an_error_of_the_configuration(
    section: Json,
) -> None:
    with pytest.raises(ValidationError):
        CommandSection.model_validate(section)
