"""Find the files of the runs of this project, without everything else that a record says."""

from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from coterie.settings import Settings

_MAX_FILE_NAME = 150
"""Characters of an id in a file's name; file systems take 255 bytes."""


class _Trusted(BaseModel):
    workspace: str


class _Record(BaseModel):
    trusted: _Trusted


def record_file(folder: Path, id: str) -> Path:
    """Return the file of a record. File systems refuse names that Temporal takes as ids."""
    name = quote(id, safe="", errors="surrogatepass")
    if len(name) > _MAX_FILE_NAME:
        name = f"{name[:_MAX_FILE_NAME]}-{sha256(name.encode()).hexdigest()[:16]}"
    return folder / f"{name}.json"


def workspace_of_run(settings: Settings, id: str) -> Path | None:
    """Return the folder whose files a run of this project changes; None if it is not known here."""
    try:
        text = record_file(settings.state / "runs", id).read_text(encoding="utf-8")
        folder = Path(_Record.model_validate_json(text).trusted.workspace)
    except (OSError, ValueError, ValidationError):
        return None
    return folder if folder.is_dir() else None
