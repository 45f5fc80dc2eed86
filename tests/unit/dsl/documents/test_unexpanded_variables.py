"""`${NAME}` is refused where nothing expands it, and left alone where a program may."""

import pytest

from tests.support.compiling import problems_of

TEAMS = """
orchestration:
  entry_team: a
  teams: {a: {tasks: [{name: x, type: set, values: {a: VALUE}}]}}
"""


def document(line: str, value: str = "1") -> str:
    return f"{line}\n{TEAMS.replace('VALUE', value)}\n"


def provider(setting: str) -> str:
    return f"llm_config: {{providers: {{p: {{kind: openai, {setting}}}}}}}"


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        (provider('api_base: "${OLLAMA_URL}/v1"'), "api_key_env: OLLAMA_URL"),
        (provider('api_base: "${OLLAMA_URL:-http://localhost}/v1"'), "api_key_env: OLLAMA_URL"),
        (provider('api_key_env: "${KEY}"'), "`api_key_env: KEY`"),
        (provider('api_key_env: "${env.KEY}"'), "`api_key_env: KEY`"),
        (provider('api_key_env: "${env:KEY}"'), "`api_key_env: KEY`"),
        (provider('default_model: "${MODEL}"'), "api_key_env: MODEL"),
        ('llm_config: {default_model: "${MODEL}"}', "api_key_env: MODEL"),
        ('worker: {workspace: "${HOME}/work"}', "write the value itself"),
        ('worker: {notify: {c: {url_env: "${HOOK}"}}}', "`url_env: HOOK`"),
    ],
)
def test_a_variable_that_nothing_expands_is_refused_with_what_to_write(line: str, fix: str) -> None:
    (one,) = [one for one in problems_of(document(line)) if one.severity == "error"]
    assert (one.code, "not expanded" in one.message, fix in one.fix) == ("E303", True, True), one


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        (provider('headers: {X: "${H}"}'), "write the name alone, `H`"),
        ('worker: {mcp_servers: {s: {command: [x], env: ["${H}"]}}}', "write the name alone, `H`"),
        (
            'worker: {mcp_servers: {s: {url: "http://x", headers: {X: "${H}"}}}}',
            "the name alone, `H`",
        ),
        ('worker: {commands: {c: {run: [x], env: ["${H}"]}}}', "write the name alone, `H`"),
        ('worker: {tool_env: ["${H}"]}', "write the name alone, `H`"),
        ('worker: {agent_env: ["${H}"]}', "write the name alone, `H`"),
        ('worker: {commands: {c: {run: [x], timeout: "${T}"}}}', "write the value itself"),
        (provider('context_window: "${N}"'), "write the value itself"),
    ],
)
def test_a_variable_in_a_field_with_a_form_of_its_own_says_what_to_write(
    line: str, fix: str
) -> None:
    (one,) = [one for one in problems_of(document(line)) if one.severity == "error"]
    assert fix in one.fix


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ('description: "Set ${HOME} first."', "1"),
        ('worker: {commands: {greet: {run: [sh, -c, "echo ${HOME}"]}}}', "1"),
        ("name: a", '"a ${HOME} of a script"'),
    ],
)
def test_a_text_in_which_a_program_may_expand_a_variable_is_left_alone(
    line: str, value: str
) -> None:
    assert [one.code for one in problems_of(document(line, value)) if one.severity == "error"] == []
