"""What a history proves of its decisions, without a server."""

import base64
import re

import pytest
from temporalio.client import WorkflowHistory

from coterie.dsl.model.sections.worker_document import TEST_ROOT
from coterie.inspection.verified_decisions import verify_history
from coterie.signing.key_files import generate
from coterie.storage.histories import read_history
from tests.replay.record import HISTORIES

(FILE,) = HISTORIES.glob("signed_decisions.*.json")
(UNSIGNED,) = HISTORIES.glob("edited_by_few.*.json")


def changed(old: str, new: str) -> WorkflowHistory:
    """The history with another text in its payloads."""
    changes: list[str] = []

    def data(found: re.Match[str]) -> str:
        text = base64.b64decode(found[1]).decode()
        changes.extend([old] * text.count(old))
        return f'"data":"{base64.b64encode(text.replace(old, new).encode()).decode()}"'

    written = re.sub(r'"data":"([^"]+)"', data, FILE.read_text())
    assert changes, "there is nothing to change"
    return WorkflowHistory.from_json("signed", written)


async def test_a_signed_history_proves_each_decision_with_person_method_and_time() -> None:
    found = await verify_history(read_history(FILE), [TEST_ROOT])
    assert found.is_proved
    assert [act.what for act in found.acts] == [
        "approved pay/first#1",
        "rejected pay/second#1",
        "approved pay/late#1",
    ]
    assert [act.people[0].split(" at ")[0] for act in found.acts[:2]] == ["ann by coterie test"] * 2
    assert found.acts[2].note.startswith("by its deadline at 20")


async def test_a_history_proves_nothing_under_another_root_or_without_signatures() -> None:
    other = await verify_history(read_history(FILE), [generate("root").public])
    assert other.problem == f"the run trusts another root key: {TEST_ROOT}"
    unsigned = await verify_history(read_history(UNSIGNED), [TEST_ROOT])
    assert unsigned.problem == "the run takes decisions without signature: it proves no name"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"so be it"', '"so be it!"'),
        ('\\"subject\\":\\"ann\\"', '\\"subject\\":\\"eve\\"'),
        ('"decision":"reject"', '"decision":"approve"'),
        ("120", "999"),
        (TEST_ROOT, generate("root").public),
        (f'"decisions_root":"{TEST_ROOT}"', '"decisions_root":null'),
    ],
    ids=["comment", "person", "verdict", "what was shown", "root", "no root"],
)
async def test_a_changed_history_proves_nothing(old: str, new: str) -> None:
    found = await verify_history(changed(old, new), [TEST_ROOT])
    assert not found.is_proved
