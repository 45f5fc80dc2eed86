"""Small documents for the analysis, and what is found in them."""

from textwrap import dedent, indent

from coterie.dsl.analysis.findings import Analysis, analysed
from coterie.dsl.compile.compiler import Compiled, SourceText, compile_sources
from coterie.dsl.model.capabilities import Capabilities, FunctionContract, Reach

CAPABILITIES = Capabilities(
    reach=Reach(trusted_paths=("**",)),
    agent_types=("generic_single_shot", "generic_orchestrating", "generic_tool_calling"),
    providers=("scripted", "anthropic"),
    functions={
        name: FunctionContract(
            name=name, description="", effect="read", input_schema={}, output_schema={}
        )
        for name in ("Files.read", "Files.join")
    },
)
HEAD = """\
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: { prompts: { user: "Write about {{ context.topic | default('it') }}." } }
tools:
  look: { skill: Files.read }
  careful: { skill: Files.read, requires_approval: true }
orchestration:
  entry_team: a
  teams:
"""
WRITE = "{ name: write, agent_type: generic_single_shot, persona_key: writer }"


def compiled(teams: str, head: str = HEAD) -> Compiled:
    """The teams of a document, the first of them called `a`; WRITE stands for an agent's task."""
    text = head + indent(dedent(teams).replace("WRITE", WRITE), "    ")
    sources = [SourceText("team.yml", text)]
    return compile_sources(sources, CAPABILITIES, name="test")


def analysis(teams: str, head: str = HEAD) -> Analysis:
    """What is found out about them."""
    return analysed(compiled(teams, head))


def found(teams: str, head: str = HEAD) -> list[str]:
    """`CODE line:column`, counted from the first line of the teams, with the compiler's own."""
    document = compiled(teams, head)
    problems = [*document.warnings, *analysed(document).findings]
    before = head.count("\n")
    shown = [p for p in problems if p.code != "W520"]  # few teams use the tools of HEAD
    return sorted(f"{p.code} {p.line - before}:{p.column - 4}" for p in shown)


def messages(teams: str, head: str = HEAD) -> list[str]:
    """What is reported of them."""
    return [problem.message for problem in analysis(teams, head).findings]
