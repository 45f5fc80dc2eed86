"""The recorded tools of MCP servers and HTTP APIs: a file of the project, which compiling reads.

`coterie tools refresh` writes it. It belongs in version control: a review then shows every change
of a tool that somebody else's server makes.
"""

import json
from collections.abc import Mapping
from typing import Literal

from pydantic import Field, ValidationError

from coterie.activities.os_errors import reason_of
from coterie.activities.workspace.project_files import replace_file
from coterie.documents.api_documents import changes_of
from coterie.dsl.model.capabilities import ServerListing
from coterie.dsl.values import Frozen
from coterie.failures import CommandError
from coterie.settings import LISTINGS_FILE, Settings
from coterie.text.document_text import unreadable_text

_DRAFT = f"{LISTINGS_FILE}.draft"
_FIX = "write it again with `coterie tools refresh`"


class _ListingsFile(Frozen):
    """The content of the file."""

    version: Literal[1] = 1
    servers: dict[str, ServerListing] = Field(default_factory=dict[str, ServerListing])


def read_listings(settings: Settings) -> dict[str, ServerListing]:
    """Return `{server: its recorded tools}`; empty if there is no file.

    Raises:
        CommandError: The file cannot be read.
    """
    path = settings.project / LISTINGS_FILE
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise CommandError(f"could not read {path}: {reason_of(error)}") from None
    except UnicodeDecodeError as error:
        raise CommandError(f"{path}: {unreadable_text(error).reason}; {_FIX}") from None
    try:
        return _ListingsFile.model_validate_json(text).servers
    except ValidationError as error:
        key = ".".join(map(str, error.errors()[0]["loc"])) or "its start"
        raise CommandError(f"{path} cannot be understood at {key}; {_FIX}") from None


def compared_listings(settings: Settings) -> dict[str, ServerListing]:
    """Return the recorded listings, each with how its document differs today.

    Raises:
        CommandError: The file cannot be read.
    """
    return {
        name: listing.model_copy(update={"changes": changes})
        if (changes := changes_of(listing, settings.project))
        else listing
        for name, listing in read_listings(settings).items()
    }


class RecordedListings:
    """Returns the recorded listings; reads the file again only after it has changed."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._seen: tuple[int, int] | None = None
        self._listings: dict[str, ServerListing] = {}

    def __call__(self) -> dict[str, ServerListing]:
        """Return `{server: its recorded tools}`.

        Raises:
            CommandError: The file cannot be read.
        """
        try:
            stat = (self._settings.project / LISTINGS_FILE).stat()
        except OSError:
            return {}
        if (stat.st_mtime_ns, stat.st_size) != self._seen:
            self._listings = read_listings(self._settings)
            self._seen = (stat.st_mtime_ns, stat.st_size)
        return self._listings


def write_listings(settings: Settings, servers: Mapping[str, ServerListing]) -> None:
    """Write the file, with sorted keys, so that a diff shows only what changed.

    Raises:
        CommandError: It cannot be written.
    """
    path = settings.project / LISTINGS_FILE
    content = _ListingsFile(servers=dict(servers)).model_dump(mode="json")
    text = json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False)
    try:
        replace_file(settings.project, LISTINGS_FILE, f"{text}\n".encode(), _DRAFT)
    except OSError as error:
        raise CommandError(f"could not write {path}: {reason_of(error)}") from None
