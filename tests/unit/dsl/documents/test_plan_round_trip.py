"""A plan lies in history as JSON without defaults, comes back the same, and has its digest."""

import json
from typing import Any, cast

import pytest
import yaml

from coterie.dsl.model.plan import Plan
from coterie.storage.wire import data_converter
from tests.support.compiling import plan_of
from tests.support.documents.documents import RICH

PLAN = plan_of(RICH)


def as_sent(plan: Plan) -> dict[str, Any]:
    (payload,) = data_converter.payload_converter.to_payloads([plan])
    return cast("dict[str, Any]", json.loads(payload.data))


def test_a_plan_comes_back_the_same() -> None:
    assert Plan.model_validate(as_sent(PLAN)) == PLAN
    assert as_sent(Plan.model_validate(as_sent(PLAN))) == as_sent(PLAN)


@pytest.mark.parametrize("key", ["agent_type", "agent_class"])
def test_a_null_agent_type_is_like_none_written(key: str) -> None:
    team = "orchestration: { entry_team: t, teams: { t: { tasks: [STEP] } } }"
    personas = "{ writer: { prompts: { user: Write. } } }"
    head = f"llm_config: {{ default_provider: scripted, default_model: m, personas: {personas} }}"
    plan, other = (
        plan_of(f"{head}\n{team}".replace("STEP", f"{{ name: a, persona_key: writer{more} }}"))
        for more in ("", f", {key}: null")
    )
    assert other == plan
    assert Plan.model_validate(as_sent(other)) == other


def test_plan_omits_defaults_and_keeps_the_names_of_the_yaml() -> None:
    text = json.dumps(as_sent(PLAN))
    assert "null" not in text.replace('"value": [1, "two", null]', "").replace(
        '"next_team": null', ""
    )
    assert '"while_"' not in text
    assert '"finally_"' not in text
    assert '"finally"' in text


def test_a_plan_is_small() -> None:
    """It lies in every run's history; what the file says should be most of it."""
    assert len(json.dumps(as_sent(PLAN))) < 1.6 * len(RICH)


def test_the_same_document_has_the_same_digest_however_it_is_laid_out() -> None:
    again = yaml.safe_dump(yaml.safe_load(RICH), sort_keys=False)
    assert again != RICH
    assert plan_of(again) == PLAN
    assert plan_of(RICH).digest == PLAN.digest == PLAN.with_digest().digest


def test_a_digest_is_of_everything_but_itself() -> None:
    other = PLAN.model_copy(update={"digest": "x"})
    assert other.with_digest() == PLAN


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("temperature: 0.5", "temperature: 0.6"),
        ("Be {{ flags.tone }}.", "Be {{ flags.tone }}!"),
        ("tone: warm", "tone: cool"),
        ("max_total_teams: 12", "max_total_teams: 13"),
        ("no_progress: { ask: { deadline: 3d } }", "no_progress: fail"),
        ("operator: eq, value: FAIL", "operator: ne, value: FAIL"),
        ("default: sign", "default: code"),
        ("approvers: [ann, bob]", "approvers: [bob, ann]"),
        ("deadline: 2d", "deadline: 3d"),
        ("retries: 2, interval: 5s", "retries: 3, interval: 5s"),
        ("merge: {found: extend}", "merge: {found: merge}"),
        ("fixed: {command: pytest}", "fixed: {command: pytest, key: a}"),
        ('message: "No {{ n }}"', 'message: "No {{ n }}."'),
        ("name: Draft Team", "name: Drafting Team"),
    ],
)
def test_any_change_of_meaning_is_another_digest(old: str, new: str) -> None:
    assert RICH.count(old) == 1
    assert plan_of(RICH.replace(old, new)).digest != PLAN.digest


def test_a_comment_or_a_default_that_is_said_is_the_same_plan() -> None:
    said = RICH.replace("max_total_teams: 12", "max_total_teams: 12  # a dozen\n  enabled: true")
    assert plan_of(said).digest == PLAN.digest


def test_a_task_that_overrides_its_persona_leaves_the_persona_as_it_is() -> None:
    overridden = PLAN.personas["reviewer@draft.review"]
    assert overridden.temperature == 0
    assert overridden.prompts == {"user": "Check {{ input.text }}"}
    assert overridden.model == "m"
    both = plan_of(
        RICH.replace(
            "          persona_key: writer\n          timeout: 2m",
            "          persona_key: reviewer\n          input: {text: x}",
        )
    )
    assert both.personas["reviewer"].temperature is None
    assert both.personas["reviewer"].prompts["user"].startswith("Review ")
    assert both.personas["reviewer@draft.review"] == overridden
