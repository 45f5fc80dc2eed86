"""What the sandbox of workflows lets through unseen cannot do anything that it should see."""

import ast
from pathlib import Path

from temporalio.converter import WorkflowSerializationContext

from coterie.runtime.workflow_sandbox import DATA, DECIDING, LANGUAGE, LIBRARIES
from coterie.storage.wire import data_converter
from tests.law.sources import ROOMS, by_folder, by_import, imports, modules, tops

VERIFYING = {"base64", "binascii", "cryptography"}
"""Ed25519 verification has no chance, and reads no clock."""

HARMLESS = {
    "collections",
    "contextlib",
    "contextvars",
    "copy",
    "dataclasses",
    "datetime",
    "enum",
    "functools",
    "hashlib",
    "inspect",
    "itertools",
    "json",
    "typing",
}
"""Of the standard library; `datetime.now` is refused by ruff."""

ANSWERING = (
    "coterie.workflows.core.decoding",
    "coterie.workflows.core.encoding",
    "coterie.workflows.handlers.message_handlers",
    "coterie.workflows.handlers.query_handlers",
    "coterie.workflows.handlers.session_messages",
)
"""Modules that handle messages."""

ACTING = (
    "coterie.workflows.temporal.branches",
    "coterie.workflows.temporal.activity_calls",
    "coterie.workflows.temporal.branches",
    "coterie.workflows.temporal.call_failures",
    "coterie.workflows.temporal.durable_scope",
    "coterie.workflows.temporal.foreign_answers",
    "coterie.workflows.temporal.foreign_calls",
    "coterie.workflows.temporal.pacer",
)
"""Modules with the Scope of a workflow. Their effects are Temporal's own, and of
asyncio they use only tasks. In the sandbox, each run would keep 80 kB of identical functions."""

INSIDE = {
    "workflows",
    "workflows.audit_log",
    "workflows.bulk_action",
    "workflows.plan_source",
    "workflows.team",
    "workflows.team_registry",
}
"""What a run has for itself alone."""

TASKS = {"CancelledError", "Future", "Task", "create_task", "current_task", "get_running_loop"}
"""Of asyncio what Temporal's own event loop does: neither clocks nor threads nor files."""

MESSAGES = {"current_update_info", "now", "payload_converter", "query", "signal", "update"}
"""Of Temporal's API what takes a message: it starts nothing and waits for nothing."""


def passed(name: str) -> bool:
    whole = by_import(name)
    return any(whole == one or whole.startswith(f"{one}.") for one in (*DATA, *DECIDING))


def used(file: Path, module: str = "workflow") -> set[str]:
    """What a file takes of `temporalio.workflow`, or of another module."""
    return {
        node.attr
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == module
    }


def test_the_workflow_itself_stays_inside_the_sandbox() -> None:
    assert {name for name, _ in modules("workflows") if not passed(name)} == INSIDE
    assert not {by_folder(name) for name in LANGUAGE} & {"workflows", "coterie"}
    assert not tops(set(LIBRARIES)) & set(ROOMS)


def test_passed_through_modules_import_only_the_language_the_contracts_and_each_other() -> None:
    for name, file in modules("workflows"):
        if passed(name):
            imported = imports(file)
            ours = {other for other in imported if tops({other}) & set(ROOMS)} - {"workflows"}
            pure = ("dsl", "activities.contracts")
            assert all(other.startswith(pure) or passed(other) for other in ours), name
            known = HARMLESS | {"pydantic", "workflows"}
            known |= {"temporalio"} if by_import(name) in (*ANSWERING, *ACTING) else set()
            known |= {"asyncio"} if by_import(name) in ACTING else set()
            known |= VERIFYING if name == "workflows.signatures.verification" else set()
            assert tops(imported - ours) <= known, name


def test_message_handlers_use_no_part_of_temporal_that_starts_or_waits() -> None:
    files = {by_import(name): file for name, file in modules("workflows")}
    allowed = {
        "temporalio",
        "temporalio.workflow",
        "temporalio.common",
        "temporalio.common.RawValue",
        "temporalio.exceptions",
        "temporalio.exceptions.ApplicationError",
        "temporalio.api.common.v1",
        "temporalio.api.common.v1.Payload",
    }
    for name in ANSWERING:
        assert {one for one in imports(files[name]) if tops({one}) == {"temporalio"}} <= allowed
        assert used(files[name]) <= MESSAGES, name


def test_scope_uses_only_the_tasks_of_asyncio() -> None:
    files = {by_import(name): file for name, file in modules("workflows")}
    for name in ACTING:
        assert used(files[name], "asyncio") <= TASKS, name
        assert "asyncio" not in {one.rpartition(".")[0] for one in imports(files[name])}, name
        assert not used(files[name]) & {"unsafe", "random", "uuid4"}, name


def test_a_value_is_encoded_the_same_wherever_it_is() -> None:
    """So the worker need not enter the sandbox to ask where it is."""
    somewhere = WorkflowSerializationContext(namespace="default", workflow_id="a-run")
    assert data_converter.with_context(somewhere) is data_converter
