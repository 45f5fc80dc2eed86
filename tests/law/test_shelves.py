"""Rooms have shelves: few files beside each other, unique names, imports at the top."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from coterie.commands.table import VERBS
from tests.law.sources import ROOMS, ROOT, by_folder, modules, tops

MAX_FILES = 25
"""Beside each other in one folder."""

MAX_LINES = 450
"""Of one file."""

_MCP = "the SDK of MCP, which the extra `mcp` installs"
_A2A = "the SDK of A2A, which the extra `a2a` installs"
_SERVE = "FastAPI and what else the extra `serve` installs"
_WEB = "the libraries of the extra `web`"
_KNOWLEDGE = "the libraries of the extra `retrieval`"
_SDK = "the SDK of a vendor: a worker pays only for those that its teams use"
_SQL = "SQLAlchemy, which the extra `sql` installs"
_LIGHT = "pydantic and Temporal: `import coterie` loads only the standard library"

LOADERS = {
    ("activities.mcp_client.server_pool", "activities.mcp_client.mcp_connection"): _MCP,
    ("activities.mcp_client.server_pool", "activities.mcp_client.task_polls"): _MCP,
    (
        "activities.notifications",
        "activities.push_delivery",
    ): "the HTTP client, which a worker without A2A clients does not need",
    ("activities.providers.provider_registry", "activities.providers.anthropic"): _SDK,
    ("activities.providers.provider_registry", "activities.providers.openai"): _SDK,
    ("activities.providers.provider_registry", "activities.providers.openai_responses"): _SDK,
    (
        "activities.tool_functions.apis.api_function",
        "activities.tool_functions.apis.api_calls",
    ): "the HTTP client, which a worker without calls of APIs does not need",
    (
        "activities.tool_functions.apis.api_function",
        "activities.tool_functions.apis.remote_agents",
    ): "the HTTP client, which a worker without calls of APIs does not need",
    (
        "activities.tool_functions.knowledge.stores",
        "activities.tool_functions.knowledge.chunk_store",
    ): _KNOWLEDGE,
    (
        "activities.tool_functions.knowledge.stores",
        "activities.tool_functions.knowledge.embedding",
    ): _KNOWLEDGE,
    (
        "activities.tool_functions.knowledge.memory.opened_memory",
        "activities.tool_functions.knowledge.embedding",
    ): _KNOWLEDGE,
    (
        "activities.tool_functions.knowledge.memory.opened_memory",
        "activities.tool_functions.knowledge.memory.sqlite_memory",
    ): _KNOWLEDGE,
    (
        "activities.tool_functions.knowledge.memory.opened_memory",
        "activities.tool_functions.knowledge.memory.postgres_memory",
    ): _SQL,
    (
        "activities.tool_functions.web.arxiv_search",
        "activities.tool_functions.web.arxiv_client",
    ): _WEB,
    (
        "activities.tool_functions.web.web_fetch",
        "activities.tool_functions.web.page_download",
    ): _WEB,
    (
        "activities.tool_functions.web.web_search",
        "activities.tool_functions.web.search_engines",
    ): _WEB,
    ("coterie", "activities.contracts"): _LIGHT,
    ("coterie", "activities.user_code.agent_functions"): _LIGHT,
    ("coterie", "activities.providers.message_model"): _LIGHT,
    ("coterie", "activities.providers.provider"): _LIGHT,
    ("coterie", "coterie.agents.team_program"): _LIGHT,
    ("coterie", "dsl.tool_loop.exchange"): _LIGHT,
    ("coterie.commands.operations.serve", "coterie.mcp_server.client_protocols"): _MCP,
    ("coterie.commands.operations.serve", "gateway.doors.mcp_local_tools"): _MCP,
    ("coterie.worker.server_sign_in", "activities.mcp_client.sign_in_flow"): _MCP,
    ("coterie.worker.console_logins", "activities.mcp_client.browser_logins"): _MCP,
    ("coterie.worker.console_logins", "activities.mcp_client.sign_in_flow"): _MCP,
    (
        "gateway.console.server_sign_ins.server_sign_in_routes",
        "coterie.worker.console_logins",
    ): "the HTTP client, which a gateway without such sign-ins does not need",
    ("coterie.commands.operations.serve", "gateway.serving"): _SERVE,
    ("coterie.commands.screen_option", "coterie.ui.run_screen"): "Textual, of the extra `ui`",
    (
        "coterie.documents.tool_packages",
        "coterie.documents.tool_discovery",
    ): "asyncio and Temporal, which a document without tools of its own does not need",
    ("coterie.executions.execution_repository", "coterie.executions.execution_table"): _SQL,
    ("coterie.inspection.recorded_requests", "coterie.replay.rebuilt_run"): "the interpreter, only "
    "for a run that no worker answers for",
    ("coterie.storage.large_values", "coterie.storage.bucket"): "Temporal's driver of S3, which "
    "takes 20 ms of every command, and few projects have a bucket",
    (
        "gateway.doors.agui.agui_door",
        "gateway.doors.agui.agui_answers",
    ): "the forms of AG-UI, which take 0.2 s, for its first client",
    ("gateway.doors.a2a.a2a_door", "gateway.doors.a2a.a2a_application"): _A2A,
    ("gateway.doors.mcp_door", "gateway.doors.mcp_application"): _MCP,
    **{
        (f"dsl.model.step_kinds.{module}", "dsl.model.steps"): "for types: the union names it"
        for module in (
            "agent_step",
            "block_step",
            "branch_step",
            "loop_step",
            "parallel_step",
            "step_base",
            "step_list",
            "task_graph_step",
            "try_step",
        )
    },
}
"""`{(who, imports what only when it is needed): what is behind it}`; some want only its types.
Commands are loaded by `coterie.commands.table`."""


FACADES = {
    "AgentFactory": ("activities.factory", "coterie.agents.python_factory"),
    "BaseAgent": ("activities.agents.agent_base", "coterie.agents.python_agent"),
}
"""The class names that two rooms have. The documents and the programs of the field both call these
things so; the class for programs extends the one for documents, so they are one thing with two
doors."""


def sources() -> Iterator[tuple[str, Path]]:
    for room in ROOMS:
        yield from modules(room)


def deferred(name: str, file: Path) -> Iterator[tuple[str, str]]:
    """Imports of our own rooms that wait until a function runs or a type is checked."""
    tree = ast.parse(file.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node not in tree.body:
            module = by_folder(node.module or "")
            yield from ((name, one) for one in {module} if tops({one}) & set(ROOMS))


def test_no_folder_holds_more_files_than_a_person_can_survey() -> None:
    files = [file for room in (*ROOMS, "tests") for _, file in modules(room)]
    counted = Counter(file.parent for file in files if file.name != "__init__.py")
    assert {folder for folder, count in counted.items() if count > MAX_FILES} == set()


def test_no_file_is_longer_than_a_person_can_read_at_once() -> None:
    long = {name for name, file in sources() if len(file.read_text().splitlines()) > MAX_LINES}
    assert long == set(), "split it along a seam"


def test_no_two_modules_have_the_same_name() -> None:
    names = Counter(
        file.stem
        for name, file in sources()
        # Alembic wants the name `env.py`.
        if file.name not in ("__init__.py", "env.py")
        and not name.startswith(("coterie.commands.", "dsl.kinds."))
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_no_two_classes_have_the_same_name() -> None:
    modules_of: dict[str, list[str]] = {}
    for name, file in sources():
        for made in names_in(file).classes:
            if not made.startswith("_"):
                modules_of.setdefault(made, []).append(name)
    repeated = {name: tuple(found) for name, found in modules_of.items() if len(found) > 1}
    assert repeated == FACADES


def test_limits_are_named_as_limits() -> None:
    superlative = re.compile(r"_?(MOST|LONGEST|LARGEST|DEEPEST|WIDEST|DEAREST|SHORTEST|LEAST)\b")
    names = {
        f"{name}.{value}"
        for name, file in sources()
        for value in names_in(file).values
        if superlative.match(value.replace("_", " ").strip().partition(" ")[0])
    }
    assert names == set(), "a limit is MAX_..., MIN_..., DEFAULT_... or ..._TIMEOUT"


class Names(NamedTuple):
    """What a module names at its top."""

    classes: list[str]
    values: list[str]


@cache
def names_in(file: Path) -> Names:
    """The classes of a module, and the names that its statements give values."""
    body = ast.parse(file.read_text()).body
    return Names(
        [node.name for node in body if isinstance(node, ast.ClassDef)],
        [target.id for node in body for target in targets_of(node)],
    )


def targets_of(node: ast.stmt) -> list[ast.Name]:
    """The names that a statement of a module gives values."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
    return [target for target in targets if isinstance(target, ast.Name)]


def test_the_rooms_import_each_other_at_the_top() -> None:
    found = {one for name, file in sources() for one in deferred(name, file)}
    assert found == LOADERS.keys(), "import at the top, or name the loader and why it waits"


def test_one_module_reads_the_events_of_histories() -> None:
    readers = {name for name, file in sources() if "_event_attributes" in file.read_text()}
    assert readers == {
        "coterie.runs.histories.foreign_events",  # of workflows and Nexus operations
        "coterie.runs.histories.history_events",
        "coterie.storage.histories",  # whether it is a history
        "coterie.testing.simulation.clock",  # the clock of a test server
    }


def test_every_command_has_one_module_in_the_table() -> None:
    listed = {verb.module for verb in VERBS.values()}
    folder = ROOT / "coterie" / "commands"
    files = {
        ".".join(file.relative_to(ROOT).with_suffix("").parts)
        for file in folder.rglob("*.py")
        if file.parent != folder and file.name != "__init__.py"
    }
    assert listed == files
