"""A persona that no task uses may name only a model that its provider is said to have."""

import pytest

from tests.support.compiling import problems_of

DOCUMENT = """
llm_config:
  default_provider: scripted
  default_model: demo
  providers: {scripted: {valid_models: [demo, large]}, openai: {default_model: any}}
  personas:
    writer: {prompts: {user: Write.}}
    spare: {prompts: {user: Write.}, WRITTEN}
orchestration:
  entry_team: work
  teams: {work: {tasks: [{name: one, persona_key: writer}]}}
"""


@pytest.mark.parametrize(
    ("written", "codes"),
    [
        ("temperature: 0", []),
        ("model: large", []),
        ("model: larg", ["E105"]),
        ("model: larg, provider: openai", []),
        ("model: large, provider: opnai", ["E205"]),
    ],
)
def test_the_model_of_a_persona_that_no_task_uses_is_known(written: str, codes: list[str]) -> None:
    found = problems_of(DOCUMENT.replace("WRITTEN", written))
    assert [problem.code for problem in found] == codes
    assert {problem.path for problem in found} <= {
        "llm_config.personas.spare.model",
        "llm_config.personas.spare.provider",
    }
