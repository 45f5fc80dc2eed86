"""`rate_limit_policy`: its forms, what is reported of it, and with whom a call takes turns."""

import json
from pathlib import Path

import pytest

from coterie.activities.contracts import OwnQueue
from coterie.cli import main
from coterie.documents.worker_trust import TrustedConfig
from coterie.dsl.model.sections.provider_document import ProviderSection, RateLimitPolicy
from coterie.dsl.values import Json
from coterie.worker.provider_queues import ProviderQueue, provider_queues
from coterie.workflows.temporal.call_failures import fairness_key

TEAM = """
name: crowd
llm_config:
  default_provider: anthropic
  default_model: claude-sonnet-5-5
  personas: { writer: { prompts: { user: "Hello." } } }
orchestration:
  entry_team: only
  teams: { only: { tasks: [{ name: ask, agent_type: generic_single_shot, persona_key: writer }] } }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "config" / "teams").mkdir(parents=True)
    (tmp_path / "config" / "teams" / "crowd.yml").write_text(TEAM)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, policy: str) -> None:
    text = f"llm_config:\n  providers:\n    anthropic:\n      rate_limit_policy: {policy}\n"
    (folder / "coterie.yml").write_text(text)


def test_a_policy_is_reported_with_its_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder, "{requests_per_minute: 300, requests_per_minute_per_key: 60, fair_by: tenant}")
    assert main(["limits", "crowd", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    found = [
        (row["name"], row["value"], row["file"], row["line"])
        for row in rows
        if row["scope"] == "provider anthropic"
    ]
    assert found == [
        ("requests_per_minute", 300, "coterie.yml", 4),
        ("requests_per_minute_per_key", 60, "coterie.yml", 4),
    ]


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("{}", "exactly one of requests_per_second and requests_per_minute"),
        ("{requests_per_second: 1, requests_per_minute: 60}", "exactly one of"),
        ("{requests_per_second: 0}", "more than 0"),
        ("{requests_per_minute: many}", "a number"),
        ("{requests_per_minute: 1, fair_by: 'a..b'}", "a dotted path of the context"),
        ("{tokens_per_minute: 9000}", "tokens are known only after the call"),
    ],
)
def test_a_mistaken_policy_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], policy: str, message: str
) -> None:
    write(folder, policy)
    assert main(["validate", "crowd"]) != 0
    assert message in capsys.readouterr().out


@pytest.mark.parametrize(
    ("fair_by", "context", "key"),
    [
        ("run", {}, "run-1"),
        ("tenant", {"tenant": "acme"}, "tenant=acme"),
        ("who.id", {"who": {"id": 7}}, "who.id=7"),
        ("tenant", {}, "run-1"),
        ("tenant", {"tenant": ["a"]}, "run-1"),
        ("tenant", {"tenant": True}, "run-1"),
    ],
)
def test_a_call_takes_turns_with_those_of_its_run_or_of_its_value(
    fair_by: str, context: Json, key: str
) -> None:
    assert fairness_key(OwnQueue(name="q", fair_by=fair_by), "run-1", context) == key


def test_a_key_is_never_longer_than_the_server_takes() -> None:
    keys = [fairness_key(OwnQueue(name="q"), f"{'é' * 60}{number}", {}) for number in range(2)]
    assert all(len(key.encode()) == 64 for key in keys)
    assert keys[0] != keys[1]


def test_each_limited_provider_has_a_queue_and_a_document_its_own_where_its_limit_differs() -> None:
    slow = RateLimitPolicy(requests_per_second=1, fair_by="tenant")
    fast = RateLimitPolicy(requests_per_second=9)

    def limited(policy: RateLimitPolicy | None) -> ProviderSection:
        return ProviderSection(kind="openai", rate_limit_policy=policy)

    trusted = TrustedConfig(
        workspace="/w",
        providers={"a": limited(slow), "b": limited(None)},
        scoped={
            "a@same": limited(slow),
            "a@other": limited(fast),
            "a@free": limited(None),
            "b@one": limited(slow),
            "c@one": limited(fast),
        },
    )
    queues = provider_queues(trusted, "main")
    assert queues == {
        "a": ProviderQueue("main.provider.a", slow),
        "a@same": ProviderQueue("main.provider.a", slow),
        "a@other": ProviderQueue("main.provider.a@other", fast),
        "b@one": ProviderQueue("main.provider.b@one", slow),
        "c@one": ProviderQueue("main.provider.c@one", fast),
    }
    assert queues["a"].own_queue == OwnQueue(name="main.provider.a", fair_by="tenant")
