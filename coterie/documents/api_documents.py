"""Record the operations of an OpenAPI document, and compare a recorded document with today's."""

import os
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from coterie.activities.mcp_client.call_outcomes import UnusableTool
from coterie.activities.mcp_client.tool_difference import differences
from coterie.activities.os_errors import reason_of
from coterie.dsl.apis.openapi_operations import operations_of
from coterie.dsl.apis.openapi_reading import Unreadable, read_api_document
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.model.capabilities import ApiSource, ServerListing
from coterie.dsl.model.sections.api_document import ApiSection, digest_of_api
from coterie.text.document_text import unreadable_text


class DocumentUnusable(Exception):
    """A document of an API cannot be read; the message says where and why."""


class RecordedApi(NamedTuple):
    """The operations of a document, and those that cannot be offered."""

    listing: ServerListing
    left_out: tuple[UnusableTool, ...]


def recorded_api(section: ApiSection, project: Path) -> RecordedApi:
    """Read the document of an API.

    Args:
        section: The API, with the absolute path of its document.
        project: The folder to which recorded paths are relative.

    Raises:
        DocumentUnusable: It cannot be read.
    """
    path = Path(section.openapi or "")
    source = ApiSource(
        file=Path(os.path.relpath(path, project)).as_posix(),
        server=section.server,
        include=section.include,
        digest="",
    )
    return _record(source, digest_of_api(section), project)


def changes_of(listing: ServerListing, project: Path) -> tuple[str, ...]:
    """Return how the document of a listing differs today; empty if it has the recorded digest."""
    source = listing.source
    if source is None:
        return ()
    try:
        if _digest((project / source.file).read_bytes()) == source.digest:
            return ()
        now = _record(source, listing.configuration, project).listing
    except OSError as error:
        return (f"{source.file} cannot be read: {reason_of(error)}",)
    except DocumentUnusable as error:
        return (str(error),)
    old, new = ({tool.name: tool for tool in one.tools} for one in (listing, now))
    lines = [f"{name}: added" for name in new if name not in old]
    lines += [f"{name}: removed" for name in old if name not in new]
    for name in new:
        if name in old and old[name] != new[name]:
            lines += [f"{name}: {line}" for line in differences(old[name], new[name])]
    return tuple(lines)


def _record(source: ApiSource, configuration: str, project: Path) -> RecordedApi:
    path = project / source.file
    try:
        content = path.read_bytes()
        document = read_api_document(content.decode("utf-8-sig"), source.file)
    except OSError as error:
        raise DocumentUnusable(f"could not read {source.file}: {reason_of(error)}") from None
    except UnicodeDecodeError as error:
        raise DocumentUnusable(f"{source.file}: {unreadable_text(error).reason}") from None
    except InvalidDocument as error:
        first = error.problems[0]
        where = f"{first.file}:{first.line}:{first.column}"
        raise DocumentUnusable(f"{where}: {first.code} {first.message}") from None
    except Unreadable as error:
        raise DocumentUnusable(str(error)) from None
    found = operations_of(document, source.server, source.include)
    listing = ServerListing(
        configuration=configuration,
        tools=tuple(sorted(found.tools, key=lambda tool: tool.name)),
        source=source.model_copy(update={"digest": _digest(content)}),
    )
    return RecordedApi(listing, tuple(UnusableTool(*one) for one in found.left_out))


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()
