"""Whatever is wrong around a secret, `validate` prints it nowhere."""

import pytest

from tests.support.project import Project

SECRET = "sk-not-a-real-key"
TEAM = """\
orchestration:
  entry_team: first
  teams:
    first:
      tasks:
        - { name: ask, type: approval, prompt: "Go on?", deadline: 1h }
"""


@pytest.mark.parametrize(
    ("provider", "code"),
    [
        (f"{{api_key: {SECRET}, kind: anthropic}}", "E108"),
        ("{api_key: plain-password-of-mine, kind: anthropic}", "E108"),
        ("\n      kind: anthropic\n      api_key: plain-password-of-mine", "E108"),
        ("{pasword: plain-password-of-mine}", "E101"),
        (f"{{kind: {SECRET}}}", "E205"),
        ("{api_key: plain-password-of-mine, kind: 1, kid: 2}", "E101"),
        ("{api_key_env: sk-ant-not-a-real-key-0000000000, kind: anthropic}", "E602"),
        ("{api_key: plain-password-of-mine", "E002"),
    ],
)
@pytest.mark.parametrize("command", [("validate",), ("validate", "--json"), ("check",)])
def test_a_secret_is_printed_nowhere(
    quiet_desk: Project, command: tuple[str, ...], provider: str, code: str
) -> None:
    text = f"llm_config:\n  providers:\n    x: {provider}\n{TEAM}"
    (quiet_desk.folder / "team.yml").write_text(text)
    done = quiet_desk.coterie(*command, "team.yml")
    output = done.stdout + done.stderr
    assert code in output
    assert done.returncode == 2
    for secret in ("not-a-real-key", "plain-password-of-mine"):
        assert secret not in output


def test_the_line_is_shown_with_its_key_and_without_its_value(quiet_desk: Project) -> None:
    text = f"llm_config:\n  providers:\n    x: {{api_key: {SECRET}, kind: anthropic}}\n{TEAM}"
    (quiet_desk.folder / "team.yml").write_text(text)
    output = quiet_desk.coterie("validate", "team.yml").stdout
    assert "team.yml:3:9: 'api_key' is not a form of this language [E108]\n" in output
    assert "     3 |     x: {api_key: ***, kind: anthropic}\n       |         ^\n" in output
