"""What a workspace is made of: its places, its commands, the hosts of the web, its failures."""

from pathlib import Path
from typing import Annotated

import pytest
from pydantic import AliasChoices, BaseModel, Field, JsonValue, TypeAdapter

from coterie.activities.contracts import FailureType
from coterie.activities.workspace.function_base import (
    Command,
    FunctionContext,
    ToolFunction,
    Workspace,
)
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal
from coterie.activities.workspace.web_access import WebAccess
from coterie.dsl.schema_keys import ALSO, KIND
from coterie.dsl.values import MAX_COMMAND_TIMEOUT


def test_a_workspace_knows_its_places_by_their_real_paths(tmp_path: Path) -> None:
    root, link = tmp_path / "project", tmp_path / "link"
    (root / "real").mkdir(parents=True)
    (root / "state").symlink_to("real")
    link.symlink_to(root)
    workspace = Workspace(link, state_dir=Path("state"))
    assert workspace.root == root.resolve()
    assert workspace.state_dir == (root / "real").resolve()
    assert workspace.inside("a/b.txt") == root.resolve() / "a" / "b.txt"


@pytest.mark.parametrize("timeout", [0.001, 1.0, MAX_COMMAND_TIMEOUT])
def test_a_command_may_have_any_timeout_up_to_the_largest(timeout: float) -> None:
    assert Command("it", ("make",), timeout=timeout).timeout == timeout


@pytest.mark.parametrize("timeout", [0.0, -1.0, MAX_COMMAND_TIMEOUT + 1])
def test_a_command_with_another_timeout_is_a_mistake(timeout: float) -> None:
    with pytest.raises(ValueError, match="has a timeout of"):
        Command("it", ("make",), timeout=timeout)


@pytest.mark.parametrize("run", [(), ("", "x")])
def test_a_command_has_a_program(run: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="no program"):
        Command("it", run)


LISTED = WebAccess(hosts=("*.Example.org", "docs.io"), private_hosts=("wiki", "db:8080"))


@pytest.mark.parametrize(
    ("host", "readable"),
    [
        ("a.example.org", True),
        ("A.EXAMPLE.ORG.", True),
        ("docs.io", True),
        ("wiki", True),
        ("db", True),
        ("example.org", False),
        ("docs.io.evil.net", False),
        ("d", False),
    ],
)
def test_a_host_is_read_when_any_glob_or_private_name_fits(host: str, readable: bool) -> None:
    assert LISTED.may_read(host) is readable
    assert WebAccess(private_hosts=LISTED.private_hosts).may_read(host)


@pytest.mark.parametrize(
    ("host", "port", "private"),
    [
        ("wiki", 443, True),
        ("Wiki.", 80, True),
        ("db", 8080, True),
        ("db", 80, False),
        ("a.example.org", 443, False),
    ],
)
def test_only_a_listed_host_may_have_a_private_address(host: str, port: int, private: bool) -> None:
    assert LISTED.may_be_private(host, port) is private


def test_the_text_of_a_failure_is_its_message() -> None:
    refused = FunctionRefusal("it is late", FailureType.INPUT_REQUIRED)
    assert (str(refused), refused.type) == ("it is late", FailureType.INPUT_REQUIRED)
    failed = FunctionFailure(message="it is late")
    assert (str(failed), failed.may_pass) == ("it is late", False)


class Many(BaseModel):
    """Input with a list of paths."""

    paths: Annotated[list[str], Field(json_schema_extra={KIND: "path"})]


async def count(given: Many, context: FunctionContext) -> int:
    return len(given.paths)


COUNT = ToolFunction(
    "Many.count", "Count paths.", "read", TypeAdapter(Many), TypeAdapter(int), count
)


@pytest.mark.parametrize(("blocked", "named"), [(1, 1), (5, 5), (6, 5)])
async def test_the_first_five_blocked_texts_are_named(
    blocked: int, named: int, tmp_path: Path
) -> None:
    context = FunctionContext(Workspace(tmp_path), key="k")
    assert await COUNT.call({"paths": ["a", "b"]}, context) == 2
    paths: list[JsonValue] = [f"../{number}" for number in range(blocked)]
    with pytest.raises(FunctionRefusal) as raised:
        await COUNT.call({"paths": ["a", *paths]}, context)
    assert [f"paths.{number}: " in str(raised.value) for number in range(8)] == [
        0 < number <= named for number in range(8)
    ]


class Renamed(BaseModel):
    """Input with a field of two names."""

    path: Annotated[str, Field(validation_alias=AliasChoices("path", "file"))]


async def show(given: Renamed, context: FunctionContext) -> str:
    return given.path


def test_a_field_of_two_names_lists_the_other() -> None:
    made = ToolFunction("It.shows", "Show.", "read", TypeAdapter(Renamed), TypeAdapter(str), show)
    assert made.input_schema["properties"] == {
        "path": {"title": "Path", "type": "string", ALSO: ["file"]}
    }
