"""Keep what `coterie run` needs to resume a run that it started: its worker's configuration.

The run's history contains the plan and all events. The record holds only what a worker needs to
serve the run, as it was at the start, so that editing a file never strands a run.
"""

import platform
import re
import shlex
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote
from uuid import uuid4

from pydantic import Field, ValidationError

from coterie.activities.workspace.project_files import write_private
from coterie.documents.worker_trust import TrustedConfig
from coterie.dsl.errors import listed
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Frozen
from coterie.failures import CommandError
from coterie.runs.run_workspaces import record_file
from coterie.settings import Settings, state_folder

PRIVATE = "coterie-run-"
"""Prefix of the queues that `coterie run` serves."""


class RunRecord(Frozen):
    """A run of this project."""

    id: str
    task_queue: str
    trusted: TrustedConfig
    keys: dict[str, str] = Field(default_factory=dict[str, str])
    """`{provider: environment variable with its key}`, for the providers of the plan."""
    plan: str = ""
    """Digest of the plan that the run brings."""
    begun: str
    """ISO 8601, UTC."""
    mcp_tool: str = ""
    """The tool of `coterie serve --mcp` that started it; empty for other runs, which that command
    neither shows nor serves."""


def new_record(
    settings: Settings,
    id: str | None,
    plan: Plan,
    trusted: TrustedConfig,
    keys: dict[str, str],
    *,
    mcp_tool: str = "",
) -> RunRecord:
    """Create the record of a new run.

    Args:
        settings: The project.
        id: Id of the run; None to generate one from the plan's name.
        plan: The plan that it brings.
        trusted: What its worker may touch.
        keys: Keys of the providers that it uses.
        mcp_tool: The MCP tool that starts it.

    Raises:
        CommandError: This project already started a run with this id.
    """
    record = RunRecord(
        id=id or new_id(plan.name),
        task_queue=queue_of(trusted),
        trusted=trusted,
        keys=keys,
        plan=plan.with_digest().digest,
        begun=datetime.now(UTC).isoformat(timespec="seconds"),
        mcp_tool=mcp_tool,
    )
    if has_record(settings, record.id):
        raise CommandError(
            f"run {record.id!r} was already started here; resume it: coterie run --resume "
            f"{shlex.quote(record.id)}"
        )
    return record


class RecordedRuns:
    """The runs that this project started, also from other processes, with the plans they bring."""

    def __init__(self, settings: Settings) -> None:
        self._folder = settings.state / "runs"

    def bring(self, id: str, plan: Plan) -> bool:
        """Return whether a run has a record, which exists before it starts, with this plan.

        Its id alone proves nothing: once it has ended, anybody can start another run with the id.
        """
        try:
            record = RunRecord.model_validate_json(record_file(self._folder, id).read_bytes())
        except (OSError, ValueError):  # also an invalid record, or an id that names no file
            return False
        return record.id == id and record.plan == plan.with_digest().digest


@contextmanager
def kept(settings: Settings, record: RunRecord) -> Generator[None]:
    """Write the record before the block starts the run, so that no crash loses it.

    Delete it if the run does not start.
    """
    folder = state_folder(settings) / "runs"
    folder.mkdir(exist_ok=True)
    file = record_file(folder, record.id)
    write_private(file, record.model_dump_json(indent=2, by_alias=True) + "\n")
    try:
        yield
    except CommandError:
        file.unlink(missing_ok=True)
        raise


def has_record(settings: Settings, id: str) -> bool:
    """Return whether this project has begun to start a run with this id."""
    return record_file(settings.state / "runs", id).exists()


def never_started(settings: Settings, record: RunRecord) -> str:
    """Say what to do about a run that has a record, and that the server does not know."""
    file = shlex.quote(str(record_file(settings.state / "runs", record.id)))
    return (
        f"the server does not know run {record.id!r}: `coterie run` ended before the run started, "
        "the run belongs to another server, or it ended so long ago that the server deleted it. "
        "Set COTERIE_ADDRESS to its server; or, to start it again with this id, delete its record "
        f"and repeat the command that started it: rm {file}"
    )


def new_id(plan: str) -> str:
    """Generate an id that people can type: the plan's name and eight random digits."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", plan).strip("-") or "run"
    return f"{name}-{uuid4().hex[:8]}"


def queue_of(trusted: TrustedConfig) -> str:
    """Return the queue of a configuration; other configurations and machines have other queues."""
    name = sha256(f"{platform.node()} {trusted.digest}".encode()).hexdigest()[:12]
    return f"{PRIVATE}{name}"


def find(settings: Settings, id: str | None) -> RunRecord:
    """Find the record of a run, or of the latest one.

    Raises:
        CommandError: There is none.
    """
    folder = settings.state / "runs"
    file = record_file(folder, id) if id is not None else _latest(folder)
    if file is None:
        raise CommandError(
            f"no run was started in {settings.project}; `coterie run --help` shows how to start one"
        )
    try:
        return RunRecord.model_validate_json(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        ids = [unquote(record.stem) for record in _records(folder)][-10:]
        raise CommandError(
            f"run {id!r} was not started by `coterie run` in {settings.project}; its latest "
            f"runs: {listed(ids)}. If `coterie start` started it, serve it with `coterie "
            "worker`; otherwise resume it in the project that started it"
        ) from None
    except ValidationError:
        raise CommandError(
            f"{file}, which defines what the run may touch, is damaged; restore it from a copy, or "
            f"end the run: temporal workflow terminate -w {shlex.quote(unquote(file.stem))}"
        ) from None


def mcp_records(settings: Settings) -> list[RunRecord]:
    """Return the runs that MCP clients started in this project, latest first."""
    records: list[RunRecord] = []
    for file in reversed(_records(settings.state / "runs")):
        try:
            record = RunRecord.model_validate_json(file.read_text(encoding="utf-8"))
        except (OSError, ValidationError):
            continue  # `find` reports it, if anybody asks for this run
        if record.mcp_tool:
            records.append(record)
    return records


def mcp_record(settings: Settings, id: str) -> RunRecord | None:
    """Return the run with this id if an MCP client started it in this project.

    Raises:
        CommandError: Its record is damaged.
    """
    try:
        if not record_file(settings.state / "runs", id).is_file():
            return None
    except OSError:  # such as a name that is too long
        return None
    record = find(settings, id)
    return record if record.mcp_tool else None


def _records(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime)


def _latest(folder: Path) -> Path | None:
    files = _records(folder) if folder.is_dir() else []
    return files[-1] if files else None
