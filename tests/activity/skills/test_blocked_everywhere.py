"""The corpus of blocked texts against every built-in tool that takes code, paths or addresses."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from pydantic import JsonValue
from temporalio.exceptions import ApplicationError

from activities.skills.skill_registry import SKILLS
from activities.workspace.command_parameters import Parameter, ParameterType
from activities.workspace.skill_base import Command, Workspace
from activities.workspace.web_access import WebAccess
from dsl.safety.blocked_rules import FieldKind
from dsl.values import Json
from dsl.wording.blocked_wording import BlockedRule, blocked_text
from tests.support.skills import call
from tests.unit.dsl.safety.test_blocked_fields import BLOCKED, PROSE

Given = Callable[[str], Json]
"""The input of a call with a text in one field."""


def change(text: str) -> Json:
    return {"file_path": text, "type": "create", "content": "mine"}


TOOLS: dict[str, tuple[FieldKind, Given]] = {
    "AssetManager.apply_changes": ("path", lambda text: {"changes": [change(text)]}),
    "AssetManager.process_action": ("path", change),
    "Discovery.collect": ("path", lambda text: {"path": text}),
    "Files.list": ("path", lambda text: {"path": text}),
    "Files.read": ("path", lambda text: {"path": text}),
    "Files.search": ("path", lambda text: {"pattern": "a", "path": text}),
    "Files.view": ("path", lambda text: {"path": text}),
    "Files.write": ("path", lambda text: {"path": text, "content": "mine"}),
    "Git.commit": ("path", lambda text: {"message": "m", "paths": [text]}),
    "Git.diff": ("path", lambda text: {"paths": [text]}),
    "Git.log": ("path", lambda text: {"paths": [text]}),
    "Python.run": ("code", lambda text: {"code": text}),
    "Web.fetch": ("url", lambda text: {"url": text}),
}
PLACES = ("path", "paths", "file_path", "url", "code", "cwd", "folder", "directory")
"""What fields of these kinds are called."""
PARAMETERS: tuple[ParameterType, ...] = ("path", "url", "code", "command")


OF_PATHS = {
    "../x": "has '..', which could lead outside the root",
    "a/../b": "has '..', which could lead outside the root",
    "..": "has '..', which could lead outside the root",
    "..\\x": "has a backslash; use '/'",
    "a\x00b": "contains a NUL character",
}
"""What tools with paths of the project say, which look at them before the rules do."""


def said(rule: BlockedRule, text: str, message: str) -> bool:
    """Whether a refusal says what the text does by this rule, and what to do instead."""
    why = blocked_text(rule, "").removeprefix("''")
    return why in message or (text in OF_PATHS and OF_PATHS[text] in message)


def names_in(schema: JsonValue) -> set[str]:
    """The names of all properties of a schema."""
    match schema:
        case dict():
            own = schema.get("properties")
            found = {*own} if isinstance(own, dict) else set[str]()
            return found.union(*map(names_in, schema.values()))
        case list():
            return set[str]().union(*map(names_in, schema))
        case _:
            return set()


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.txt").write_text("a")
    (tmp_path / "secret.txt").write_text("4711")
    commands = {
        kind: Command(kind, ("echo", "{it}"), parameters={"it": Parameter("it", kind)})
        for kind in PARAMETERS
    }
    web = WebAccess(fetch=True)
    return Workspace(root, commands, environment=dict(os.environ), web=web)


def files(workspace: Workspace) -> Mapping[str, bytes]:
    """Everything in and around the project, but for the worker's own files."""
    return {
        str(file): file.read_bytes()
        for file in workspace.root.parent.rglob("*")
        if file.is_file() and not file.is_relative_to(workspace.state_dir)
    }


def test_every_tool_that_takes_such_a_text_is_in_the_table() -> None:
    taking = {
        name for name, one in SKILLS.items() if names_in(one.contract().input_schema) & {*PLACES}
    }
    assert taking - {"SemanticIterator.initialize"} == {*TOOLS} | {"Git.commit"}


@pytest.mark.parametrize("tool", TOOLS)
async def test_no_blocked_text_reaches_anything(tool: str, workspace: Workspace) -> None:
    kind, given = TOOLS[tool]
    before = files(workspace)
    for text, rule in BLOCKED[kind].items():
        with pytest.raises(ApplicationError) as caught:
            await call(workspace, tool, given(text))
        assert caught.value.type == "SkillRefused", text
        assert said(rule, text, caught.value.message), text
    assert files(workspace) == before


@pytest.mark.parametrize("kind", PARAMETERS)
async def test_no_blocked_text_becomes_an_argument_of_a_command(
    kind: FieldKind, workspace: Workspace
) -> None:
    for text, rule in BLOCKED[kind].items():
        given: Json = {"command": kind, "arguments": {"it": text}}
        with pytest.raises(ApplicationError) as caught:
            await call(workspace, "CommandRunner.run", given)
        assert caught.value.type == "SkillRefused"
        assert said(rule, text, caught.value.message), text


@pytest.mark.parametrize("text", PROSE)
async def test_prose_passes_through_tools_that_take_texts(text: str, workspace: Workspace) -> None:
    assert await call(workspace, "Files.write", {"path": "prose.txt", "content": text})
    assert (workspace.root / "prose.txt").read_text() == text
