"""A test names a step of a run with or without its round and the place of a model's call.

Every key that names a step takes the same forms; `READERS` has each of them.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError

from coterie.activities.contracts import FunctionRequest
from coterie.activities.workspace.function_base import Workspace
from coterie.testing.case_differences import differences
from coterie.testing.files.case_document import (
    CaseDocument,
    DecisionDocument,
    ExpectDocument,
    FunctionResultDocument,
    MessageDocument,
)
from coterie.testing.files.short_names import written_forms
from coterie.testing.simulation.crashes import crashes
from coterie.testing.simulation.scheduled_events import Decisions, Scene, scheduled_events
from coterie.testing.simulation.scheduled_messages import Messages
from coterie.testing.simulation.stub_functions import StubFunctions
from coterie.workflows.core.requests import Pending
from tests.unit.coterie.team_tests.test_expectation_differences import OUTCOME, entry

STEP = "t/each/4/ask/search@2.1"
FORMS = (
    "t/each/4/ask/search@2.1",
    "t/each/ask/search@2.1",
    "t/each/4/ask/search",
    "t/each/ask/search",
)
NOW = datetime(2026, 1, 2, tzinfo=UTC)
DOING = Scene(NOW, (), {STEP: NOW})
ENDED = entry(1, "step", team="t", step=STEP.removeprefix("t/"), status="success")
EVENTS = {
    "signals": {"signal": "go"},
    "pauses": {"lasts": 60},
    "amendments": {"updates": {"a": 1}},
    "redirects": {"team": "t"},
    "skips": {"task": "t/s"},
    "says": {"text": "Hurry."},
}


def case(**given: Any) -> CaseDocument:
    return CaseDocument.model_validate({"name": "one", "expect": {}} | given)


def expected(form: str) -> bool:
    check = ExpectDocument.model_validate({"trail": [{"step": form.removeprefix("t/")}]})
    return not list(differences(check, replace(OUTCOME, trail=(ENDED,))))


def decided(form: str) -> bool:
    pending = Pending(id=f"{STEP}#1", prompt="?", since=NOW.isoformat())
    entries = [DecisionDocument(approval=f"{form}#*", decision="approve")]
    return Decisions(entries).due(Scene(NOW, (pending,), {})) is not None


def replaced(form: str) -> bool:
    entries = [FunctionResultDocument.model_validate({"step": form, "data": 1})]
    stub = StubFunctions(Workspace(Path()), entries, {}, {})
    try:
        asyncio.run(
            stub.call_function(FunctionRequest(skill="a", key=f"run/e1/{STEP}#1", input=None))
        )
    except ApplicationError:
        return False
    return True


def happens(key: str) -> Callable[[str], bool]:
    def due(form: str) -> bool:
        given = {"during": form} | EVENTS.get(key, {})
        (_, event, *_) = scheduled_events(case(**{key: given if key == "cancel" else [given]}))
        return event.due(DOING) is not None

    return due


def said(form: str) -> bool:
    return Messages([MessageDocument(message="hi", during=form)], ()).due(DOING) is not None


READERS: dict[str, Callable[[str], bool]] = {
    "trail": expected,
    "decisions": decided,
    "functions": replaced,
    "messages": said,
    "crash_after": lambda form: crashes(case(crash_after=form))[0].is_due([ENDED], []),
    "crash_during": lambda form: crashes(case(crash_during=form))[0].is_due([], [STEP]),
    **{key: happens(key) for key in (*EVENTS, "cancel")},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("key", READERS)
def test_a_step_is_meant_by_each_form_of_its_name(key: str, form: str) -> None:
    assert READERS[key](form)


@pytest.mark.parametrize("key", READERS)
def test_another_round_is_not_meant(key: str) -> None:
    assert not READERS[key]("t/each/5/ask/search")


def test_the_most_specific_form_comes_first() -> None:
    assert written_forms(STEP) == FORMS
    assert written_forms("t/s") == ("t/s",)
