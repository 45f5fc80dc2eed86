"""Judge what `coterie doctor` found on this machine: pure rules, each with its fix."""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from coterie.activities.extra_packages import install_command
from coterie.dsl.model.sections.worker_document import SandboxMode

SUPPORTED = ((3, 11), (3, 14))
"""The oldest and the newest Python that Coterie supports."""
LITTLE_SPACE = 1_000_000_000
NO_SPACE = 100_000_000
"""In bytes."""
CLOCK_TOLERANCE = 30.0
"""Seconds. Object stores and OAuth refuse signatures that are minutes apart."""
EXTRAS: Mapping[str, str] = {
    "ui": "the terminal UI of `run`, `watch` and `agent`: `--ui`",
    "a2a": "A2A clients of `coterie serve`",
    "mcp": "tools of MCP servers, and `coterie serve --mcp`",
    "web": "the tool functions Web.fetch, Web.search and Arxiv.search",
    "retrieval": "the tool functions Retriever.search and Memory.search, `coterie index` and "
    "`coterie memory`",
    "sql": "`coterie export --sql`, and memories in PostgreSQL",
    "s3": "large values in a bucket",
    "bedrock": "Claude on Bedrock by the identity of the machine",
    "vertex": "Claude on Vertex AI by the identity of the machine",
}
"""What each extra is for."""


class Level(StrEnum):
    """How much a finding matters."""

    OK = "ok"
    OPTIONAL = "optional"
    """Nothing that the project uses needs it."""
    WARNING = "warning"
    PROBLEM = "problem"
    """Runs fail, or do not start."""


class Finding(NamedTuple):
    """What was found about one topic."""

    topic: str
    level: Level
    text: str
    fix: str = ""
    """An imperative; empty if there is nothing to do."""


def python_finding(version: tuple[int, int], program: str) -> Finding:
    """Judge the version of the interpreter."""
    oldest, newest = ("{}.{}".format(*bound) for bound in SUPPORTED)
    text = "{}.{} at {}".format(*version, program)
    if version < SUPPORTED[0]:
        fix = f"install Python {oldest} or newer, and Coterie there"
        return Finding("python", Level.PROBLEM, text, fix)
    if version > SUPPORTED[1]:
        fix = f"use Python {oldest} to {newest}"
        return Finding("python", Level.WARNING, text, fix)
    return Finding("python", Level.OK, text)


def system_finding(system: str) -> Finding:
    """Judge the operating system, by its name in `platform.system()`."""
    match system:
        case "Linux":
            return Finding("system", Level.OK, system)
        case "Darwin":
            text = (
                "macOS: commands run without a sandbox, and programs of the same user can read "
                "the memory of a worker"
            )
            fix = "run workers that serve others on Linux"
            return Finding("system", Level.WARNING, text, fix)
        case _:
            fix = "on Windows, install and run Coterie in WSL 2"
            return Finding("system", Level.PROBLEM, f"{system} is not supported", fix)


def extra_findings(
    missing: Mapping[str, tuple[str, ...]], needed: Mapping[str, str]
) -> Iterator[Finding]:
    """Judge the extras.

    Args:
        missing: `{extra: its packages that are not installed}`.
        needed: `{extra: what in this project needs it}`.
    """
    if installed_extras := [extra for extra in EXTRAS if extra not in missing]:
        yield Finding("extras", Level.OK, f"installed: {', '.join(installed_extras)}")
    for extra, purpose in EXTRAS.items():
        lacking, use = missing.get(extra, ()), needed.get(extra)
        if not lacking:
            continue
        text = f"{extra} is not installed ({', '.join(lacking)}): {purpose}"
        fix = install_command(extra)
        if use is None:
            yield Finding("extras", Level.OPTIONAL, text, fix)
        else:
            yield Finding("extras", Level.PROBLEM, f"{text}; {use} needs it", fix)


def sandbox_finding(mode: SandboxMode, *, has_commands: bool, problem: str | None) -> Finding:
    """Judge the sandbox of commands.

    Args:
        mode: `worker.sandbox`.
        has_commands: Whether the worker has commands.
        problem: Why bubblewrap does not work here; None if it works.
    """
    if problem is None:
        hint = "" if mode != "none" else ", and `worker.sandbox: none` does not use it"
        return Finding("sandbox", Level.OK, f"bubblewrap works{hint}")
    fix = "install bubblewrap, and allow user namespaces"
    text = f"bubblewrap does not work: {problem}"
    if mode == "bubblewrap":
        return Finding("sandbox", Level.PROBLEM, f"{text}; `worker.sandbox` requires it", fix)
    if mode == "auto" and has_commands:
        return Finding("sandbox", Level.WARNING, f"{text}; commands run without a sandbox", fix)
    return Finding("sandbox", Level.OPTIONAL, text, fix)


def key_findings(
    variables: Mapping[str, str | None], own: Iterable[str], present: Iterable[str]
) -> Iterator[Finding]:
    """Judge API keys by the names of their variables; values are never shown.

    Args:
        variables: `{provider: the variable with its key}`; None for one that needs no key.
        own: The providers that this project declares.
        present: Variables that are set.
    """
    own_providers, there = frozenset(own), frozenset(present)
    for provider, variable in variables.items():
        if variable is None:
            yield Finding("keys", Level.OK, f"{provider} needs no key")
        elif variable in there:
            yield Finding("keys", Level.OK, f"{provider}: {variable} is set")
        else:
            level = Level.WARNING if provider in own_providers else Level.OPTIONAL
            text = f"{provider}: {variable} is not set"
            yield Finding("keys", level, text, f"export {variable}=...")


def disk_finding(folder: str, free: int | None, problem: str | None) -> Finding:
    """Judge a folder that Coterie writes to.

    Args:
        folder: Its path.
        free: Bytes that are free there; None if unknown.
        problem: Why it cannot be written; None if it can.
    """
    if problem is not None:
        return Finding("disk", Level.PROBLEM, f"{folder}: {problem}", "allow yourself to write it")
    if free is None:
        return Finding("disk", Level.WARNING, f"{folder}: its free space is unknown")
    text = f"{folder}: {free / 1_000_000_000:.1f} GB free"
    if free < NO_SPACE:
        return Finding("disk", Level.PROBLEM, text, "free some space: a run cannot be written")
    if free < LITTLE_SPACE:
        return Finding("disk", Level.WARNING, text, "free some space")
    return Finding("disk", Level.OK, text)


def clock_finding(skews: Mapping[str, float]) -> Finding:
    """Judge the clock by the `Date` headers of servers.

    Args:
        skews: `{host: seconds by which this clock is ahead of it}`.
    """
    if not skews:
        return Finding("clock", Level.OPTIONAL, "not compared: no server answered with its time")
    host, skew = sorted(skews.items(), key=lambda item: abs(item[1]))[len(skews) // 2]
    if abs(skew) <= CLOCK_TOLERANCE:
        return Finding("clock", Level.OK, f"within {CLOCK_TOLERANCE:.0f} s of {host}")
    direction = "ahead of" if skew > 0 else "behind"
    text = f"{abs(skew):.0f} s {direction} {host}"
    return Finding("clock", Level.WARNING, text, "synchronise the clock of this machine (NTP)")


def fails(findings: Iterable[Finding]) -> bool:
    """Return whether any finding is a problem."""
    return any(finding.level is Level.PROBLEM for finding in findings)
