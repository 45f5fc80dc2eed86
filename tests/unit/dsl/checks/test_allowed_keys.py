"""The keys that a problem lists as allowed are those that a person can write."""

import pytest

from coterie.dsl.model.steps import STEP_KINDS
from tests.support.compiling import problems_of


def allowed(text: str) -> set[str]:
    """What is listed for the key `zzz`, which nothing knows."""
    found = [p for p in problems_of(text) if p.code == "E101" and p.path.endswith("zzz")]
    assert len(found) == 1
    return set(found[0].allowed.split(", "))


def test_a_provider_has_a_kind_and_no_type() -> None:
    assert allowed("llm_config: {providers: {x: {zzz: 1}}}") == {
        "kind",
        "api_base",
        "api_key_env",
        "cloud",
        "region",
        "project",
        "context_window",
        "default_model",
        "valid_models",
        "answers",
        "api",
        "log",
        "mock",
        "options",
        "prices",
        "rate_limit_policy",
        "reasoning",
        "organization",
        "headers",
    }


@pytest.mark.parametrize("kind", STEP_KINDS)
def test_a_step_has_a_type_and_no_kind(kind: str) -> None:
    step = f"{{name: a, type: {kind}, zzz: 1}}"
    listed = allowed(f"orchestration: {{teams: {{a: {{tasks: [{step}]}}}}}}")
    assert "type" in listed
    assert not {"kind", "terms", "while_", "finally_"} & listed
    assert ("while" in listed) == (kind == "loop")
    assert ("finally" in listed) == (kind == "try")


@pytest.mark.parametrize("key", ["and", "or"])
def test_a_condition_that_joins_others_is_known_by_its_written_key(key: str) -> None:
    rule = f"{{condition: {{{key}: [all_success], zzz: 1}}, next_team: null}}"
    text = f"orchestration: {{teams: {{a: {{routing: {{rules: [{rule}]}}}}}}}}"
    assert allowed(text) == {key}


def test_a_team_of_type_loop_has_a_while_in_its_section() -> None:
    listed = allowed("orchestration: {teams: {a: {type: loop, loop: {zzz: 1}}}}")
    assert "while" in listed
    assert "while_" not in listed


def test_a_provider_whose_kind_is_called_type_is_reported_the_right_key() -> None:
    (problem,) = (
        p for p in problems_of("llm_config: {providers: {x: {type: openai}}}") if p.code == "E101"
    )
    assert problem.fix == "write `kind:`"
