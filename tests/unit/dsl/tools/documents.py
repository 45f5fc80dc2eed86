"""Documents with an agent that uses tools."""

from textwrap import indent

_DOCUMENT = """\
llm_config:
  default_provider: scripted
  default_model: m
  personas:
    planner:
      prompts: {{ user: "Plan {{{{ input.query }}}}." }}
{planner}
    helper: {{ description: Helps., prompts: {{ user: "{{{{ input.query }}}}" }} }}
tools:
{tools}
orchestration:
  entry_team: main
  teams:
    main:
      tasks:
        - {{ name: plan, persona_key: planner, input: {{ query: x }}{step} }}
    review: {{ tasks: [{{ name: note, type: set, values: {{ a: 1 }} }}] }}
"""

TOOLS = """\
read_files: { skill: Discovery.collect }
calculate: { skill: Calculator.evaluate }
change: { skill: AssetManager.apply_changes }
"""


def document(planner: str = "tools: [read_files]", tools: str = TOOLS, step: str = "") -> str:
    """A document whose planner has these keys; `step` continues the mapping of its task."""
    return _DOCUMENT.format(
        planner=indent(planner, " " * 6), tools=indent(tools, " " * 2), step=step
    )
