"""The tool loop as a Coterie team: one agent with two tools, which are tool functions."""

from pydantic import Field, TypeAdapter

from bench import loop
from bench.tool_loop import work
from coterie.activities.tool_functions.function_registry import AnyFunction, contracts
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction
from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.model.capabilities import Capabilities
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Documented, Json


class Wanted(Documented):
    """What is wanted."""

    number: int = Field(ge=1, description=work.NUMBER_DESCRIPTION)


async def read_page(value: Wanted, context: FunctionContext) -> str:
    return work.page(value.number)


async def look_up_entry(value: Wanted, context: FunctionContext) -> str:
    return work.entry(value.number)


TOOL_FUNCTIONS: dict[str, AnyFunction] = {
    "Library.page": ToolFunction[Wanted, str](
        name="Library.page",
        description=work.PAGE_DESCRIPTION,
        effect="read",
        input=TypeAdapter(Wanted),
        output=TypeAdapter(str),
        run=read_page,
        timeout=work.TOOL_TIMEOUT_SECONDS,
        retries=work.RETRIES,
        errors={},
    ),
    "Library.entry": ToolFunction[Wanted, str](
        name="Library.entry",
        description=work.ENTRY_DESCRIPTION,
        effect="read",
        input=TypeAdapter(Wanted),
        output=TypeAdapter(str),
        run=look_up_entry,
        timeout=work.TOOL_TIMEOUT_SECONDS,
        retries=work.RETRIES,
        errors={},
    ),
}
_CAPABILITIES = Capabilities(
    agent_types=("generic_tool_calling",),
    providers=(loop.PROVIDER,),
    functions=contracts(TOOL_FUNCTIONS),
)


_LOCAL = ", timeout: 2s, retries: 0, local_activity: true"
"""The terms of tools that run as local activities."""


def _document(turns: int, terms: str) -> str:
    system = work.SYSTEM.replace("\n", "\n          ")
    return f"""
llm_config:
  default_provider: {loop.PROVIDER}
  default_model: {work.MODEL}
  personas:
    archivist:
      max_tokens: {work.MAX_TOKENS}
      timeout: {work.TIMEOUT_SECONDS}
      retries: {work.RETRIES}
      tools: [{work.PAGE}, {work.ENTRY}]
      max_turns: {turns + 1}
      prompts:
        system: |-
          {system}
        user: {work.QUESTION}
tools:
  {work.PAGE}: {{skill: Library.page{terms}}}
  {work.ENTRY}: {{skill: Library.entry{terms}}}
orchestration:
  entry_team: library
  teams:
    library:
      tasks:
        - {{name: {work.AGENT}, persona_key: archivist}}
"""


def plan(turns: int, *, local: bool = False) -> Plan:
    """The plan of a run whose agent calls its tools in so many turns; maybe as local activities."""
    compiled = compile_sources(
        [SourceText("library.yml", _document(turns, _LOCAL if local else ""))],
        _CAPABILITIES,
        name="library",
    )
    return compiled.plan


def script(turns: int) -> Json:
    """What the scripted provider answers, in Coterie and in the hand-written workflow."""
    answers: list[Json] = [
        {
            "task": work.AGENT,
            "turn": turn,
            "answer": work.said(turn),
            "tool_calls": [
                {"tool": name, "arguments": {"number": turn}} for name in (work.PAGE, work.ENTRY)
            ],
        }
        for turn in range(1, turns + 1)
    ]
    return {"answers": [*answers, {"task": work.AGENT, "turn": turns + 1, "answer": work.ANSWER}]}
