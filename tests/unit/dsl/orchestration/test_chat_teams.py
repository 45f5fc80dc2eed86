"""A team of type `chat` is short for a wait, the tasks, a reply and routes back to the team."""

from tests.support.compiling import plan_of

PERSONAS = """
llm_config:
  default_provider: anthropic
  default_model: claude-sonnet-5-5
  personas:
    helper: {prompts: {system: You help.}}
    sorter: {prompts: {system: You sort.}, output_schema: {type: object}}
"""

SHORT = (
    PERSONAS
    + """
orchestration:
  entry_team: talk
  teams:
    talk:
      type: chat
      chat:
        schema: {type: string}
        deadline: 1h
        persona_key: helper
        conversation_turns: 3
        conversation_characters: 900
        until: "{{ tasks.message.data == 'bye' }}"
      tasks: [{name: rest, type: wait, duration: 1s}]
      routing:
        rules: [{condition: {task: rest, status: failure}, next_team: null}]
        context_updates: {last: "{{ tasks.message.data }}"}
"""
)

LONG = (
    PERSONAS
    + """
orchestration:
  entry_team: talk
  teams:
    talk:
      tasks:
        - {name: message, type: wait, message: true, schema: {type: string}, deadline: 1h}
        - {name: rest, type: wait, duration: 1s}
        - name: answer
          agent_type: generic_single_shot
          persona_key: helper
          input: "{{ tasks.message.data }}"
          conversation: talk
          conversation_turns: 3
          conversation_characters: 900
        - {name: reply, type: reply, value: "{{ tasks.answer.data.text }}"}
      routing:
        rules:
          - {condition: {task: rest, status: failure}, next_team: null}
          - {condition: {task: message, status: failure}, next_team: null}
          - {condition: "{{ tasks.message.data == 'bye' }}", next_team: null}
        default: talk
        context_updates: {last: "{{ tasks.message.data }}"}
"""
)


def chat(section: str, more: str = "") -> str:
    return f"""{PERSONAS}
orchestration:
  entry_team: talk
  teams:
    talk:
      type: chat
      chat: {{{section}}}{more}
"""


def test_a_chat_compiles_to_the_plan_of_its_parts() -> None:
    assert plan_of(SHORT) == plan_of(LONG)


def test_the_reply_of_a_persona_with_a_schema_is_its_whole_answer() -> None:
    steps = plan_of(chat("persona_key: sorter, deadline: 1h")).teams["talk"].steps
    assert steps[-1].model_dump()["value"] == "{{ tasks.answer.data }}"


def test_a_written_reply_and_a_written_default_stay() -> None:
    written = "\n      routing: {default: null}"
    team = plan_of(chat('persona_key: sorter, reply: "thanks", deadline: 1h', written)).teams[
        "talk"
    ]
    assert team.steps[-1].model_dump()["value"] == "thanks"
    assert team.routing is not None
    assert (team.routing.default, team.routing.ends_by_default) == (None, True)
