"""The latest report of each suite, kept in the project for the pages of its teams."""

from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from pydantic import ValidationError

from coterie.activities.os_errors import reason_of
from coterie.activities.workspace.project_files import private_folder, write_private
from coterie.dsl.values import Frozen
from coterie.evals.suite_report import SuiteReport
from coterie.failures import CommandError
from coterie.settings import Settings, state_folder

_FOLDER = Path("evals", "reports")
_MAX_READ = 200
"""Reports, and 20 MB of each: a team has some suites."""
_MAX_BYTES = 20 * 1024 * 1024


class KeptReport(Frozen):
    """What `coterie eval` reported last of a suite."""

    id: str
    """Of the suite, for links."""
    at: datetime
    team: str
    """The name of the plan that ran."""
    report: SuiteReport


def keep_report(settings: Settings, team: str, report: SuiteReport) -> None:
    """Keep the report of a suite, in place of an earlier one.

    Raises:
        CommandError: The project's folder cannot be written.
    """
    state_folder(settings)
    id = sha256(f"{report.suite}\0{team}".encode()).hexdigest()[:16]
    kept = KeptReport(id=id, at=datetime.now(UTC), team=team, report=report)
    folder = settings.state / _FOLDER
    try:
        private_folder(folder)
        write_private(folder / f"{id}.json", kept.model_dump_json() + "\n")
    except OSError as error:
        raise CommandError(f"could not keep the report in {folder}: {reason_of(error)}") from None


def kept_reports(settings: Settings, team: str) -> tuple[KeptReport, ...]:
    """Return the latest reports of the suites of a team, newest first; damaged ones are skipped."""
    files = sorted((settings.state / _FOLDER).glob("*.json"))[:_MAX_READ]
    found = [kept for file in files if (kept := _read(file)) is not None and kept.team == team]
    return tuple(sorted(found, key=lambda kept: kept.at, reverse=True))


def kept_report(settings: Settings, id: str) -> KeptReport | None:
    """Return the latest report of a suite; None if there is none."""
    if not id.isalnum():
        return None
    return _read(settings.state / _FOLDER / f"{id}.json")


def _read(file: Path) -> KeptReport | None:
    try:
        if file.stat().st_size > _MAX_BYTES:
            return None
        return KeptReport.model_validate_json(file.read_bytes())
    except (OSError, ValidationError):
        return None
