"""`{name}` in a prompt without `prompt_syntax: braces` is reported, with what to write."""

import pytest

from coterie.dsl.checks.agents.placeholder_checks import placeholders
from tests.support.compiling import problems_of

DOCUMENT = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    reviewer:
      {SYNTAX}
      prompts:
        system: {SYSTEM}
        user: |
          Review this.
          The code: {code} of {author.name}.
orchestration:
  entry_team: review
  teams:
    review:
      tasks:
        - name: check
          agent_type: generic_single_shot
          persona_key: reviewer
          input: {code: 1}
"""


def warnings_of(system: str, syntax: str = "max_reasks: 1") -> list[tuple[str, int, int, str]]:
    text = DOCUMENT.replace("{SYSTEM}", system).replace("{SYNTAX}", syntax)
    return [(one.code, one.line, one.column, one.fix) for one in problems_of(text)]


def test_a_persona_of_the_older_syntax_is_advised_to_say_so() -> None:
    fix = "add `prompt_syntax: braces` to the persona"
    assert warnings_of("You review.") == [("W512", 12, 21, fix)]


def test_a_persona_with_templates_is_reported_what_to_write_instead() -> None:
    fix = "write `{{ input.code }}` or `{{ context.code }}`"
    assert warnings_of('"You review {{ context.what }}."') == [("W512", 12, 21, fix)]


def test_a_persona_that_says_its_syntax_is_left_alone() -> None:
    assert warnings_of("You review.", "prompt_syntax: braces") == []


@pytest.mark.parametrize(
    "text",
    [
        "{{ name }}",
        '{{ "{name}" }}',
        "${HOME}",
        '{"a": 1}',
        "{}",
        r"\frac{a}",
        "x{y}",
        "{{name}}",
        "{% if a %}{% endif %}",
        "{ name }",
        "{1}",
        "{a: 1}",
        "{a:b}",
        "{a, b}",
        "{a[i + 1]}",
    ],
)
def test_other_braces_are_no_placeholders(text: str) -> None:
    assert placeholders(text) == []


@pytest.mark.parametrize(
    "name",
    [
        "tasks[0]",
        "tasks[0].name",
        "user['name']",
        "a.b[key]",
        "name!r",
        "n:>10",
        "x:.2f",
        "n:,",
        "n:d",
    ],
)
def test_a_field_of_a_format_string_is_a_placeholder(name: str) -> None:
    assert placeholders(f"Say {{{name}}}.") == [(name, 1)]
    (code, *_, fix), _ = warnings_of(f'"Say {{{name}}}."')
    path = name.partition("!")[0].partition(":")[0]
    assert (code, fix) == ("W512", f"write `{{{{ input.{path} }}}}` or `{{{{ context.{path} }}}}`")


@pytest.mark.parametrize(
    "system", ["Answer {{literal}}.", 'Answer {{"a": 1}}.', "Answer {{}}.", "{{{code}}}"]
)
def test_a_literal_of_the_older_syntax_beside_a_placeholder_is_reported_with_the_syntax(
    system: str,
) -> None:
    ((code, line, _, fix),) = warnings_of(f"'{system}'")
    assert (code, line) == ("E301", 9)
    assert fix.startswith("add `prompt_syntax: braces` to the persona, or write")
    assert warnings_of(f"'{system}'", "prompt_syntax: braces") == []


def test_a_literal_of_the_older_syntax_is_reported_on_its_line() -> None:
    text = DOCUMENT.replace("{SYSTEM}", "You review {what}.").replace("{SYNTAX}", "max_reasks: 1")
    text = text.replace("The code: {code}", "As {{literal}}: {code}")
    ((code, line, column),) = [(one.code, one.line, one.column) for one in problems_of(text)]
    assert (code, line, column) == ("E301", 12, 14)


def test_many_placeholders_are_counted_behind_the_first_five() -> None:
    names = " ".join(f"{{n{number}}}" for number in range(7))
    text = DOCUMENT.replace("{SYSTEM}", f"'{names}'").replace("{SYNTAX}", "max_reasks: 1")
    (message, *_) = [one.message for one in problems_of(text)]
    assert "`{n3}`, `{n4}` and 2 more unexpanded" in message


@pytest.mark.parametrize(
    "system", ["{{ input.what }} {{ typo }}", "{{ '{code}' }}", "{# {code} #}"]
)
def test_a_prompt_with_a_template_is_not_of_the_older_syntax(system: str) -> None:
    assert "E301" not in {code for code, *_ in warnings_of(f'"{system}"')}


@pytest.mark.parametrize(
    ("system", "part"),
    [
        ("First {tasks[0]}.", "a name of its own in the task's `input`"),
        ("Costs {price:.2f}.", "a name of its own in the task's `input`"),
        ("See {{ context.what }}.", "remove `prompt_syntax: braces`"),
        ("{% if context.a %}See.{% endif %}", "remove `prompt_syntax: braces`"),
    ],
)
def test_what_the_older_syntax_does_not_render_is_warned_of(system: str, part: str) -> None:
    ((code, line, _, fix),) = warnings_of(f'"{system}"', "prompt_syntax: braces")
    assert (code, line) == ("W512", 9)
    assert part in fix


def test_a_placeholder_in_the_prompt_of_a_compaction_is_warned_of() -> None:
    syntax = 'prompt_syntax: braces\n      compaction: {prompt: "Sum up: {text}"}'
    assert [(code, line) for code, line, *_ in warnings_of("Hi.", syntax)] == [("W512", 8)]


def test_each_placeholder_is_found_once_with_its_line() -> None:
    assert placeholders("{{ a\n}}\n{b} {b.c}\n{b}") == [("b", 3), ("b.c", 3)]


@pytest.mark.parametrize("syntax", ["", "prompt_syntax: braces, "])
@pytest.mark.parametrize(
    ("text", "code"), [("{{ context.a", "E301"), ("{{ context.a }} {% if %}", "E301"), ("Go.", "")]
)
def test_a_prompt_that_no_task_asks_must_be_a_template_too(
    syntax: str, text: str, code: str
) -> None:
    spare = f"spare: {{ {syntax}prompts: {{ user: '{text}' }} }}\n    reviewer:"
    document = DOCUMENT.replace("reviewer:", spare, 1).replace("{SYSTEM}", "Hi.")
    problems = problems_of(document.replace("{SYNTAX}", "prompt_syntax: braces"))
    is_literal = syntax != ""  # braces are no templates there
    errors = [one.code for one in problems if one.severity == "error"]
    assert errors == ([code] if code and not is_literal else [])
