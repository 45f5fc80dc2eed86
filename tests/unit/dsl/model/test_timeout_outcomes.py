"""One type says what `on_timeout` means: an outcome, or the next team."""

import pytest

from coterie.dsl.model.decision_terms import TIMEOUT_OUTCOMES, DecisionTerms


@pytest.mark.parametrize("outcome", TIMEOUT_OUTCOMES)
def test_an_outcome_is_no_team(outcome: str) -> None:
    terms = DecisionTerms(on_timeout=outcome)
    assert (terms.timeout_outcome, terms.timeout_team) == (outcome, None)


def test_any_other_name_is_the_next_team() -> None:
    terms = DecisionTerms(on_timeout="escalate")
    assert (terms.timeout_outcome, terms.timeout_team) == (None, "escalate")


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        (DecisionTerms(on_timeout="approve"), True),
        (DecisionTerms(deadline=60, on_timeout="approve"), False),
        (DecisionTerms(deadline=60), True),
        (DecisionTerms(deadline=60, on_timeout="escalate"), True),
    ],
)
def test_only_a_deadline_that_approves_replaces_people(
    terms: DecisionTerms, expected: bool
) -> None:
    assert terms.only_people_approve is expected
