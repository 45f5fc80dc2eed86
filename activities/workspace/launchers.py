"""Launchers like `poetry run` and `npx`: whether one found the program that it should start.

A launcher that finds nothing has run nothing of the project, so its exit code says nothing about
the project's tests. Only its own message at the end of the output counts, with its own exit code,
about a program that the command names.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Launcher:
    """A launcher, and how it reports that it found no program."""

    name: str
    named: re.Pattern[str]
    """What is in a command that uses it."""
    exit_codes: tuple[int, ...]
    message: re.Pattern[str]
    """Its message, to the end of the output; the group is the program."""


def _launcher(name: str, named: str, exit_codes: tuple[int, ...], message: str) -> Launcher:
    whole = re.compile(rf"(?:\A|\n){message}\s*\Z")
    return Launcher(name, re.compile(named), exit_codes, whole)


LAUNCHERS = (
    _launcher("poetry", r"\bpoetry\b", (1,), r"Command not found: (\S+)"),
    _launcher(
        "pipenv",
        r"\bpipenv\b",
        (1,),
        r"Error: the command (\S+) could not be found within PATH(?: or Pipfile's \[scripts\])?\.?",
    ),
    _launcher(
        "pdm", r"\bpdm\b", (1,), r"\[PdmUsageError\]: Command '(\S+)' is not found in your PATH\."
    ),
    _launcher("uv", r"\buvx?\b", (2,), r"error: Failed to spawn: `?([^`\n]+)`?(?:\n\s+\S.*)*"),
    _launcher("yarn", r"\byarn\b", (1,), r'error Command "(\S+)" not found\.(?:\ninfo .*)*'),
    _launcher(  # from version 2 on
        "yarn",
        r"\byarn\b",
        (1,),
        r"""Usage Error: Couldn't find a script named "(\S+)"\.(?:\s*\n\$ yarn run .*)?""",
    ),
    _launcher(
        "pnpm",
        r"\bpnpm\b",
        (1, 254),
        r'\s*ERR_PNPM_RECURSIVE_EXEC_FIRST_FAIL\s+Command "(\S+)" not found'
        r"(?:\s*\nDid you mean .*)?",
    ),
)

_NPM = re.compile(r"\b(?:npm|npx)\b")
_OF_NPM = re.compile(r"npm (?:error|ERR!|warn|WARN)(?: (.*))?")
_NPM_FOUND_NO_SCRIPT = re.compile(r"Missing script: .*")
_NPM_FOUND_NOTHING = re.compile(
    r"could not determine executable to run|npx canceled due to missing packages"
    r"|code (?:E404|ENOTCACHED|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT)\b"
)


def why_not_launched(
    run: Sequence[str], argv: Sequence[str], exit_code: int | None, output: str
) -> str | None:
    """Explain which program the launcher of a command did not find; None if it may have run.

    Args:
        run: The command as the worker's configuration has it.
        argv: The command as it ran, with the values of its parameters.
        exit_code: How it ended.
        output: What it wrote.
    """
    written, ran = " ".join(run), " ".join(argv)
    for launcher in LAUNCHERS:
        if exit_code not in launcher.exit_codes or not launcher.named.search(written):
            continue
        found = launcher.message.search(output)
        if found is not None and re.search(rf"(?<![\w-]){re.escape(found[1])}(?![\w-])", ran):
            name = f"{launcher.name} found no program {found[1]!r}"
            return f"{name}; add it to the project's dependencies"
    if exit_code == 1 and _NPM.search(written):
        return _why_npm(output)
    return None


def _why_npm(output: str) -> str | None:
    """Explain why npm found nothing: then every line is its own, and one of them says so."""
    lines = [_OF_NPM.fullmatch(line) for line in output.splitlines() if line.strip()]
    texts = [line[1] or "" for line in lines if line is not None]
    if len(texts) < len(lines):
        return None
    script = next((text for text in texts if _NPM_FOUND_NO_SCRIPT.match(text)), None)
    if script is not None:
        return f"npm found no script ({script}); add it to `scripts` in package.json"
    reason = next((text for text in texts if _NPM_FOUND_NOTHING.search(text)), None)
    if reason is None:
        return None
    return f"npm found no program ({reason}); add it to the project's dependencies"
