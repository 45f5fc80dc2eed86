"""When a call may send data out, decided from what a run has met."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.dsl.egress.egress_rules import GrantedCall, MayCall, MustAsk, egress_decision
from coterie.dsl.egress.egress_wording import egress_question
from coterie.dsl.egress.met_labels import MetLabel, MetLabels
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.model.capabilities import KeptLabel, Label
from tests.unit.dsl.tools.test_labels import HEAD, compiled, tasks

LABELS: st.SearchStrategy[Label] = st.sampled_from(("private", "untrusted", "egress"))
KEPT: st.SearchStrategy[KeptLabel] = st.sampled_from(("private", "untrusted"))
MET = st.lists(st.builds(MetLabel, KEPT, st.sampled_from("abc"), st.just("t/s")), max_size=12)


@given(st.sets(LABELS), MET, st.booleans())
def test_a_call_asks_if_it_sends_and_both_labels_are_met_and_nothing_grants_it(
    labels: set[Label], met: list[MetLabel], grants: bool
) -> None:
    decision = egress_decision(labels, ("private",) if grants else (), met)
    if "egress" in labels and {one.label for one in met} == {"private", "untrusted"}:
        assert isinstance(decision, GrantedCall if grants else MustAsk)
        assert {one.label for one in decision.sources} == {"private", "untrusted"}
        assert len(decision.sources) <= 6
    else:
        assert decision == MayCall()


@given(st.lists(st.tuples(st.sets(LABELS), st.sampled_from("ab")), max_size=20))
def test_each_label_of_each_tool_is_kept_once_in_the_order_of_meeting(
    calls: list[tuple[set[Label], str]],
) -> None:
    known, new = MetLabels(), list[MetLabel]()
    for labels, tool in calls:
        new += known.meet(labels, tool, "t/s", 0)
    assert known.met == new
    assert [one.number for one in new] == list(range(1, len(new) + 1))
    brought = {(label, tool) for labels, tool in calls for label in labels if label != "egress"}
    assert {(one.label, one.tool) for one in new} == brought


def test_what_an_approval_covers_counts_again_when_a_call_brings_it_again() -> None:
    known = MetLabels()
    known.meet(("private",), "read", "t/a", 0)
    cleared = known.count
    assert known.since(cleared) == ()
    known.meet(("private",), "read", "t/b", cleared)
    assert [(one.step, one.number) for one in known.since(cleared)] == [("t/b", 2)]
    known.clear()
    assert (known.met, known.count) == ([], 2)


def test_the_question_names_every_source() -> None:
    sources = (MetLabel("untrusted", "web", "a/w"), MetLabel("private", "read", "a/r"))
    assert egress_question("send", sources, None) == (
        "May the tool 'send' send this out? The run has met private data (read in a/r) and text "
        "that others wrote (web in a/w)."
    )


def test_only_a_plan_that_can_send_private_data_asks() -> None:
    step = tasks("{ name: s, values: { x: 1 } }")
    assert compiled(step).plan.egress_approval is not None  # HEAD declares all labels
    own = (
        HEAD.replace("labels: [egress]", "labels: []")
        .replace(", grants: [private]", "")
        .replace("untrusted, egress", "untrusted")
    )
    without = compiled(step, own).plan
    assert without.egress_approval is None


def problems(text: str, head: str = HEAD) -> list[tuple[str, str]]:
    with pytest.raises(InvalidDocument) as refused:
        compiled(
            tasks("{ name: s, values: { x: 1 } }"), head.replace("teams:\n", f"{text}\n  teams:\n")
        )
    return [(one.code, one.path) for one in refused.value.problems]


@pytest.mark.parametrize(
    ("terms", "found"),
    [
        (
            "{ deadline: 1d, on_timeout: approve }",
            ("E105", "orchestration.egress_approval.on_timeout"),
        ),
        ("{ deadline: 1d, remember: true }", ("E107", "orchestration.egress_approval.remember")),
        ("{ deadline: 1d, quorum: 2 }", ("E106", "orchestration.egress_approval.quorum")),
        ("{ deadline: 1d, on_timeout: b }", ("E201", "orchestration.egress_approval.on_timeout")),
        ("{ deadline: 1d, editable: true }", ("E101", "orchestration.egress_approval.editable")),
    ],
)
def test_terms_that_would_let_data_out_without_a_person_are_refused(
    terms: str, found: tuple[str, str]
) -> None:
    assert problems(f"egress_approval: {terms}") == [found]


def test_a_grant_to_a_tool_that_sends_nothing_is_refused() -> None:
    head = HEAD.replace("labels: [private] }", "labels: [private], grants: [private] }")
    assert problems("", head) == [("E107", "tools.read.grants")]
