"""Settings: constants that every template sees, whose names are checked before the run."""

import pytest

from coterie.dsl.evaluate.condition_evaluation import holds
from coterie.dsl.evaluate.prompt_facts import slice_for
from coterie.dsl.model.conditions import Expression
from coterie.dsl.model.facts import Facts
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import PersonaStep
from coterie.dsl.templates.template_filling import fill
from tests.support.compiling import plan_of, problems_of

_DOCUMENT = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: {prompts: {user: "PROMPT"}}
orchestration:
  entry_team: work
  settings:
    words: 80
    profiles: {strict: {retries: 2}, lenient: {retries: 0}}
    pages: [{size: 1}]
  teams:
    work:
      tasks:
        - {name: note, type: set, values: {found: "SET"}}
        - {name: write, agent_type: generic_single_shot, persona_key: writer}
"""


def document(prompt: str = "Write.", given: str = "x") -> str:
    return _DOCUMENT.replace("PROMPT", prompt).replace("SET", given)


def facts(plan: Plan) -> Facts:
    return Facts(context={"profile": "strict"}, settings=plan.settings)


def test_settings_are_in_the_plan_once_and_not_in_the_context() -> None:
    plan = plan_of(document("In {{ settings.words }} words."))
    assert plan.settings["words"] == 80
    assert plan.model_dump_json().count('"lenient"') == 1


def test_a_prompt_is_sent_only_the_settings_that_it_names() -> None:
    plan = plan_of(document("In {{ settings.words }} words."))
    step = plan.teams["work"].steps[1]
    assert isinstance(step, PersonaStep)
    sent = slice_for(plan.personas["writer"], step, facts(plan))
    assert sent == {"settings": {"words": 80}}


def test_templates_and_conditions_read_settings_by_a_key_known_at_run_time() -> None:
    seen = facts(plan_of(document()))
    template = "{{ settings.profiles[context.profile].retries }}"
    assert fill(template, seen.names()) == 2
    assert holds(Expression(expression="{{ settings.words > 79 }}"), seen)


@pytest.mark.parametrize(
    ("path", "segment", "nearest"),
    [
        ("settings.wrds", "wrds", "words"),
        ("settings.profiles.strct.retries", "strct", "strict"),
        ("settings.profiles.strict.retry", "retry", "retries"),
        ("settings.words.deep", "deep", ""),
    ],
)
@pytest.mark.parametrize("where", ["a step", "a prompt"])
def test_an_unknown_setting_is_a_problem_with_the_nearest_name(
    path: str, segment: str, nearest: str, where: str
) -> None:
    template = f"{{{{ {path} }}}}"
    text = document(given=template) if where == "a step" else document(template)
    (problem,) = problems_of(text)
    assert problem.code == "E207"
    assert f"has no {segment!r}" in problem.message
    assert nearest in problem.fix


def test_items_of_a_list_are_only_known_at_run_time() -> None:
    assert not problems_of(document("{{ settings.pages[0].size }}"))


def test_without_settings_a_template_cannot_name_them() -> None:
    text = document("{{ settings.words }}")
    before, _, rest = text.partition("  settings:\n")
    (problem,) = problems_of(before + rest[rest.index("  teams:") :])
    assert (problem.code, problem.message) == (
        "E207",
        "the template names settings.words, and settings has no 'words'",
    )


def test_no_variable_may_be_called_settings() -> None:
    text = document().replace("found:", "settings:")
    assert [problem.code for problem in problems_of(text)] == ["E105"]


def test_a_variable_called_settings_in_a_plan_without_them_is_still_seen() -> None:
    """Plans in histories were compiled when the name was free."""
    seen = Facts(context={}, variables={"settings": 1}).names()
    assert fill("{{ settings }}", seen) == 1


def test_a_template_among_the_settings_is_refused() -> None:
    text = document().replace("words: 80", 'words: "{{ context.words }}"')
    assert [problem.code for problem in problems_of(text)] == ["E303"]
