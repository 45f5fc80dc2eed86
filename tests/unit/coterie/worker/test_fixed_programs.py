"""Programs that the configuration names by name are those that the worker found at its start."""

from pathlib import Path

import pytest

from coterie.activities.notifications import NotificationCommand
from coterie.activities.processes.search_path import fixed_command
from coterie.documents.worker_trust import TrustedConfig
from coterie.dsl.model.sections.mcp_document import McpServerSection
from coterie.dsl.model.sections.worker_document import ChannelSection
from coterie.settings import Settings
from coterie.worker.surroundings import channels_of, mcp_servers_of


@pytest.mark.parametrize("kind", ["channel", "server"])
def test_a_program_of_the_configuration_is_the_one_that_the_worker_found_at_its_start(
    kind: str, tmp_path: Path
) -> None:
    early, late = tmp_path / "early", tmp_path / "late"
    for folder in (early, late):
        folder.mkdir()
    program(late / "tell")
    path = f"{early}:{late}"
    settings = Settings(cwd=tmp_path, project=tmp_path, environment={"PATH": path})
    trusted = TrustedConfig(
        workspace=str(tmp_path),
        notify={"tell": ChannelSection(run=("tell", "-x"))},
        mcp_servers={"tell": McpServerSection(command=("tell", "-x"))},
    )
    channel = channels_of(trusted, settings)["tell"]
    assert isinstance(channel, NotificationCommand)
    server = mcp_servers_of(trusted, settings).servers["tell"]
    program(early / "tell")
    found = {"channel": channel.run, "server": server.section.command}[kind]
    assert found == (str(late / "tell"), "-x")
    assert fixed_command(("tell",), path) == (str(early / "tell"),)
    for argv in ((), ("missing",), ("./tell",)):
        assert fixed_command(argv, path) == argv


def program(file: Path) -> None:
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
