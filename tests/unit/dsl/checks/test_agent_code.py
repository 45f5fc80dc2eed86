"""Code of packages that a document names: what the worker cannot import is warned of, each once."""

import pytest

from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.errors import InvalidDocument
from tests.support.compiling import CAPABILITIES

DOCUMENT = """
WORKER
llm_config:
  default_provider: one
  default_model: m
  providers:
    one: {kind: KIND}
    two: {kind: OTHER}
  personas: {voter: {prompts: {user: "Go."}}}
orchestration:
  entry_team: a
  teams:
    a:
      tasks:
        - {name: note, type: set, values: {x: 1}}
        - {name: first, agent_type: TYPE, persona_key: voter}
        - {name: second, agent_type: AGAIN, persona_key: voter}
"""
PLAIN = {
    "WORKER": "",
    "KIND": "openai",
    "OTHER": "openai",
    "TYPE": "generic_single_shot",
    "AGAIN": "generic_single_shot",
}
OF_PACKAGES = {
    "provider_kinds": ("openai",),
    "provider_paths": {"parrot": "birds.providers:Parrot"},
    "agent_paths": {"flock": "birds.agents:flock"},
}
FIRST, SECOND = "a/first: agent_type", "a/second: agent_type"
ONE, TWO = "llm_config.providers.one.kind", "llm_config.providers.two.kind"


def found(words: dict[str, str], **packages: tuple[str, ...]) -> list[tuple[str, str]]:
    """Each problem with its step, or with its place outside the steps."""
    text = DOCUMENT
    for word, value in (PLAIN | words).items():
        text = text.replace(word, value)
    worker = CAPABILITIES.model_copy(update=OF_PACKAGES | packages)
    try:
        problems = compile_sources([SourceText("1.yml", text)], worker, name="t").warnings
    except InvalidDocument as error:
        problems = error.problems
    return [(one.code, one.step or one.path) for one in problems]


ALLOWED = {"WORKER": "worker: {agent_packages: [mine], provider_packages: [mine]}"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"TYPE": "birds.agents:flock"}, [("W514", FIRST)]),
        ({"TYPE": "flock", "AGAIN": "flock"}, [("W514", FIRST), ("W514", SECOND)]),
        # one that is allowed hides none after it
        ({"TYPE": "mine.agents:A", "AGAIN": "birds.agents:B"}, [("W514", SECOND)]),
        ({"TYPE": "mine.agents:A"}, []),
        ({"KIND": "parrot", "OTHER": "birds.other:B"}, [("W514", ONE), ("W514", TWO)]),
        ({"KIND": "mine.providers:A", "OTHER": "birds.other:B"}, [("W514", TWO)]),
        ({"OTHER": "birds.other:B"}, [("W514", TWO)]),
        ({"OTHER": "parot"}, [("E205", TWO)]),
    ],
)
def test_code_outside_the_packages_of_the_document_is_warned_of_where_it_is_named(
    words: dict[str, str], expected: list[tuple[str, str]]
) -> None:
    assert found(ALLOWED | words) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"TYPE": "flock"}, [("W514", FIRST)]),
        ({"TYPE": "sheep.agents:A"}, []),
        ({"KIND": "parrot"}, [("W514", ONE)]),
        ({"KIND": "sheep.providers:A"}, []),
    ],
)
def test_code_in_the_packages_of_the_worker_needs_none_of_the_document(
    words: dict[str, str], expected: list[tuple[str, str]]
) -> None:
    packages = ("sheep",)
    assert found(words, agent_packages=packages, provider_packages=packages) == expected


@pytest.mark.parametrize("words", [{"TYPE": "flock"}, {"KIND": "parrot"}])
def test_code_is_not_judged_where_nobody_names_packages(words: dict[str, str]) -> None:
    assert found(words) == []
