"""The team behind a name: its deployed version, else the document in the project's files.

Every door asks here, so that one name is one team.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path as File

from temporalio.client import Client
from temporalio.service import RPCError

from coterie.deployed.registry import DeployedVersion, Registry, version_named
from coterie.deployed.version_documents import compile_version
from coterie.documents.catalog import Catalog, Located
from coterie.documents.compilation import compile_located
from coterie.dsl.analysis.findings import with_needs
from coterie.dsl.compile.compiler import Compiled
from coterie.dsl.errors import InvalidDocument
from coterie.failures import CommandError
from coterie.runs.call_errors import list_error
from coterie.settings import Settings
from coterie.workflows.core.registry_messages import RegistryState

_MAX_TEAMS = 200
_FRESH_SECONDS = 1.0
"""After a look at the files of a team, or at the registry, how long they are taken as they were."""
_Result = Compiled | InvalidDocument | CommandError


@dataclass(frozen=True, slots=True)
class NamedTeam:
    """What a start by a name starts."""

    name: str
    start_name: str
    """What a start must name to start exactly this: `review@3` if it is deployed."""
    compiled: Compiled
    """Its document, with what a start must give."""


@dataclass(frozen=True, slots=True)
class OwnTeam:
    """A team of the project: deployed, a file here, or both."""

    name: str
    file: File | None
    """None: it is only deployed."""
    version: str | None
    """What its name starts if it is deployed, such as `review@3`."""
    deployed_at: str = ""
    """When that became what its name starts: ISO 8601, UTC."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """A document as it was read."""

    digest: bytes
    """Of its texts."""
    result: _Result
    at: float
    """When somebody last looked at its files."""


class NamedTeams:
    """Finds teams by name. It keeps only what the registry and the files say."""

    def __init__(self, settings: Settings, client: Callable[[], Client]) -> None:
        """Take the project, and what returns the client of its server."""
        self._settings = settings
        self._client = client
        self._registry: Registry | None = None
        self._state: tuple[float, RegistryState] | None = None
        self._versions: OrderedDict[str, _Result] = OrderedDict()
        self._files: OrderedDict[str, _Reading] = OrderedDict()
        self._looking = asyncio.Lock()
        self._reading = asyncio.Lock()

    async def find(self, name: str) -> NamedTeam | None:
        """Return a team; None if there is none of this name.

        Raises:
            InvalidDocument: Its document has problems.
            CommandError: It cannot be compiled here, or the server does not answer.
        """
        try:
            version = version_named(await self._registry_state(), name)
        except RPCError as error:
            raise list_error(error) from error
        if version is None:
            result = await self._file(name)
        else:
            async with self._looking:
                result = await asyncio.to_thread(self._version, version)
        if result is None:
            return None
        if not isinstance(result, Compiled):
            raise result
        if version is None:
            return NamedTeam(name, name, result)
        return NamedTeam(version.team, version.name, result)

    async def own(self) -> Sequence[OwnTeam]:
        """Return the teams of the project, files first, each in its order.

        While the server does not answer, those count as deployed that were when it last did.

        Raises:
            CommandError: The registry is damaged.
        """
        try:
            state = await self._registry_state()
        except RPCError:
            state = RegistryState() if self._state is None else self._state[1]
        located = await asyncio.to_thread(Catalog(self._settings).own)
        files: dict[str, File | None] = {one.name: one.file for one in located}
        deployed = {name: record for name, record in state.teams.items() if record.current}
        return [
            OwnTeam(name, files.get(name), f"{name}@{record.current}", record.since.at)
            if (record := deployed.get(name)) is not None
            else OwnTeam(name, files.get(name), None)
            for name in (*files, *sorted(set(deployed) - set(files)))
        ]

    async def deployed(self, name: str) -> DeployedVersion | None:
        """Return the deployed version that a name starts; None if it starts a file.

        Raises:
            CommandError: There is no such version, or the registry is damaged.
            RPCError: The server does not answer.
        """
        return version_named(await self._registry_state(), name)

    async def names(self) -> Sequence[str]:
        """Return all names that start something: of the project, and of what ships with Coterie."""
        own = [team.name for team in await self.own()]
        shipped = await asyncio.to_thread(Catalog(self._settings).names)
        return list(dict.fromkeys((*own, *shipped)))

    async def _registry_state(self) -> RegistryState:
        async with self._reading:  # requests of one moment share one look
            return await self._latest_state()

    async def _latest_state(self) -> RegistryState:
        client = self._client()
        if self._registry is None or self._registry.client is not client:
            self._registry, self._state = Registry(client, self._settings.task_queue), None
        if self._state is None or time.monotonic() - self._state[0] >= _FRESH_SECONDS:
            self._state = (time.monotonic(), await self._registry.state())
        return self._state[1]

    def _version(self, version: DeployedVersion) -> _Result:
        key = f"{version.team}\0{version.record.digest}"
        result = self._versions.pop(key, None)
        if not isinstance(result, Compiled):  # the project may have what it lacked
            try:
                result = compile_version(Catalog(self._settings), version)
            except (InvalidDocument, CommandError) as error:
                result = error
        self._versions[key] = result
        if len(self._versions) > _MAX_TEAMS:
            self._versions.popitem(last=False)
        return result

    async def _file(self, name: str) -> _Result | None:
        result = self._fresh(name)
        if result is None:
            async with self._looking:
                result = self._fresh(name) or await asyncio.to_thread(self._read, name)
        return result

    def _fresh(self, name: str) -> _Result | None:
        kept = self._files.get(name)
        if kept is None or time.monotonic() - kept.at >= _FRESH_SECONDS:
            return None
        return kept.result

    def _read(self, name: str) -> _Result | None:
        catalog = Catalog(self._settings)
        located = catalog.named(name)
        if located is None:
            return None
        try:
            digest = _digest(catalog, located)
        except (InvalidDocument, CommandError) as error:
            return error
        kept = self._files.pop(name, None)
        if kept is not None and kept.digest == digest:
            result = kept.result
        else:
            result = _compile(catalog, located)
        self._files[name] = _Reading(digest, result, time.monotonic())
        if len(self._files) > _MAX_TEAMS:
            self._files.popitem(last=False)
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
