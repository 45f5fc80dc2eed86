"""Where a model turn cannot be a batch: the document says so before the run."""

import pytest

from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.errors import InvalidDocument, Problem
from tests.support.engine import CAPABILITIES

KNOWN = CAPABILITIES.model_copy(
    update={
        "providers": ("anthropic", "openai", "scripted", "own"),
        "agent_types": (*CAPABILITIES.agent_types, "theirs"),
    }
)
TEAM = """
llm_config:
  providers: {{ own: {{ kind: openai, api_base: "http://localhost:1/v1" }} }}
  personas:
    reader:
      provider: {provider}
      model: m
      batch: true
      {more}
      prompts: {{ user: "Sum up." }}
orchestration:
  entry_team: only
  teams:
    only: {{ tasks: [{{ name: sum_up, agent_type: {agent_type}, persona_key: reader }}] }}
"""


def problems(
    provider: str = "openai", more: str = "", agent_type: str = "generic_single_shot"
) -> tuple[Problem, ...]:
    text = TEAM.format(provider=provider, more=more, agent_type=agent_type)
    try:
        compile_sources([SourceText("t.yml", text)], KNOWN, name="t")
    except InvalidDocument as error:
        return error.problems
    return ()


@pytest.mark.parametrize("provider", ["openai", "scripted"])
def test_a_provider_with_batches_takes_them(provider: str) -> None:
    assert problems(provider) == ()


@pytest.mark.parametrize("provider", ["anthropic", "own"])
def test_a_provider_without_batches_is_refused_by_name(provider: str) -> None:
    (problem,) = problems(provider)
    assert (problem.code, problem.line) == ("E503", 8)
    assert f"provider {provider!r} has no batch API" in problem.message


def test_a_fallback_needs_batches_too() -> None:
    (problem,) = problems(more="fallback: [own/m]")
    assert "provider 'own' has no batch API" in problem.message


def test_an_answer_in_one_piece_cannot_be_streamed() -> None:
    (problem,) = problems(more="stream: true")
    assert problem.code == "E506"
    assert "`stream: true`" in problem.message


def test_the_calls_of_a_package_s_agent_cannot_wait() -> None:
    (problem,) = problems(agent_type="theirs")
    assert problem.code == "E503"
    assert "theirs" in problem.message
