"""A database that another version of Temporal wrote: said once, and moved aside on request."""

import json
from pathlib import Path

import pytest

from coterie.server.embedded_server import EmbeddedServer
from coterie.server.server_process import ServerRecord, server_version
from coterie.settings import Settings, load


def program(folder: Path, answer: str) -> str:
    file = folder / "temporal"
    file.write_text(f"#!/bin/sh\n{answer}\n")
    file.chmod(0o755)
    return str(file)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / ".coterie").mkdir()
    return load({"OPENAI_API_KEY": "sk-1", "PATH": "/usr/bin:/bin"}, tmp_path)


@pytest.mark.parametrize(
    ("answer", "version"),
    [
        ("echo 'temporal version 1.9.1 (Server 1.32.0, UI 2.54.1)'", "1.32.0"),
        ("echo 'temporal version 2.0.0 (Server 1.33.0-150.1, UI 3)'", "1.33.0-150.1"),
        ("echo 'Server ../../x'", None),
        ("exit 1", None),
        ('test -z "$OPENAI_API_KEY" && echo Server 1.1.1', "1.1.1"),
    ],
)
def test_the_program_tells_its_server_and_gets_no_secret(
    answer: str, version: str | None, settings: Settings
) -> None:
    assert server_version(program(settings.project, answer), settings) == version


def test_a_program_that_is_missing_tells_nothing(settings: Settings) -> None:
    assert server_version(str(settings.project / "none"), settings) is None


def written(settings: Settings, version: str | None) -> EmbeddedServer:
    record = ServerRecord(port=20_001, ui_port=20_002, version=version)
    (settings.state / "server.json").write_text(record.model_dump_json())
    for name in ("temporal.db", "temporal.db-wal"):
        (settings.state / name).write_text(name)
    return EmbeddedServer(settings)


def test_databases_are_set_aside_beside_each_other(settings: Settings) -> None:
    for folder in ("temporal-of-1.31.2", "temporal-of-1.31.2-2"):
        aside = written(settings, "1.31.2").set_database_aside()
        assert aside is not None
        assert aside == settings.state / folder
        assert sorted(file.name for file in aside.iterdir()) == ["temporal.db", "temporal.db-wal"]
    server = EmbeddedServer(settings)
    assert not server.has_data()
    assert server.set_database_aside() is None
    record = server.record()
    assert record == ServerRecord(port=20_001, ui_port=20_002), "its ports stay, its version not"


def test_a_database_of_before_this_was_noted_is_set_aside_too(settings: Settings) -> None:
    assert written(settings, None).set_database_aside() == settings.state / "temporal-of-unknown"


def test_a_version_that_is_no_version_is_no_record(settings: Settings) -> None:
    text = json.dumps({"port": 1, "ui_port": 2, "version": "../../elsewhere"})
    (settings.state / "server.json").write_text(text)
    assert EmbeddedServer(settings).record() is None
