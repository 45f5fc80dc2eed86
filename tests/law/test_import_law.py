"""Who may import whom (docs/architecture.md, the law)."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Set as AbstractSet
from pathlib import Path

import pytest

from tests.law.sources import ROOMS, ROOT, by_folder, by_import, imports, modules, tops
from tests.law.view import link_package

SDK_OF: dict[str, str | None] = {
    "anthropic": "anthropic",
    "openai": "openai",
    "scripted": None,
}
"""`{kind of provider: the package of its SDK}`; None of a kind that needs none."""
SDKS = frozenset(sdk for sdk in SDK_OF.values() if sdk)
PURE = {"pydantic", "pydantic_core", "typing_extensions", "jinja2", "re2", "yaml"}


def loaded_by(module: str) -> set[str]:
    """What a fresh interpreter has in `sys.modules` after one import."""
    code = f"import {by_import(module)}, sys, json; print(json.dumps(list(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return set(map(by_folder, json.loads(run.stdout)))


def outside(names: AbstractSet[str]) -> set[str]:
    """The third-party packages among imported names."""
    return tops(names) - set(sys.stdlib_module_names) - set(ROOMS)


def importers(package: str, room: str) -> list[str]:
    return [name for name, file in modules(room) if package in tops(imports(file))]


def test_the_contracts_of_import_linter_hold(tmp_path: Path) -> None:
    view = tmp_path / "view"
    link_package(view)
    config = ROOT / "pyproject.toml"
    run = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache", "--config", config],
        cwd=view,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_language_imports_nothing_but_pure_libraries() -> None:
    for name, file in modules("dsl"):
        assert outside(imports(file)) <= PURE, name


@pytest.mark.parametrize(
    ("package", "files"),
    [
        ("yaml", ["dsl.source.text_edits", "dsl.source.yaml_events"]),
        ("re2", ["dsl.regular_expressions"]),
    ],
)
def test_parsers_that_the_language_borrows_live_in_few_files(
    package: str, files: list[str]
) -> None:
    assert importers(package, "dsl") == files


def test_the_interpreter_imports_the_language_the_contracts_and_temporal() -> None:
    for name, file in modules("workflows"):
        names = imports(file)
        allowed = {"pydantic", "temporalio"}
        allowed |= {"cryptography"} if name == "workflows.signatures.verification" else set()
        assert outside(names) <= allowed, name
        world = {other for other in names if other.startswith("activities.")}
        assert all(other.startswith("activities.contracts") for other in world), name


def test_steps_reach_durable_effects_through_the_scope_alone() -> None:
    for name, file in modules("workflows"):
        if name.startswith("workflows.steps"):
            assert not tops(imports(file)) & {"temporalio", "asyncio"}, name


def test_contracts_are_plain() -> None:
    files = [
        file for name, file in modules("activities") if name.startswith("activities.contracts")
    ]
    names = {name for file in files for name in imports(file)}
    assert outside(names) <= {"pydantic", "temporalio"}
    own = {name for name in names if name.startswith("activities")}
    assert all(name.startswith("activities.contracts.") for name in own)
    temporal = {name for name in names if name.startswith("temporalio")}
    assert all(name.startswith("temporalio.common") for name in temporal)


@pytest.mark.parametrize(("kind", "sdk"), [item for item in SDK_OF.items() if item[1]])
def test_an_sdk_is_imported_by_its_own_provider_only(kind: str, sdk: str) -> None:
    found = [name for room in ROOMS for name in importers(sdk, room)]
    assert found
    assert all(name.startswith(f"activities.providers.{kind}") for name in found), found


def test_importing_the_workflow_loads_no_world() -> None:
    unwanted = {*SDKS, "yaml", "jsonschema", "activities.agents", "activities.tool_functions"}
    loaded = loaded_by("workflows.team")
    assert not loaded & unwanted
    ours = {name for name in loaded if tops({name}) == {"coterie"}}
    assert ours == {"coterie", "coterie.checkout"}


def test_importing_the_contracts_loads_no_world() -> None:
    unwanted = {*SDKS, "yaml", "jsonschema", "activities.agents", "activities.tool_functions"}
    assert not loaded_by("activities.contracts") & unwanted


def test_starting_the_cli_loads_neither_an_sdk_nor_temporal() -> None:
    assert not loaded_by("coterie.cli") & {*SDKS, "temporalio", "jsonschema"}


def test_a_worker_waits_for_no_library_that_its_configuration_does_not_need() -> None:
    unneeded = {*SDKS, "mcp", "mcp_types", "httpx", "sqlite_vec", "numpy"}
    assert not loaded_by("coterie.worker.workers") & unneeded


def test_a_process_of_the_pool_waits_for_neither_temporal_nor_an_sdk() -> None:
    unneeded = {*SDKS, "temporalio", "jsonschema", "yaml"}
    assert not loaded_by("activities.process_pool.pool_child") & unneeded


def test_no_http_client_reads_the_trusted_authorities_for_itself() -> None:
    """It would stop the worker for 20 ms, for each page or notice."""
    made = [
        (name, ast.unparse(node))
        for room in ROOMS
        for name, file in modules(room)
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call)
        and re.fullmatch(r"httpx2\.Async\w+|http_client|BoundedTransport", ast.unparse(node.func))
    ]
    assert made
    assert [one for one in made if not re.search(r"trusted\(|transport=", one[1])] == []


def test_the_environment_is_read_in_one_file() -> None:
    """A setting that is read where it is used cannot be found, typed or tested.

    A child process reads none: it undoes what a call of user code has changed.
    """
    readers = [
        name
        for room in ROOMS
        for name, file in modules(room)
        if re.search(r"\b(environb?|getenv)\b", file.read_text())
    ]
    assert readers == ["activities.processes.child_loop", "coterie.settings"]


def test_importing_the_package_waits_for_no_library() -> None:
    """A tool of a user's package imports `coterie` in each of its processes."""
    assert not {"pydantic", "jinja2", "yaml", "temporalio", "coterie.agents"} & loaded_by("coterie")


def test_help_of_the_command_line_waits_for_no_library() -> None:
    assert not {"pydantic", "jinja2", "yaml", "temporalio"} & loaded_by("coterie.cli")


def test_validation_waits_for_no_temporal() -> None:
    loaded = loaded_by("coterie.commands.documents.validate")
    assert "dsl.analysis.findings" in loaded
    assert not {"temporalio", "google", "asyncio"} & loaded


@pytest.mark.parametrize("command", ["control.approve", "runs.pending", "runs.result"])
def test_a_command_that_asks_a_run_waits_for_no_interpreter_and_no_compiler(command: str) -> None:
    loaded = loaded_by(f"coterie.commands.{command}")
    assert "temporalio.client" in loaded
    assert not {"temporalio.worker", "workflows.team", "dsl.compile.compiler", "jinja2"} & loaded


def door_of(module: str) -> str:
    """`gateway.doors.a2a.x` is of `a2a`; the files of MCP have no folder."""
    name = module.removeprefix("gateway.doors").removeprefix(".").partition(".")[0]
    return name.partition("_")[0]


def test_doors_know_neither_each_other_nor_the_console() -> None:
    """What several doors share has one place below them: `gateway/sessions`, or the operations."""
    wrong = [
        f"{name} imports {used}"
        for name, file in modules("gateway")
        if name.startswith("gateway.doors.")
        for used in imports(file)
        if used.startswith("gateway.console")
        or (used.startswith("gateway.doors.") and door_of(used) != door_of(name))
    ]
    assert wrong == []
