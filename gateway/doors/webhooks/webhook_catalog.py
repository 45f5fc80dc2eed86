"""The webhooks of a project's teams, read again whenever a file of theirs changes."""

import asyncio
import time
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256

from coterie.documents.catalog import Catalog, Located
from coterie.documents.compilation import compile_located
from coterie.dsl.analysis.findings import with_needs
from coterie.dsl.compile.compiler import Compiled
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.model.sections.webhook_trigger import WebhookSection
from coterie.failures import CommandError
from coterie.settings import Settings

_MAX_TEAMS = 200
_FRESH_SECONDS = 1.0
"""After a look at the files of a team, how long they are taken as they were."""
_Result = Compiled | InvalidDocument | CommandError


@dataclass(frozen=True, slots=True)
class _Reading:
    """A document as it was read."""

    digest: bytes
    """Of its texts."""
    result: _Result
    at: float
    """When somebody last looked at its files."""


@dataclass(frozen=True, slots=True)
class TeamWebhook:
    """A webhook of a team."""

    team: str
    trigger: str
    section: WebhookSection
    compiled: Compiled
    """Its document, with what a start must give."""

    @property
    def path(self) -> str:
        """`TEAM/TRIGGER`."""
        return f"{self.team}/{self.trigger}"


class WebhookCatalog:
    """Finds webhooks by team and name. It keeps only what the files say."""

    def __init__(self, settings: Settings) -> None:
        """Take the project."""
        self._settings = settings
        self._kept: OrderedDict[str, _Reading] = OrderedDict()
        self._looking = asyncio.Lock()

    async def find(self, team: str, trigger: str) -> TeamWebhook | None:
        """Return a webhook; None if there is none.

        Raises:
            InvalidDocument: The document of the team has problems.
            CommandError: It cannot be compiled here.
        """
        result = self._fresh(team)
        if result is None:
            async with self._looking:
                result = self._fresh(team) or await asyncio.to_thread(self._read, team)
        if result is None:
            return None
        if not isinstance(result, Compiled):
            raise result
        found = result.triggers.get(trigger)
        section = None if found is None else found.webhook
        return None if section is None else TeamWebhook(team, trigger, section, result)

    def _fresh(self, team: str) -> _Result | None:
        kept = self._kept.get(team)
        if kept is None or time.monotonic() - kept.at >= _FRESH_SECONDS:
            return None
        return kept.result

    def _read(self, team: str) -> _Result | None:
        catalog = Catalog(self._settings)
        located = catalog.named(team)
        if located is None:
            return None
        try:
            digest = _digest(catalog, located)
        except (InvalidDocument, CommandError) as error:
            return error
        kept = self._kept.pop(team, None)
        if kept is not None and kept.digest == digest:
            result = kept.result
        else:
            result = _compile(catalog, located)
        self._kept[team] = _Reading(digest, result, time.monotonic())
        if len(self._kept) > _MAX_TEAMS:
            self._kept.popitem(last=False)
        return result


def _compile(catalog: Catalog, located: Located) -> _Result:
    try:
        return with_needs(compile_located(catalog, located, only_shown=True))
    except (InvalidDocument, CommandError) as error:
        return error


def _digest(catalog: Catalog, located: Located) -> bytes:
    """Return what changes with any text of the document."""
    digest = sha256()
    for source in catalog.sources(located):
        for part in (source.file, source.text):
            digest.update(part.encode(errors="surrogatepass") + b"\0")
    return digest.digest()
