"""Open the store of memories that the worker's configuration names."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from coterie.activities.tool_functions.knowledge.memory.memory_store import MemoryStore
from coterie.activities.tool_functions.missing_packages import needing
from coterie.activities.workspace.function_base import Workspace
from coterie.activities.workspace.function_failures import FunctionFailure

MEMORY_FILE = Path("knowledge") / "memories.db"
"""What agents remember, below the worker's state, unless the worker names a database."""


def has_memories(workspace: Workspace) -> bool:
    """Return whether there may be memories: a database is named, or the file exists."""
    return workspace.memory.variable is not None or (workspace.state_dir / MEMORY_FILE).exists()


@contextmanager
def opened_memory(workspace: Workspace, user: str) -> Generator[MemoryStore]:
    """Open the store; create it if missing. Blocking: a database, and once the model.

    Args:
        workspace: The project, with where its memories are.
        user: The tool function or command that needs it, for the message.

    Raises:
        OSError: It cannot be reached now.
        FunctionFailure: Packages are missing, the database is not named, or it cannot be used.
    """
    memory = workspace.memory
    with needing("retrieval", user):
        from coterie.activities.tool_functions.knowledge.embedding import embedder
        from coterie.activities.tool_functions.knowledge.memory.sqlite_memory import (
            open_sqlite_memory,
        )
    if memory.variable is None:
        file = workspace.state_dir / MEMORY_FILE
        with open_sqlite_memory(file, lambda text: embedder().embed(text)) as store:
            yield store
        return
    if not memory.address:
        raise FunctionFailure(
            f"the environment variable {memory.variable} of the worker is not set, and "
            "`worker.memory.url_env` names it; set it to postgresql://user:password@host/name"
        )
    with needing("sql", user):
        from coterie.activities.tool_functions.knowledge.memory.postgres_memory import (
            open_postgres_memory,
        )
    yield open_postgres_memory(memory.address, memory.project, lambda text: embedder().embed(text))
