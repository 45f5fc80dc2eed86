"""What tool functions may read and change in a workspace, and how their problems read."""

import asyncio
import gc
import os
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    TypeAdapter,
    ValidationError,
)

from coterie.activities.threads.run_threads import FUNCTION_THREADS
from coterie.activities.workspace.file_walk import Entry, walk
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction, Workspace
from coterie.activities.workspace.function_failures import (
    FunctionFailure,
    FunctionRefusal,
    validation_problems,
)
from coterie.activities.workspace.globs import Globs, Ignores
from coterie.activities.workspace.protected_files import protected_path, why_protected
from coterie.activities.workspace.secret_files import holds_secrets
from coterie.activities.workspace.text_files import readable_file


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("src/a.py", None),
        ("a/.env", "'.env', which contains secrets"),
        (".env.local", "'.env.local', which contains secrets"),
        (".env.example", None),
        (".env.dist/x", None),
        (".environment", None),
        (".Coterie./x", "'.Coterie.', which belongs to the worker"),
        ("sub/System_Config.yml", "'System_Config.yml', which the worker trusts"),
        (".co\u200bterie/x", "'.co\\u200bterie', which belongs to the worker"),
    ],
)
def test_a_path_is_protected_by_any_of_its_names(path: str, why: str | None) -> None:
    assert why_protected(Path(path).parts) == why


def test_a_place_protects_itself_what_is_below_it_and_its_hard_links(tmp_path: Path) -> None:
    place, file = tmp_path / "kept", tmp_path / "one.txt"
    (place / "in").mkdir(parents=True)
    file.write_text("x")
    (tmp_path / "twin.txt").hardlink_to(file)
    places = [place, file]
    assert protected_path(place, places) == place
    assert protected_path(tmp_path / "KEPT" / "in" / "new.txt", places) == place
    assert protected_path(tmp_path / "twin.txt", places) == file
    assert protected_path(tmp_path, places) is None
    assert protected_path(tmp_path / "kept2", places) is None
    assert protected_path(tmp_path / "missing", [tmp_path / "gone"]) is None


@pytest.mark.parametrize(
    ("path", "secret"),
    [
        ("a/ID_RSA", True),
        ("id_rsa.pub", False),
        ("secrets.py", False),
        ("secrets.yml", True),
        (".ssh/known_hosts", True),
        (".AWS/x.md", True),
        (".ssh", False),
        ("src/main.py", False),
        (".", False),
    ],
)
def test_a_name_shows_whether_a_file_may_hold_secrets(path: str, secret: bool) -> None:
    assert holds_secrets(path) is secret


def test_a_file_is_wanted_when_it_is_included_and_not_excluded() -> None:
    globs = Globs.of(("*.py", "docs/"), ("test_*",))
    assert [globs.want(path) for path in ("a.py", "docs/x.md", "a.md", "test_a.py")] == [
        True,
        True,
        False,
        False,
    ]
    assert Globs.of((), ()).want("anything")
    assert not Globs.of((), ("out/",)).enter("out")
    assert Globs.of((), ("out",)).enter("outer")
    with pytest.raises(FunctionRefusal, match="exclude has a malformed glob, '!'"):
        Globs.of((), ("*.py", "!"))


def test_the_deepest_ignore_file_with_a_matching_rule_decides() -> None:
    root = Ignores().within("", b"!\n*.log\nbuild/\n")
    deep = root.within("src/", b"!keep.log\n")
    assert root.within("x/", None) is root
    assert [root.ignore(path) for path in ("a.log", "src/keep.log", "build/", "a.txt")] == [
        True,
        True,
        True,
        False,
    ]
    assert [deep.ignore(path) for path in ("src/keep.log", "src/a.log")] == [False, True]


def test_a_walk_names_what_is_there_in_order(tmp_path: Path) -> None:
    for name, text in {
        ".gitignore": "*.log\n",
        "b/.gitignore": "!keep.log\n",
        "b/keep.log": "1",
        "b/c.txt": "22",
        "a.log": "1",
        "a.txt": "",
        "id_rsa": "key",
        "dist/x.txt": "1",
        ".git/config": "1",
        "state/x.txt": "1",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "b" / "link").symlink_to("c.txt")
    (tmp_path / "out").symlink_to("/etc/hosts")
    everything = Globs.of((), ())
    assert list(walk(tmp_path, tmp_path, everything, tmp_path / "state")) == [
        Entry(".gitignore", 6),
        Entry("a.txt", 0),
        Entry("b/.gitignore", 10),
        Entry("b/c.txt", 2),
        Entry("b/keep.log", 1),
        Entry("b/link", why_not="a symlink to c.txt, not followed"),
        Entry("id_rsa", 3, why_not="files of this name contain secrets"),
        Entry("out", why_not="a symlink to a place outside the project, not followed"),
    ]
    (tmp_path / ".gitignore").write_text("*.log\n/b/hidden.txt\n")
    (tmp_path / "b" / ".gitignore").write_text("!keep.log\n/own.txt\n")
    for name in ("hidden.txt", "own.txt"):
        (tmp_path / "b" / name).write_text("1")
    os.mkfifo(tmp_path / "b" / "pipe")
    assert [
        (one.path, one.why_not) for one in walk(tmp_path, tmp_path / "b", everything, tmp_path)
    ] == [
        ("b/.gitignore", ""),
        ("b/c.txt", ""),
        ("b/keep.log", ""),
        ("b/link", "a symlink to c.txt, not followed"),
        ("b/pipe", "not a regular file"),
    ]
    below = walk(tmp_path, tmp_path / "b", Globs.of(("*.log",), ()), tmp_path / "state")
    assert list(below) == [Entry("b/keep.log", 1)]
    assert list(walk(tmp_path, tmp_path / "a.txt", everything, tmp_path)) == [Entry("a.txt", 0)]
    assert list(walk(tmp_path, tmp_path / "gone", everything, tmp_path)) == [
        Entry("gone", why_not="is gone", is_gap=True)
    ]


def test_the_rules_of_a_folder_above_count_from_that_folder(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / ".gitignore").write_text("/a/b/of-root\n/b/kept\n")
    (tmp_path / "a" / ".gitignore").write_text("/b/of-a\n/a/b/kept\n")
    for name in ("kept", "of-root", "of-a"):
        (tmp_path / "a" / "b" / name).write_text("1")
    for top in (tmp_path / "a" / "b", tmp_path / "a", tmp_path):
        found = [one.path for one in walk(tmp_path, top, Globs.of((), ()), tmp_path / "state")]
        assert [path for path in found if path.startswith("a/b/")] == ["a/b/kept"]


def test_a_file_of_exactly_the_largest_size_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"12345")
    workspace = Workspace(tmp_path)
    assert readable_file(workspace, "a.txt", 5) == b"12345"
    with pytest.raises(FunctionFailure, match=r"'a\.txt' has 5 bytes; at most 4 can be read"):
        readable_file(workspace, "a.txt", 4)


@pytest.mark.parametrize(
    ("wrong", "shown"),
    [
        (1, "0: Input should be a valid integer, unable to parse string as an integer"),
        (5, "4: "),
        (6, "; and 1 more"),
    ],
)
def test_the_first_five_problems_of_a_value_are_listed(wrong: int, shown: str) -> None:
    with pytest.raises(ValidationError) as raised:
        TypeAdapter(list[int]).validate_python(["x"] * wrong)
    problems = validation_problems(raised.value)
    assert shown in problems
    assert problems.count("should be") == min(wrong, 5)
    assert ("more" in problems) is (wrong > 5)
    with pytest.raises(ValidationError) as raised:
        TypeAdapter(int).validate_python("x")
    assert validation_problems(raised.value).startswith("Input should be")


class Named(BaseModel):
    """Input with a field of several names."""

    model_config = ConfigDict(extra="forbid")

    path: Annotated[str, Field(validation_alias=AliasChoices("path", "file", "name"))]
    mode: Annotated[str, Field(validation_alias=AliasChoices("how"))] = ""
    text: str = ""
    count: int | None = None


class Said(BaseModel):
    """Output with a field that JSON names otherwise."""

    given: dict[str, Any] = Field(serialization_alias="from")


async def echo(given: Named, context: FunctionContext) -> Said:
    return Said(given=given.model_dump())


ECHO = ToolFunction("Echo.it", "Return it.", "read", TypeAdapter(Named), TypeAdapter(Said), echo)


def test_the_contract_of_a_function_has_its_schemas_and_its_defaults() -> None:
    contract = ECHO.contract()
    assert (contract.name, contract.description, contract.effect) == (
        "Echo.it",
        "Return it.",
        "read",
    )
    assert contract.input_schema == ECHO.input_schema
    assert list(contract.output_schema["properties"]) == ["from"]  # type: ignore[arg-type]
    assert (contract.timeout, contract.retries, contract.asks) == (60.0, 2, False)


def test_the_schema_of_a_function_lists_the_other_names_of_a_field() -> None:
    properties: Any = ECHO.input_schema["properties"]
    assert properties["path"]["x-also"] == ["file", "name"]
    assert "x-also" not in properties["how"]
    assert "x-also" not in properties["text"]


async def test_a_null_counts_as_absent_where_a_field_does_not_allow_it(tmp_path: Path) -> None:
    context = FunctionContext(Workspace(tmp_path), key="k")
    assert await ECHO.call({"file": "a", "text": None, "count": None}, context) == {
        "from": {"path": "a", "mode": "", "text": "", "count": None}
    }
    refused: list[JsonValue] = [
        {"file": None},
        {"file": "a", "text": 3},
        {"file": "a", "x": None},
        None,
        "a",
    ]
    for wrong in refused:
        with pytest.raises(FunctionRefusal, match=r"invalid input for Echo\.it: "):
            await ECHO.call(wrong, context)


async def test_work_that_fails_after_its_caller_was_cancelled_is_not_reported_as_lost() -> None:
    reported: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: reported.append(context))
    begun, go_on = asyncio.Event(), asyncio.Event()

    def work() -> None:
        loop.call_soon_threadsafe(begun.set)
        asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result()
        raise ValueError("too late")

    caller = asyncio.create_task(FUNCTION_THREADS.finish(work))
    await begun.wait()
    caller.cancel()
    await asyncio.sleep(0)
    caller.cancel()
    await asyncio.sleep(0)
    assert not caller.done()
    go_on.set()
    await asyncio.wait([caller])
    assert caller.cancelled()
    del caller
    gc.collect()
    assert not reported


def test_a_name_that_is_no_text_is_a_gap_and_takes_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1")
    (tmp_path / "caf\udce9").mkdir()
    (tmp_path / "caf\udce9" / "b.txt").write_text("1")
    (tmp_path / "link").symlink_to("caf\udce9")
    gap = "its name is not UTF-8"
    assert list(walk(tmp_path, tmp_path, Globs.of((), ()), tmp_path / "state")) == [
        Entry("a.txt", 1),
        Entry("caf?", why_not=gap, is_gap=True),
        Entry("link", why_not="a symlink to caf?, not followed"),
    ]
