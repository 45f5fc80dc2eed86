"""`coterie trigger` shows what a delivery would do, as the gateway does it."""

import json
from pathlib import Path

import pytest

from coterie.cli import main

TEAM = """
orchestration:
  entry_team: note
  context: {order: {type: integer}}
  teams:
    note:
      tasks:
        - {name: hear, type: wait, signal: paid, deadline: 1h}
        - {name: note, type: set, values: {a: "{{ context.order }}{{ tasks.hear.data }}"}}
triggers:
  opened:
    webhook:
      verify: github
      secret_env: COTERIE_TEST_HOOK_SECRET
      event_id: "{{ payload.id }}"
      when: "{{ event.type == 'issues' and payload.get('order') is not none }}"
      context: {order: "{{ payload.order }}"}
  paid:
    webhook:
      verify: stripe
      secret_env: COTERIE_TEST_HOOK_SECRET
      signal: {run: "order-{{ payload.order }}", name: paid, payload: "{{ payload.by }}"}
"""
ISSUES = ("--header", "X-GitHub-Event: issues")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "shop.yml").write_text(TEAM)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shown(folder: Path, trigger: str, payload: object, *more: str) -> int:
    (folder / "body.json").write_text(json.dumps(payload))
    return main(["trigger", "shop.yml", trigger, "--payload", "body.json", *more])


def test_a_delivery_is_shown_with_what_it_would_start(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shown(folder, "opened", {"id": 5, "order": 7}, *ISSUES) == 0
    printed = capsys.readouterr()
    assert printed.out == (
        "address  POST /hooks/shop/opened, signed by github\n"
        "event    EVENT issues\n"
        "when     true\n"
        '         event.type = "issues"\n'
        '         payload = {"id": 5, "order": 7}\n'
        "starts   hook/shop/opened/5\n"
        'context  {"order": 7}\n'
    )
    assert "COTERIE_TEST_HOOK_SECRET" in printed.err


def test_the_effect_is_json_for_programs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(folder, "paid", {"id": "evt_1", "order": 7, "by": "ann"}, "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "effect": "signal",
        "run": "order-7",
        "signal": "paid",
        "payload": "ann",
    }
    assert shown(folder, "opened", {"id": 5}, "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"effect": "ignored"}


@pytest.mark.parametrize(
    ("trigger", "payload", "reason"),
    [
        ("opend", {}, "did you mean 'opened'?"),
        ("opened", {"order": 7}, "payload.id has no value"),
        ("opened", {"id": 5, "order": "seven"}, "order is a text, not a whole number"),
        ("paid", {"order": 7, "by": "ann"}, "no `id`"),
        ("paid", {"id": "evt_1", "order": "\n", "by": "ann"}, "a run cannot have the id"),
    ],
)
def test_what_the_gateway_would_refuse_is_an_error(
    folder: Path, capsys: pytest.CaptureFixture[str], trigger: str, payload: object, reason: str
) -> None:
    assert shown(folder, trigger, payload, *ISSUES) == 2
    assert reason in capsys.readouterr().err


def test_controls_of_a_payload_do_not_reach_the_terminal(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    payload = {"id": "a\x1b[31m", "order": 7, "by": "\x1b[2J"}
    assert shown(folder, "paid", payload) == 0
    assert "\x1b" not in capsys.readouterr().out
