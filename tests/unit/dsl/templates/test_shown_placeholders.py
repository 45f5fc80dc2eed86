"""`{name}` in a text that people read is reported, with the template to write instead."""

import pytest

from tests.support.compiling import problems_of

DOCUMENT = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer:
      prompts: {user: Write.}
      tools: [find]
      HOOKS
tools:
  find: {skill: Retriever.search TOOL}
orchestration:
  entry_team: main
  LIMITS
  teams:
    main:
      tasks:
        - {name: noted, type: set, values: {offer: 1}}
        - {name: ask, agent_type: generic_tool_calling, persona_key: writer}
        - STEP
"""
_STEP = "{name: rest, type: wait, duration: 1}"
_SHOWN = [
    '{name: x, type: approval, deadline: 1d, prompt: "%s"}',
    '{name: x, type: approval, deadline: 1d, prompt: Well?, show: {texts: ["%s"]}}',
    '{name: x, type: fail, message: "%s"}',
    "{name: x, agent_type: generic_tool_calling, persona_key: writer, "
    'requires_approval: {deadline: 1d, prompt: "%s"}}',
    '{name: x, type: block, steps: [{name: y, type: fail, message: "%s"}]}',
]
_HOOK = 'hooks: [{on: after_model_call, decide: fail, message: "%s"}]'
TEMPLATES = [("HOOKS", _HOOK), *(("STEP", text) for text in _SHOWN)]
LITERAL = [
    ("LIMITS", 'no_progress: {ask: {deadline: 1d, prompt: "%s"}}'),
    ("LIMITS", 'egress_approval: {deadline: 1d, prompt: "%s"}'),
    ("LIMITS", 'budgets: {tokens: {limit: 9, on_exceeded: {ask: {deadline: 1d, prompt: "%s"}}}}'),
    ("TOOL", ', requires_approval: {deadline: 1d, prompt: "%s"}'),
]


def problems(place: str, text: str) -> list[tuple[str, str, str]]:
    written = DOCUMENT.replace(place, text)
    for other, default in {"STEP": _STEP, "HOOKS": "", "LIMITS": "", "TOOL": ""}.items():
        written = written.replace(other, default)
    return [(one.code, one.path, one.fix) for one in problems_of(written)]


@pytest.mark.parametrize("text", _SHOWN)
@pytest.mark.parametrize(
    ("name", "template"),
    [
        ("topic", "{{ context.topic }}"),
        ("offer", "{{ offer }}"),
        ("tasks.ask.data", "{{ tasks.ask.data }}"),
        ("ask", "{{ tasks.ask.data }}"),
        ("ask.data", "{{ tasks.ask.data }}"),
        ("items[0]", "{{ context.items[0] }}"),
    ],
)
def test_a_placeholder_that_a_person_would_read_is_reported_with_the_template(
    text: str, name: str, template: str
) -> None:
    ((code, _, fix),) = problems("STEP", text % f"Send {{{name}}}?")
    literal = f'{{{{ "{{{name}}}" }}}}'
    assert (code, fix) == ("W512", f"write `{template}`; for the braces themselves, `{literal}`")
    assert problems("STEP", text % literal.replace('"', "'")) == []


@pytest.mark.parametrize(
    ("name", "path"),
    [("topic", "context.topic"), ("answer", "answer"), ("offer", "context.offer")],
)
def test_a_placeholder_in_a_hook_is_reported_with_a_name_that_the_hook_reads(
    name: str, path: str
) -> None:
    ((code, _, fix),) = problems("HOOKS", _HOOK % f"Wrong: {{{name}}}")
    assert code == "W512"
    assert fix.startswith(f"write `{{{{ {path} }}}}`; ")
    assert problems("HOOKS", _HOOK % f"Wrong: {{{{ {path} }}}}") == []


@pytest.mark.parametrize(("place", "text"), LITERAL)
def test_a_placeholder_in_a_question_without_templates_is_reported(place: str, text: str) -> None:
    ((code, _, fix),) = problems(place, text % "Go on with {topic}?")
    assert code == "W512"
    assert "`approval` step" in fix


@pytest.mark.parametrize("reply", ["Hi {name}.", "{{ context.name }}"])
def test_a_placeholder_in_a_reply_is_reported(reply: str) -> None:
    step = '{name: w, type: wait, message: true}\n        - {name: r, type: reply, value: "%s"}'
    expected = [("W512", "write `{{ context.name }}`")] if reply.startswith("Hi") else []
    found = [(code, fix.partition(";")[0]) for code, _, fix in problems("STEP", step % reply)]
    assert found == expected


@pytest.mark.parametrize("text", ["Hi {{ context.name }}.", "{ 'a': 1 }", "{{ '{name}' }}", "${x}"])
def test_other_braces_that_a_person_reads_are_no_problem(text: str) -> None:
    for place, written in TEMPLATES:
        assert problems(place, written % text) == []


@pytest.mark.parametrize(
    "team",
    [
        '{type: approval, approval: {deadline: 1d, prompt: "Send {topic}?"}}',
        '{type: chat, chat: {reply: "Hi {topic}."}}',
    ],
)
def test_a_placeholder_in_a_team_that_asks_or_replies_is_reported(team: str) -> None:
    text = f"orchestration: {{entry_team: main, teams: {{main: {team}}}}}\n"
    found = [(one.code, one.fix.partition(";")[0]) for one in problems_of(text)]
    assert found == [("W512", "write `{{ context.topic }}`")]
