"""The team `tool_router`: which messages it takes, and which calls it makes again."""

import pytest

from coterie.dsl.model.traversal.step_walk import message_waits
from coterie.workflows.sessions.message_queue import unfit_message
from tests.support.documents.shipped import compiled
from tests.support.simulation.persona_faults import FAILS, OneFault, faulty_run

INVISIBLE = "\u200b\u2060\ufeff\u00a0"
PLAN = compiled("tool_router").compiled.plan


@pytest.mark.parametrize(
    ("message", "fits"), [("How?", True), ("", False), (" \n\t", False), (INVISIBLE, False)]
)
def test_a_blank_message_is_refused(message: str, fits: bool) -> None:
    [wait] = message_waits(PLAN)
    assert (unfit_message(message, wait.schema_) is None) is fits


@pytest.mark.parametrize(("result", "again"), [(FAILS, True), ({"passages": []}, False)])
def test_only_a_failed_call_is_made_again_for_the_same_question(
    result: str | dict[str, list[str]], again: bool
) -> None:
    model = OneFault(PLAN, "", "minimal", {"score": 90})
    found = {"Retriever.search": result}
    ended = faulty_run(PLAN, {}, model, found, "How?")  # pyright: ignore[reportArgumentType]
    steps = [one for one in ended.state.trail if (one.step or "").endswith("one_call")]
    assert (len({one.visit for one in steps}) > 1) is again
