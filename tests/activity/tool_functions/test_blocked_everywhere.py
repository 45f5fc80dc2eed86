"""The corpus of blocked texts against every built-in tool that takes code, paths or addresses."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel, JsonValue
from temporalio.exceptions import ApplicationError

from coterie.activities.tool_functions.function_registry import TOOL_FUNCTIONS
from coterie.activities.workspace.command_parameters import Parameter, ParameterType
from coterie.activities.workspace.function_base import Command, Workspace
from coterie.activities.workspace.web_access import WebAccess
from coterie.dsl.safety.blocked_rules import BlockedRule, FieldKind, blocked_text
from coterie.dsl.values import Json
from tests.support.tool_functions import call
from tests.unit.dsl.safety.test_blocked_fields import BLOCKED, PROSE

Given = Callable[[str], Json]
"""The input of a call with a text in one field."""


def change(text: str) -> Json:
    return {"file_path": text, "type": "create", "content": "mine"}


TOOLS: dict[str, tuple[FieldKind, Given]] = {
    "AgentSkills.use": ("path", lambda text: {"name": "poems", "file": text}),
    "AssetManager.apply_changes": ("path", lambda text: {"changes": [change(text)]}),
    "AssetManager.process_action": ("path", change),
    "Discovery.collect": ("path", lambda text: {"path": text}),
    "Files.edit": ("path", lambda text: {"path": text, "old": "a", "new": "b"}),
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
TEXTS = frozenset(
    {
        "base",
        "choices",
        "command",
        "content",
        "description",
        "diff",
        "exclude",
        "expression",
        "if_sha256",
        "include",
        "key",
        "message",
        "name",
        "new",
        "old",
        "packages",
        "pattern",
        "query",
        "question",
        "region",
        "revision",
        "sources",
        "space",
        "text",
        "topic",
        "topics",
    }
)
"""Fields whose texts are no path, address or code. Whoever adds a field names it here, or else
lists its tool function in TOOLS: the `source` of a move is a path, whatever it is called."""
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


def text_fields(schema: JsonValue) -> set[str]:
    """The names of all properties of a schema that are texts, or lists of texts."""
    match schema:
        case dict():
            own = schema.get("properties")
            fields = own if isinstance(own, dict) else {}
            found = {name for name, one in fields.items() if is_text(one)}
            return found.union(*map(text_fields, schema.values()))
        case list():
            return set[str]().union(*map(text_fields, schema))
        case _:
            return set()


def is_text(schema: JsonValue) -> bool:
    """Whether a schema allows any text, also within a list or as an alternative."""
    match schema:
        case {"type": "string"}:
            return "enum" not in schema and "const" not in schema
        case {"anyOf": list(options)}:
            return any(map(is_text, options))
        case {"items": items}:
            return is_text(items)
        case _:
            return False


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
        name
        for name, one in TOOL_FUNCTIONS.items()
        if text_fields(one.contract().input_schema) - TEXTS
    }
    assert taking - {"SemanticIterator.initialize"} == {*TOOLS}


def test_a_path_of_a_tool_counts_whatever_its_field_is_called() -> None:
    class Move(BaseModel):
        source: str
        targets: tuple[str, ...] | None = None
        force: bool = False
        mode: Literal["copy", "rename"] = "rename"

    assert text_fields(Move.model_json_schema()) - TEXTS == {"source", "targets"}


@pytest.mark.parametrize("tool", TOOLS)
async def test_no_blocked_text_reaches_anything(tool: str, workspace: Workspace) -> None:
    kind, given = TOOLS[tool]
    before = files(workspace)
    for text, rule in BLOCKED[kind].items():
        with pytest.raises(ApplicationError) as caught:
            await call(workspace, tool, given(text))
        assert caught.value.type == "FunctionRefused", text
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
        assert caught.value.type == "FunctionRefused"
        message = caught.value.message  # no argument has control characters, whatever its kind
        assert said(rule, text, message) or "free of control characters" in message, text


@pytest.mark.parametrize("text", PROSE)
async def test_prose_passes_through_tools_that_take_texts(text: str, workspace: Workspace) -> None:
    assert await call(workspace, "Files.write", {"path": "prose.txt", "content": text})
    assert (workspace.root / "prose.txt").read_text() == text
