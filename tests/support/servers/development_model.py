"""The model of the `development` run as a server: the shipped script's answers over real HTTP."""

import json
from collections import Counter

import yaml

from tests.support.project import ROOT
from tests.support.servers.model_server import ModelServer

_DESIGNER = "senior software engineer who designs changes"
_WRITER = "careful software engineer"
_ASSESSOR = "You are a test engineer"
_REVIEWER = "principal engineer who reviews a change"
_PLANNER = "You are a technical lead"
_ALL_GREEN = "9 passed"

_WHEN: dict[tuple[str, int], tuple[str, str | None]] = {
    ("solution/design", 1): (_DESIGNER, None),
    ("engineering/write_changes", 2): (_WRITER, "wo-2"),
    ("engineering/write_changes", 1): (_WRITER, None),
    ("test_automation/assess", 2): (_ASSESSOR, _ALL_GREEN),
    ("test_automation/assess", 1): (_ASSESSOR, None),
    ("implementation_review/impl_evaluator", 2): (_REVIEWER, _ALL_GREEN),
    ("implementation_review/impl_evaluator", 1): (_REVIEWER, None),
    ("correction/generate_wo", 1): (_PLANNER, None),
}
"""Which prompt gets which answer; the more particular ones first."""


def play(server: ModelServer) -> None:
    """Let the server answer as the shipped script does."""
    script = yaml.safe_load((ROOT / "config" / "scripted" / "development.yml").read_text())
    answers = {
        (entry["task"], entry.get("visit", 1)): entry["answer"] for entry in script["answers"]
    }
    for key, (system, user) in _WHEN.items():
        server.answer(
            answers[key],
            system=system,
            user=user,
            usage={"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
        )


def calls(server: ModelServer) -> Counter[str]:
    """How often each question was asked; equal questions are the same call made again.

    A request that a kill cut in its middle reached no model: it has no body, and counts as none.
    """
    asked = (request.body.get("messages") for request in server.requests())
    return Counter(json.dumps(messages, sort_keys=True) for messages in asked if messages)
