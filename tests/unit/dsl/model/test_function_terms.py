"""One function derives the terms of a call from the contract of its tool function."""

from coterie.dsl.model.capabilities import FunctionContract
from coterie.dsl.model.step_kinds.step_base import FunctionTerms, terms_of

CONTRACT = FunctionContract(
    name="s.m",
    description="",
    effect="read",
    input_schema={},
    output_schema={},
    timeout=7,
    retries=3,
    startup=1.5,
    labels=("private",),
)


def test_terms_are_those_of_the_contract() -> None:
    assert terms_of(CONTRACT) == FunctionTerms(
        effect="read", timeout=7, retries=3, startup=1.5, labels=("private",)
    )


def test_written_values_replace_those_of_the_contract() -> None:
    terms = terms_of(CONTRACT, timeout=2, retries=0)
    assert (terms.timeout, terms.retries) == (2, 0)
