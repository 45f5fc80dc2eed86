"""Wording decides nothing: with every message rendered as `x`, recorded runs decide the same."""

from pathlib import Path
from typing import Any

import pytest

from coterie.replay.replay import replay
from coterie.storage.histories import read_history
from tests.replay.record import HISTORIES
from tests.replay.transcript import transcript
from tests.support.simulation.wording import X, render_all_as_x

FILES = sorted(HISTORIES.glob("*.json"))
DOCUMENT_READS_MESSAGES = (
    "every_kind",
    "consents",
    "task_graph",
    "chosen_personas",
    "hooks",
    "egress",
    "local_tools",
    "nested_grants",
    "asked_on_failure",
    "code_mode",
)
"""Cases whose own templates, prompts, hooks, models and code repeat the message of a failure, as
data, or show it to people: a decision keeps the digest of what they saw."""


def reads_messages(file: Path) -> bool:
    return file.name.startswith(DOCUMENT_READS_MESSAGES)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
async def test_history_replays_with_the_same_decisions_when_every_message_is_x(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    render_all_as_x(monkeypatch, failures=not reads_messages(file))
    replayed = await replay(read_history(file))
    assert replayed.differences == ()
    assert {entry.because for entry in replayed.trail} <= {"", X}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
async def test_commands_routes_and_state_are_the_same_when_every_message_is_x(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worded = await transcript(file)
    render_all_as_x(monkeypatch)
    assert comparable(await transcript(file), file) == comparable(worded, file)


def comparable(message: dict[str, Any], file: Path) -> dict[str, Any]:
    """Everything; where a document reads messages, all but the values that it makes of them."""
    if not reads_messages(file):
        return message
    return {**message, "state": None, "commands": [command[:3] for command in message["commands"]]}
