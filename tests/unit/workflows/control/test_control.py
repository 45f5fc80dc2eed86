"""Amendments of the context while branches of a fan-out run."""

from datetime import UTC, datetime

from coterie.dsl.evaluate.context_writes import ContextWrite
from coterie.dsl.values import Json
from coterie.workflows.control.pause_and_amend import amend, amend_refusal
from coterie.workflows.control.steering_refusals import AmendConflicts
from coterie.workflows.core.messages import AmendInput
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_parts import Track

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CONFLICT = (
    "the branch 'left' has set the context's 'sum', which counts where the branches meet; "
    "amend it after that"
)


def fanned_out(**left: object) -> RunState:
    """A run whose branch `left` has set `sum`."""
    state = RunState()
    state.main.context = {"sum": 1}
    branch = Track(context={"sum": 2}, team="left", branch=True, updates=[ContextWrite("sum", 2)])
    for name, value in left.items():
        setattr(branch, name, value)
    state.tracks["main>left"] = branch
    return state


def asked(**updates: object) -> AmendInput:
    return AmendInput.model_validate({"updates": updates, "by": "ann"})


def contexts(state: RunState) -> dict[str, Json]:
    return {name: track.context for name, track in state.tracks.items()}


def test_an_amendment_is_refused_where_a_branch_has_set_the_same_path() -> None:
    for end in ("running", "done"):
        assert amend_refusal(fanned_out(end=end), asked(sum=7)) == AmendConflicts(CONFLICT)
        assert amend_refusal(fanned_out(end=end), asked(other=1, sum=7)) == AmendConflicts(CONFLICT)


def test_an_amendment_is_accepted_where_no_branch_brings_another_value() -> None:
    assert amend_refusal(fanned_out(), asked(other=7)) is None
    for end in ("failed", "cancelled"):
        assert amend_refusal(fanned_out(end=end), asked(sum=7)) is None


def test_an_amendment_that_a_branch_overtook_is_refused_and_those_after_it_apply() -> None:
    state = fanned_out()
    state.amendments += [asked(sum=7), asked(other=8)]
    amend(state, NOW)
    assert contexts(state) == {
        "main": {"sum": 1, "other": 8},
        "main>left": {"sum": 2, "other": 8},
    }
    assert [(entry.kind, entry.because, entry.updated) for entry in state.trail] == [
        ("refused", f"amended sum by ann: {CONFLICT}", ()),
        ("control", "amended other by ann", ("other",)),
    ]
    assert state.amendments == [], "none applies twice"
