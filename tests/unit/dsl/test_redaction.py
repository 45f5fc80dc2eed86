"""No secret is repeated: not in a problem's words, not in the line that is shown with it."""

from collections.abc import Iterator

import pytest

from coterie.dsl.errors import Problem
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.redaction import (
    continued_lines,
    names_secret,
    open_shape,
    redacted,
    redacted_line,
    without_shapes,
)
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Mark, Place
from coterie.text.problems import problems_text
from tests.support.compiling import problems_of

SECRET = "hunter2-hunter2"
SHAPED = "sk-ant-no-real-key-of-anyone-0000"


@pytest.mark.parametrize(
    "key",
    [
        "api_key",
        "apiKey",
        "API-KEY",
        "OPENAI_API_KEY",
        "api_kye",
        "token",
        "access_token",
        "github.token",
        "password",
        "pasword",
        "db_passwd",
        "client_secret",
        "Authorization",
        "credentials",
        "secrets",
        "authorization_value",
    ],
)
def test_these_keys_are_called_like_a_secret(key: str) -> None:
    assert names_secret(key)


@pytest.mark.parametrize(
    "key",
    [
        "api_key_env",
        "env_var",
        "max_tokens",
        "max_token",
        "input_tokens",
        "persona_key",
        "key",
        "name",
        "prompts",
        "description",
        "section",
    ],
)
def test_these_keys_are_not(key: str) -> None:
    assert not names_secret(key)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (f"    api_key: {SECRET}", "    api_key: ***"),
        (f"    api_key: {SECRET} # mine", "    api_key: ***"),
        (f"    api_key: one, {SECRET}", "    api_key: ***"),
        (f"    api_key: '{SHAPED} b'", "    api_key: ***"),
        ("header: Bearer password='a b'", "header: Bearer ***"),
        ("x: {token: abc://u:p,q@h, b: 2}", "x: {token: ***@h, b: 2}"),
        (f"    - api_key:   '{SECRET} b'", "    - api_key:   ***"),
        (f"    api_key={SECRET}", "    api_key=***"),
        (f"    api_key:{SECRET}", "    api_key:***"),
        (f"x: {{a: 1, token: {SECRET}, b: 2}}", "x: {a: 1, token: ***, b: 2}"),
        (f'x: {{"token":"{SECRET},}}", "b": 2}}', 'x: {"token":***, "b": 2}'),
        (f"x: {{secrets: [{SECRET}, {SECRET}], b: 2}}", "x: {secrets: ***"),
        (f"x: {{token: {SECRET}", "x: {token: ***"),
        (f"x: {{token: '{SECRET}", "x: {token: ***"),
        (f"x: {{name: a, token: {SECRET}}}", "x: {name: a, token: ***}"),
        (
            f"x: {{token: '{{{{ context.a }}}}', api_key: {SECRET}}}",
            "x: {token: '{{ context.a }}', api_key: ***}",
        ),
        (
            f"x: {{token: {SHAPED}, b: 2, password: {SECRET}}}",
            "x: {token: ***, b: 2, password: ***}",
        ),
        (f"    api_key_env: {SHAPED}", "    api_key_env: ***"),
        (f"  - Use {SHAPED} to write.", "  - Use *** to write."),
        (f"  api_base: https://me:{SECRET}@example.org", "  api_base: https://***@example.org"),
        (f"  header: Bearer {SECRET}", "  header: Bearer ***"),
        ("  token: '{{ contxt.token }}'", "  token: '{{ contxt.token }}'"),
        (f"  token: '{{{{ x }}}}{SECRET}'", "  token: ***"),
        ("  max_tokens: many", "  max_tokens: many"),
        ("  api_key:", "  api_key:"),
    ],
)
def test_a_line_is_shown_without_its_secret(line: str, shown: str) -> None:
    assert redacted_line(line).text == shown


@pytest.mark.parametrize(
    "text",
    [
        f"api_key: |\n  {SECRET}\nname: x",
        f"api_key: >-\n\n    {SECRET}\nname: x",
        f"- api_key:\n    {SECRET}\n  name: x",
        f'api_key: "first\n  {SECRET}"\nname: x',
        f"a: {{ api_key:\n {SECRET}, b: 1 }}\nname: x",
        f"a: {{ api_key: 'first\n second\n {SECRET}', b: 1 }}\nname: x",
        f"secrets:\n- a\n- {SECRET}\nname: x",
        f"secrets:\n  - a\n  - {SECRET}\nname: x",
        f"secrets:\n  db:\n    user: {SECRET}\nname: x",
        f"cert: |\n  -----BEGIN PRIVATE KEY-----\n  {SECRET}\n  -----END PRIVATE KEY-----\nname: x",
    ],
)
def test_a_secret_of_several_lines_is_hidden_in_each(text: str) -> None:
    lines = text.splitlines()
    inside = continued_lines(lines)
    shown = [
        redacted_line(line, continues=index in inside).text for index, line in enumerate(lines)
    ]
    assert SECRET not in "\n".join(shown)
    assert shown[-1] == "name: x" or shown[-1] == "  name: x"


@pytest.mark.parametrize("word", ["a:", "token", SECRET, "b:", "2}"])
def test_the_caret_stays_below_its_place(word: str) -> None:
    line = f"x: {{a: 1, token: {SECRET}, b: 2}}"
    problem = Problem("E101", "t.yml", 1, line.index(word) + 1, "", "wrong")
    _, shown, caret = problems_text([problem], lambda _: [line]).splitlines()
    assert SECRET not in shown
    assert shown[caret.index("^") :].startswith("***" if word == SECRET else word)


def test_the_caret_stays_below_its_place_where_two_secrets_overlap() -> None:
    line = "x: {token: abc://u:p,q@h, b: 2}"
    for word in ("x:", "token", "@h", "b:", "2}"):
        shown = redacted_line(line)
        assert shown.text[shown.column(line.index(word)) :].startswith(word)
    shown = redacted_line(line)
    column = shown.column(line.index("q@h"))
    assert (shown.text[column:], column) == ("***@h, b: 2}", shown.text.index("***"))


def test_the_line_after_an_empty_secret_is_shown() -> None:
    assert not continued_lines(['api_key: ""', "name: x"])
    assert not continued_lines(["api_key: ''", "name: x"])


def test_lines_that_continue_secrets_are_found_in_one_pass() -> None:
    read: list[str] = []

    def lines() -> Iterator[str]:
        for line in ("secrets:", "  a: x", "", "  - b", "name: x", "token: 'y", "z'", "end: 1"):
            read.append(line)
            yield line

    assert continued_lines(lines()) == {1, 3, 6}
    assert len(read) == 8


@pytest.mark.parametrize(
    ("text", "shown", "waiting"),
    [
        ("plain words", "plain words", ""),
        (f"a {SHAPED} b", "a *** b", ""),
        (f"api_key: {SECRET}", f"api_key: {SECRET}", ""),
        ("see sk-", "see sk-", "sk-"),
        ("see ghp_ab", "see ghp_ab", "ghp_ab"),
        ("a Bearer abc", "a Bearer abc", "abc"),
        ("https://me:pa", "https://me:pa", "me:pa"),
        ("-----BEGIN PRI", "-----BEGIN PRI", "-----BEGIN PRI"),
    ],
)
def test_a_text_is_shown_without_shapes_and_its_end_may_become_one(
    text: str, shown: str, waiting: str
) -> None:
    assert without_shapes(text) == shown
    assert open_shape(text) == len(waiting)


def test_a_place_within_a_secret_is_shown_at_its_beginning() -> None:
    line = f"token: {SECRET}"
    shown = redacted_line(line)
    assert (shown.text, shown.column(len(line) - 2)) == ("token: ***", 7)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"a step: it has {{'api_key': '{SECRET}', 'x': 1}}",
            "a step: it has {'api_key': ***, 'x': 1}",
        ),
        (f"'x' is 'api_key:{SECRET}'", "'x' is 'api_key:***'"),
        (f"unknown persona '{SHAPED}'", "unknown persona '***'"),
        ("no variable can be called 'token': it is taken", None),
        ("write `api_key_env:` with the NAME", None),
        ("the key 'token' is missing", None),
        ("add `token:`", None),
    ],
)
def test_a_sentence_repeats_no_secret_and_loses_nothing_else(
    text: str, message: str | None
) -> None:
    assert redacted(text) == (text if message is None else message)


def test_no_part_of_a_problem_has_the_secret() -> None:
    problems = Problems()
    words = rule("E101")(lambda: ProblemText(SHAPED, SHAPED, SHAPED))
    problems.report(words(), Place(Mark("t.yml", 1, 1), ("a", SHAPED)))
    (problem,) = problems.found()
    assert (problem.path, problem.message) == ("a.***", "***")
    assert (problem.allowed, problem.fix) == ("***", "***")


@pytest.mark.parametrize(
    "text",
    [
        f"llm_config: {{ providers: {{ x: {{ kind: {SHAPED} }} }} }}",
        f"llm_config: {{ providers: {{ x: {{ api_key: {SECRET} }} }} }}",
        f"llm_config: {{ providers: {{ x: 'api_key:{SECRET}' }} }}",
        f"llm_config: {{ default_provider: {SHAPED} }}",
        f"orchestration: {{ teams: {{ a: {{ tasks: [[{{ api_key: {SECRET} }}]] }} }} }}",
        f"orchestration: {{ entry_team: {SHAPED} }}",
    ],
)
def test_no_message_of_the_compiler_repeats_a_secret(text: str) -> None:
    found = problems_of(text)
    assert found
    assert not any(word in str(found) for word in (SECRET, SHAPED))
