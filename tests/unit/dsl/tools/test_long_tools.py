"""Which tools may take more than ten minutes: those that outlive their worker."""

import pytest
from pydantic import ValidationError

from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.model.capabilities import FunctionContract
from coterie.dsl.model.sections.mcp_document import McpServerSection
from coterie.dsl.values import MAX_CALL_SECONDS
from tests.support.compiling import CAPABILITIES

FUNCTION = FunctionContract(
    name="shop:dig",
    description="Digs.",
    effect="read",
    input_schema={"type": "object"},
    output_schema={},
    timeout=60,
    retries=2,
    startup=30,
)
KNOWN = CAPABILITIES.model_copy(
    update={"functions": {**CAPABILITIES.functions, FUNCTION.name: FUNCTION}}
)


def problems(function: str, timeout: str) -> list[tuple[str, str, str]]:
    return problems_of(f"""
tools: {{ it: {{ skill: "{function}", timeout: {timeout} }} }}
orchestration:
  entry_team: only
  teams: {{ only: {{ tasks: [{{ name: note, type: set, values: {{ a: 1 }} }}] }} }}
""")


def problems_of(text: str) -> list[tuple[str, str, str]]:
    try:
        compile_sources([SourceText("t.yml", text)], KNOWN, name="t")
    except InvalidDocument as error:
        return [(one.code, one.message, one.fix) for one in error.problems]
    return []


@pytest.mark.parametrize("function", ["CommandRunner.run", "CommandRunner.run_once", "shop:dig"])
def test_commands_and_functions_may_take_more_than_ten_minutes(function: str) -> None:
    assert problems(function, "1h") == []


def test_another_function_is_refused_by_name_with_what_to_do_instead() -> None:
    assert problems("Web.fetch", "10m") == []
    [(code, message, fix)] = problems("Web.fetch", "11m")
    assert code == "E106"
    assert "a call of 'it' may take 660 s, and this kind of tool at most 600 s" in message
    assert "continues a long call as a task" in fix


STEPS = {
    "skill": """
llm_config:
  personas:
    worker:
      provider: scripted
      model: demo
      execution_plan: [{{ name: do, skill: {skill}, input: {given}, timeout: {timeout} }}]
orchestration:
  entry_team: only
  teams: {{ only: {{ tasks: [{{ name: work, persona_key: worker }}] }} }}
""",
    "tool": """
tools: {{ it: {{ skill: {skill} }} }}
orchestration:
  entry_team: only
  teams: {{ only: {{ tasks: [{{ name: do, tool: it, arguments: {given}, timeout: {timeout} }}] }} }}
""",
}


@pytest.mark.parametrize("kind", STEPS)
def test_a_step_gives_a_short_function_at_most_ten_minutes(kind: str) -> None:
    text, given = STEPS[kind], "{ path: x }"
    assert problems_of(text.format(skill="Files.read", given=given, timeout="10m")) == []
    [(code, message, _)] = problems_of(text.format(skill="Files.read", given=given, timeout="11m"))
    named = "it" if kind == "tool" else "Files.read"
    assert code == "E106"
    assert f"a call of {named!r} may take 660 s, and this kind of tool at most 600 s" in message
    assert problems_of(text.format(skill='"shop:dig"', given="{}", timeout="1h")) == []


@pytest.mark.parametrize("given", [{"timeout": "11m"}, {"tools": {"*": {"timeout": "11m"}}}])
def test_a_call_of_an_mcp_server_has_at_most_ten_minutes(given: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match="less than or equal to 600"):
        McpServerSection.model_validate({"command": ["x"], **given})


@pytest.mark.parametrize(
    ("startup", "timeout", "long"),
    [(0, MAX_CALL_SECONDS, False), (0, MAX_CALL_SECONDS + 1, True), (30, 1, True)],
)
def test_a_function_outlives_its_worker_above_the_timeout_of_a_call(
    startup: float, timeout: float, long: bool
) -> None:
    terms = {"startup": startup, "timeout": timeout}
    assert FUNCTION.model_copy(update=terms).continues_long is long
