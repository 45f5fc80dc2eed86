"""A machine so busy that a call to the test server is lost: the case restarts."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from tests.support.team_tests import failures_text, results, written

TEAM = """
orchestration:
  entry_team: only
  teams:
    only: { tasks: [{ name: nap, type: wait, duration: 1d }] }
"""
TESTS = "cases: [{ name: a day passes, expect: { duration: { in_range: [1d, 25h] } } }]"
CALLS = ("describe_workflow_execution", "update_workflow_execution_options")
"""The calls of a run's clock."""


def lose(
    monkeypatch: pytest.MonkeyPatch, client: Client, name: str, status: RPCStatusCode, first: int
) -> None:
    """Lose the first calls of this name, as the SDK does when it gives a connection up."""
    answer: Callable[..., Awaitable[object]] = getattr(client.workflow_service, name)
    calls = 0

    async def lost(*arguments: Any, **options: Any) -> object:
        nonlocal calls
        calls += 1
        if calls <= first:
            raise RPCError("operation was canceled", status, b"")
        return await answer(*arguments, **options)

    monkeypatch.setattr(client.workflow_service, name, lost)


@pytest.mark.parametrize("status", [RPCStatusCode.CANCELLED, RPCStatusCode.UNAVAILABLE])
@pytest.mark.parametrize("name", CALLS)
async def test_a_case_restarts_when_a_call_to_the_server_is_lost(
    skipping_client: Client,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    status: RPCStatusCode,
) -> None:
    lose(monkeypatch, skipping_client, name, status, first=1)
    assert failures_text(await results(skipping_client, written(tmp_path, TEAM, TESTS))) == ""


async def test_a_case_fails_with_a_sentence_when_no_call_is_answered(
    skipping_client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose(monkeypatch, skipping_client, CALLS[0], RPCStatusCode.CANCELLED, first=100)
    shown = failures_text(await results(skipping_client, written(tmp_path, TEAM, TESTS)))
    assert "the test server does not answer: operation was canceled" in shown
