"""The command that adds an extra names where this installation came from."""

import re
import shlex
import sys
from importlib.metadata import distribution
from pathlib import Path
from typing import get_args

import pytest
from packaging.requirements import Requirement

from coterie.activities.extra_packages import (
    Installation,
    Installer,
    command_for,
    install_command,
)
from coterie.activities.tool_functions.missing_packages import FUNCTION_EXTRAS
from coterie.doctor.checkup import EXTRAS
from coterie.dsl.model.model_options import Cloud
from tests.law.sources import ROOMS, modules
from tests.support.places import ROOT

WHEEL = "file:///tmp/my%20wheels/coterie-0.1.0-py3-none-any.whl"
CHECKOUT = "file:///home/ada/my%20code/coterie"
FIRST_WORDS = {
    Installer.PIP: "/env/bin/pip install",
    Installer.PIPX: "pipx install --force",
    Installer.UV: "uv pip install --python /env",
    Installer.UV_TOOL: "uv tool install --force",
}


@pytest.mark.parametrize("installer", Installer)
def test_a_wheel_is_named_by_its_url(installer: Installer) -> None:
    command = command_for("mcp", Installation(installer, "/env", WHEEL))
    assert command.startswith(f"{FIRST_WORDS[installer]} 'coterie[mcp] @ ")
    required = Requirement(shlex.split(command)[-1])
    assert (required.name, required.extras, required.url) == ("coterie", {"mcp"}, WHEEL)


@pytest.mark.parametrize("installer", Installer)
def test_a_checkout_stays_editable(installer: Installer) -> None:
    command = command_for("ui", Installation(installer, "/env", CHECKOUT, editable=True))
    assert command == f"{FIRST_WORDS[installer]} -e '/home/ada/my code/coterie[ui]'"


def test_what_an_index_had_is_named_alone() -> None:
    found = Installation(Installer.PIP, "/env")
    assert command_for("web", found) == "/env/bin/pip install 'coterie[web]'"


def test_the_command_for_this_environment_names_it_and_this_checkout() -> None:
    """uv has installed the tests' own environment, from a checkout."""
    *words, what = shlex.split(install_command("mcp"))
    assert words == ["uv", "pip", "install", "--python", sys.prefix, "-e"]
    assert Path(what.removesuffix("[mcp]")).resolve() == ROOT


def test_each_extra_that_is_named_exists() -> None:
    sources = [file.read_text() for room in ROOMS for _, file in modules(room)]
    named = set(re.findall(r"""\binstall_command\(["'](\w+)""", "".join(sources)))
    assert named >= {"mcp", "s3", "sql", "ui"}
    clouds = {*get_args(Cloud)} - {"foundry"}  # takes keys only, so it needs no package
    tables = {*EXTRAS, *FUNCTION_EXTRAS.values(), *clouds}
    known = set(distribution("coterie").metadata.get_all("Provides-Extra") or [])
    assert known == named | tables
