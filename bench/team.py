"""The same loop as a Coterie team: a document, compiled once for each length of a run."""

from bench import loop
from coterie.activities.contracts import AgentResponse, TokenUsage
from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.model.capabilities import Capabilities
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json

CAPABILITIES = Capabilities(agent_types=("generic_single_shot",), providers=(loop.PROVIDER,))


def _personas(round: str) -> str:
    """The one persona; its prompt tells the round as this template does."""
    return f"""
llm_config:
  default_provider: {loop.PROVIDER}
  default_model: {loop.MODEL}
  personas:
    editor:
      temperature: {loop.TEMPERATURE}
      max_tokens: {loop.MAX_TOKENS}
      retries: {loop.RETRIES}
      prompts:
        system: {loop.SYSTEM}
        user: {loop.PROMPT.format(topic="{{ context.topic }}", round=round)}
"""


_DOCUMENT = f"""{_personas("{{ context.round }}")}orchestration:
  entry_team: loop
  max_total_teams: ROUNDS
  max_recursion_depth: ROUNDS
  teams:
    loop:
      tasks:
        - {{name: improve, agent_type: generic_single_shot, persona_key: editor}}
      routing:
        rules:
          - condition: {{task: improve, output_field: text, operator: starts_with, value: REJECTED}}
            next_team: null
          - condition: {{task: improve, output_field: text, operator: contains, value: A PERSON}}
            next_team: null
          - condition: {{context_field: round, operator: greater_or_equal, value: LAST}}
            next_team: null
          - condition: {{task: improve, status: success}}
            next_team: loop
            context_updates: {{round: "{{{{ run.visit }}}}"}}
"""


def plan(rounds: int) -> Plan:
    """The plan of a run of so many rounds."""
    text = _DOCUMENT.replace("ROUNDS", str(rounds)).replace("LAST", str(rounds - 1))
    compiled = compile_sources([SourceText("loop.yml", text)], CAPABILITIES, name="loop")
    return compiled.plan


_APPROVAL = f"""{_personas("{{ run.teams_run }}")}orchestration:
  entry_team: draft
  teams:
    draft:
      tasks:
        - {{name: improve, agent_type: generic_single_shot, persona_key: editor}}
      routing:
        rules: [{{condition: all_success, next_team: review}}]
    review:
      tasks:
        - name: sign_off
          type: approval
          prompt: Is the draft good?
          show: "{{{{ teams.draft.tasks.improve.data.text }}}}"
      routing:
        rules: [{{condition: all_success, next_team: finish}}]
    finish:
      tasks:
        - {{name: improve, agent_type: generic_single_shot, persona_key: editor}}
"""


def approval_plan() -> Plan:
    """The plan of a run that drafts, waits for a person, and finishes what was approved."""
    compiled = compile_sources(
        [SourceText("approval.yml", _APPROVAL)],
        CAPABILITIES,
        name="approval",
    )
    return compiled.plan


def context() -> Json:
    """What a run starts with."""
    return {"topic": loop.TOPIC, "round": 0}


def response() -> AgentResponse:
    """What the scripted agent answers, for measurements without Temporal."""
    usage = TokenUsage(input_tokens=60, output_tokens=len(loop.ANSWER) // 4)
    return AgentResponse(success=True, data={"text": loop.ANSWER}, usage=usage, model=loop.MODEL)
