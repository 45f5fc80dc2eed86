"""Examine this machine and this project: read the facts, and judge each."""

import asyncio
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from coterie.activities import proxies
from coterie.activities.processes.bubblewrap import Bubblewrap, find_bubblewrap
from coterie.activities.processes.command_user import command_user
from coterie.activities.processes.search_path import path_outside
from coterie.activities.tool_functions.missing_packages import FUNCTION_EXTRAS
from coterie.doctor.checkup import (
    EXTRAS,
    Finding,
    Level,
    clock_finding,
    disk_finding,
    extra_findings,
    key_findings,
    python_finding,
    sandbox_finding,
    system_finding,
)
from coterie.documents.catalog import Catalog, Located
from coterie.documents.compilation import compile_located
from coterie.documents.trusted_catalog import trusted_catalog, trusted_document
from coterie.documents.worker_trust import TrustedConfig, key_name
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.sections.provider_document import ProviderSection, provider_kind
from coterie.dsl.model.traversal.used_functions import used_functions
from coterie.dsl.model.vendors.vendors import VENDORS
from coterie.failures import CommandError
from coterie.server.connection import connect
from coterie.server.embedded_server import EmbeddedServer
from coterie.server.server_process import find_binary, free_ports, port_is_free
from coterie.settings import Settings

_REQUIREMENT = re.compile(
    r"""(?P<package>[\w.-]+)(?:\[(?P<extras>[^]]*)])?.*\bextra == ['"](?P<extra>[\w-]+)['"]"""
)
"""A line of a package's metadata: what it requires, and the extra that requires it."""

_SECONDS = 5.0
"""How long a server may take to answer."""


class Contact(NamedTuple):
    """One attempt to reach a host."""

    name: str
    """The provider."""
    address: str
    problem: str | None
    """Why it was not reached; None if it answered, whatever it answered."""
    skew: float | None
    """Seconds by which this clock is ahead of the server's; None if it did not say."""


async def examine(settings: Settings, *, offline: bool) -> list[Finding]:
    """Examine the machine, the project, and unless `offline` the servers that it needs."""
    trusted, findings = _configuration(settings)
    plans, unreadable = _own_plans(settings)
    providers = _used_providers(settings, trusted, plans)
    needed_packages = needed_extras(settings, trusted, plans)
    findings = [
        *_program(),
        *extra_findings(missing_packages(EXTRAS), needed_packages),
        *findings,
        *unreadable,
    ]
    findings += [_sandbox(settings, trusted), *_keys(settings, trusted, providers)]
    findings += await _server(settings, offline=offline)
    findings += _disk(settings)
    if offline:
        return [*findings, clock_finding({})]
    present = [
        name for name, variable in _variables(trusted).items() if settings.secret(variable or "")
    ]
    contacts = await contact_all(addresses(trusted, dict.fromkeys((*providers, *present))))
    skews = {contact.address: contact.skew for contact in contacts if contact.skew is not None}
    return [*findings, *map(_network_finding, contacts), clock_finding(skews)]


def _program() -> Iterator[Finding]:
    yield python_finding(sys.version_info[:2], sys.executable)
    yield system_finding(platform.system())


def _configuration(settings: Settings) -> tuple[TrustedConfig, list[Finding]]:
    """Return the project's configuration; the shipped one if the project's own is invalid."""
    catalog = Catalog(settings)
    try:
        return trusted_catalog(settings, catalog, None), []
    except (InvalidDocument, CommandError) as error:
        first = error.problems[0].message if isinstance(error, InvalidDocument) else str(error)
        shipped_config = trusted_document(settings, catalog.system_source(catalog.roots[-1]), None)
        finding = Finding(
            "project", Level.PROBLEM, f"its configuration is invalid: {first}", "coterie validate"
        )
        return shipped_config, [finding]


def _own_plans(settings: Settings) -> tuple[dict[str, Plan], list[Finding]]:
    """Return the plans of the project's own teams and files, and the teams that are invalid."""
    catalog = Catalog(settings)
    plans: dict[str, Plan] = {}
    findings: list[Finding] = []
    for located in catalog.own():
        try:
            plans[located.name] = compile_located(catalog, located).plan
        except InvalidDocument as error:
            findings.append(_team_finding(located, error))
    return plans, findings


def _used_providers(
    settings: Settings, trusted: TrustedConfig, plans: Mapping[str, Plan]
) -> tuple[str, ...]:
    """Return the providers that the project's own files and teams name."""
    catalog = Catalog(settings)
    shipped_config = trusted_document(settings, catalog.system_source(catalog.roots[-1]), None)
    names = [
        name
        for name, provider in trusted.providers.items()
        if shipped_config.providers.get(name) != provider
    ]
    names += [name for plan in plans.values() for name in plan.providers]
    return tuple(dict.fromkeys(names))


def _team_finding(located: Located, error: InvalidDocument) -> Finding:
    text = f"team {located.name} is invalid: {error.problems[0].message}"
    return Finding("project", Level.PROBLEM, text, f"coterie validate {quote(located.name)}")


def needed_extras(
    settings: Settings, trusted: TrustedConfig, plans: Mapping[str, Plan]
) -> dict[str, str]:
    """Return `{extra: what in this project needs it}`."""
    reasons: dict[str, str] = {}
    for name, plan in plans.items():
        for function in sorted(used_functions(plan) & FUNCTION_EXTRAS.keys()):
            reasons.setdefault(FUNCTION_EXTRAS[function], f"{function} in the team {name}")
    if trusted.mcp_servers:
        reasons["mcp"] = "`worker.mcp_servers`"
    if (settings.storage or "").startswith("s3://"):
        reasons["s3"] = "COTERIE_STORAGE"
    for name, section in trusted.providers.items():
        if section.cloud in ("bedrock", "vertex"):
            reasons[section.cloud] = f"the provider {name}"
    return reasons


def _sandbox(settings: Settings, trusted: TrustedConfig) -> Finding:
    workspace = Path(trusted.workspace).resolve()
    path = path_outside(settings.environment.get("PATH", os.defpath), workspace)
    result = find_bubblewrap(path, command_user(workspace, path))
    problem = None if isinstance(result, Bubblewrap) else result
    return sandbox_finding(
        trusted.sandbox.mode, has_commands=bool(trusted.commands), problem=problem
    )


def _variables(trusted: TrustedConfig) -> dict[str, str | None]:
    """Return `{provider: the variable with its key}` of all providers that are models."""
    return {
        name: key_name(name, section)
        for name, section in trusted.providers.items()
        if provider_kind(name, section) != "scripted"
    }


def _keys(
    settings: Settings, trusted: TrustedConfig, provider_names: tuple[str, ...]
) -> Iterator[Finding]:
    variables = _variables(trusted)
    present = [name for name in variables.values() if name and settings.secret(name) is not None]
    yield from key_findings(variables, provider_names, present)


async def _server(settings: Settings, *, offline: bool) -> list[Finding]:
    if settings.address is not None:
        return [] if offline else [await _other_server(settings, settings.address)]
    return await asyncio.to_thread(lambda: list(_embedded_server(settings)))


async def _other_server(settings: Settings, address: str) -> Finding:
    try:
        await connect(settings, address)
    except CommandError as error:
        return Finding("server", Level.PROBLEM, str(error))
    return Finding("server", Level.OK, f"{address} answers, namespace {settings.namespace}")


def _embedded_server(settings: Settings) -> Iterator[Finding]:
    """Judge the program and the ports of the project's own server, without starting it."""
    try:
        binary = find_binary(settings)
        free_ports(2)
    except CommandError as error:
        yield Finding("server", Level.PROBLEM, str(error))
        return
    server = EmbeddedServer(settings)
    record = server.record()
    if record is None or not server.has_data():
        yield Finding("server", Level.OK, f"{binary}; the first run starts it")
    elif server.running():
        yield _running_server(server, record.address)
    elif port_is_free(record.port):
        yield Finding("server", Level.OK, f"{binary}; stopped, the next run starts it")
    else:
        text = f"another program listens on its port {record.port}; it will move to a free one"
        yield Finding("ports", Level.WARNING, text, "coterie server")


def _running_server(server: EmbeddedServer, address: str) -> Finding:
    if server.healthy():
        return Finding("server", Level.OK, f"the embedded server answers at {address}")
    text = f"the embedded server runs at {address}, but does not answer"
    return Finding("server", Level.PROBLEM, text, "coterie server --stop, then coterie server")


def _disk(settings: Settings) -> Iterator[Finding]:
    folders = [settings.state, Path(tempfile.gettempdir())]
    if settings.storage is not None and settings.storage.startswith("/"):
        folders.append(Path(settings.storage))
    for folder in folders:
        yield disk_finding(str(folder), free_space(folder), write_problem(folder))


def _network_finding(contact: Contact) -> Finding:
    if contact.problem is None:
        return Finding("network", Level.OK, f"{contact.name} answers at {contact.address}")
    text = f"{contact.name} at {contact.address} {contact.problem}"
    return Finding("network", Level.WARNING, text, "check the address, the network and the proxy")


def missing_packages(extras: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return `{extra of Coterie: its packages that are not installed}`, if it lacks any."""
    missing = {extra: tuple(dict.fromkeys(_missing("coterie", extra))) for extra in extras}
    return {extra: packages for extra, packages in missing.items() if packages}


def _missing(package: str, extra: str) -> Iterator[str]:
    """Yield what an extra of an installed package lacks, including the extras of what it needs."""
    try:
        lines = requires(package) or []
    except PackageNotFoundError:  # Coterie itself may run from a folder, without being installed
        return
    for requirement in filter(None, map(_REQUIREMENT.match, lines)):
        if requirement["extra"] != extra:
            continue
        if not _is_installed(requirement["package"]):
            yield requirement["package"]
            continue
        for further in filter(None, (requirement["extras"] or "").split(",")):
            yield from _missing(requirement["package"], further.strip())


def _is_installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def write_problem(folder: Path) -> str | None:
    """Return why this user cannot write into a folder, which need not exist; None if possible."""
    existing = _existing(folder)
    if not existing.is_dir():
        return f"{existing} is not a folder"
    return None if os.access(existing, os.W_OK | os.X_OK) else f"{existing} cannot be written"


def free_space(folder: Path) -> int | None:
    """Return the free bytes of a folder's disk, or None if the system does not say."""
    try:
        return shutil.disk_usage(_existing(folder)).free
    except OSError:
        return None


def _existing(folder: Path) -> Path:
    return next((part for part in (folder, *folder.parents) if part.exists()), folder)


def addresses(trusted: TrustedConfig, names: Iterable[str]) -> dict[str, str]:
    """Return `{provider: base URL}` of the named providers that are servers.

    Clouds have addresses of their own for each region, and are left out.
    """
    sections = {name: trusted.providers[name] for name in names if name in trusted.providers}
    candidates = {name: _address(name, section) for name, section in sections.items()}
    return {name: address for name, address in candidates.items() if address is not None}


def _address(name: str, section: ProviderSection) -> str | None:
    if section.cloud is not None:
        return None
    vendor = VENDORS.get(provider_kind(name, section))
    return section.api_base or (None if vendor is None else vendor.url)


async def contact_all(providers: Mapping[str, str]) -> list[Contact]:
    """Send one `HEAD` request to each address, without a key, all at once."""
    import httpx2  # slow, and not needed offline

    async def contact(client: httpx2.AsyncClient, name: str, address: str) -> Contact:
        try:
            answer = await client.head(address)
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            through = f" through the proxy {proxy}" if (proxy := proxies.proxy_of(address)) else ""
            reason = str(error) or type(error).__name__
            return Contact(name, address, f"does not answer{through}: {reason}", None)
        return Contact(
            name, address, None, clock_skew(answer.headers.get("date"), datetime.now(UTC))
        )

    async with httpx2.AsyncClient(
        verify=proxies.trusted(), timeout=_SECONDS, mounts=proxies.DIRECT
    ) as client:
        return list(await asyncio.gather(*(contact(client, *pair) for pair in providers.items())))


def clock_skew(date: str | None, now: datetime) -> float | None:
    """Return the seconds by which `now` is ahead of a `Date` header (RFC 9110, 6.6.1)."""
    if date is None:
        return None
    try:
        return (now - parsedate_to_datetime(date)).total_seconds()
    except (ValueError, TypeError):  # no date, or one without a zone
        return None
