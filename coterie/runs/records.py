"""What `coterie run` keeps of a run that it began, to go on with it: its worker's configuration.

The plan and all that happened is in the run's own history; only what a worker must have to serve
it is kept here, as it was at the start, so that editing a file never strands a run.
"""

import platform
import re
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

from pydantic import Field, ValidationError

from activities.workspace.project_files import write_private
from coterie.documents.worker_trust import TrustedConfig
from coterie.failures import CommandError
from coterie.settings import Settings, state_folder
from dsl.errors import listed
from dsl.values import Frozen

PRIVATE = "coterie-run-"
"""How the queues begin that `coterie run` serves."""


class RunRecord(Frozen):
    """A run of this project."""

    id: str
    task_queue: str
    trusted: TrustedConfig
    keys: dict[str, str] = Field(default_factory=dict[str, str])
    """`{provider: name of the variable that holds its key}`, for the providers of the plan."""
    begun: str
    """ISO 8601, UTC."""


def new_record(
    settings: Settings, id: str | None, plan: str, trusted: TrustedConfig, keys: dict[str, str]
) -> RunRecord:
    """What serving a new run takes.

    Args:
        settings: the project.
        id: the run's; made up from the plan's name when None.
        plan: the plan's name.
        trusted: what its worker may touch.
        keys: of the providers that it uses.

    Raises:
        CommandError: a run of this id was begun here before.
    """
    record = RunRecord(
        id=id or new_id(plan),
        task_queue=queue_of(trusted),
        trusted=trusted,
        keys=keys,
        begun=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    if _file(settings.state / "runs", record.id).exists():
        raise CommandError(
            f"a run {record.id!r} was begun here already; go on with it: coterie run --resume "
            f"{record.id}"
        )
    return record


@contextmanager
def kept(settings: Settings, record: RunRecord) -> Generator[None]:
    """Write the record down before the run starts in the block, so that no crash loses it.

    A run that did not start leaves none.
    """
    folder = state_folder(settings) / "runs"
    folder.mkdir(exist_ok=True)
    file = _file(folder, record.id)
    write_private(file, record.model_dump_json(indent=2, by_alias=True) + "\n")
    try:
        yield
    except CommandError:
        file.unlink(missing_ok=True)
        raise


def new_id(plan: str) -> str:
    """An id that people can type: the plan's name and eight random digits."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", plan).strip("-") or "run"
    return f"{name}-{uuid4().hex[:8]}"


def queue_of(trusted: TrustedConfig) -> str:
    """The queue of a configuration: two of them, or two machines, never take each other's work."""
    name = sha256(f"{platform.node()} {trusted.digest}".encode()).hexdigest()[:12]
    return f"{PRIVATE}{name}"


def find(settings: Settings, id: str | None) -> RunRecord:
    """The record of a run, or of the latest one.

    Raises:
        CommandError: there is none.
    """
    folder = settings.state / "runs"
    file = _file(folder, id) if id is not None else _latest(folder)
    if file is None:
        raise CommandError(f"no run was begun in {settings.project}; begin one: coterie run TEAM")
    try:
        return RunRecord.model_validate_json(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        known = [record.stem for record in _records(folder)][-10:]
        raise CommandError(
            f"the run {id!r} was not begun by `coterie run` in {settings.project}; the latest "
            f"there: {listed(known)}. If `coterie start` began it, serve it with `coterie worker`; "
            "else go on with it in the project where it was begun"
        ) from None
    except ValidationError:
        raise CommandError(
            f"{file} is damaged, which says what the run may touch; put it back from a copy, or "
            "end the run: temporal workflow terminate"
        ) from None


def _file(folder: Path, id: str) -> Path:
    return folder / f"{quote(id, safe='')}.json"


def _records(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime)


def _latest(folder: Path) -> Path | None:
    files = _records(folder) if folder.is_dir() else []
    return files[-1] if files else None
