"""`{name}` in a prompt without `prompt_syntax: braces` is reported, with what to write."""

import pytest

from dsl.checks.agents.prompt_checks import placeholders
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
    ],
)
def test_other_braces_are_no_placeholders(text: str) -> None:
    assert placeholders(text) == []


def test_each_placeholder_is_found_once_with_its_line() -> None:
    assert placeholders("{{ a\n}}\n{b} {b.c}\n{b}") == [("b", 3), ("b.c", 3)]
