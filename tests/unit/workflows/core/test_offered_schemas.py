"""A model sees a schema that its vendor takes, and its call gets the tool's own names again."""

from coterie.activities.contracts import AgentResponse
from coterie.dsl.json_schema.offered_schema import offered_schema
from coterie.dsl.tool_loop.exchange import ToolCallRequest
from coterie.dsl.values import Json
from coterie.workflows.agents.loop.offered_tools import (
    loop_terms,
    offered_tools,
    with_own_arguments,
)
from tests.support.engine import plan_of

OWN: Json = {"type": "object", "properties": {"$top": {"type": "integer"}}}
PLAN = plan_of("""
orchestration:
  entry_team: ask
  teams: { ask: { tasks: [{ name: ask, persona_key: asker }] } }
tools:
  plain: { skill: Calculator.evaluate }
  odd: { agent: helper, input_schema: { type: object, properties: { $top: { type: integer } } } }
llm_config:
  default_provider: scripted
  default_model: m
  personas:
    asker: { prompts: { user: Go. }, tools: [plain, odd] }
    helper: { description: Helps., prompts: { user: Help. } }
""")


def test_a_call_of_a_rewritten_schema_is_checked_under_its_own_names() -> None:
    terms = loop_terms(PLAN, PLAN.personas["asker"], 5, may_hand_over=False)
    offered = {one.name: one.input_schema for one in offered_tools(PLAN, terms)}
    assert terms.tools["odd"] == OWN
    assert offered["odd"] == offered_schema(OWN).schema
    assert offered["plain"] == PLAN.tools["plain"].input_schema
    calls = (
        ToolCallRequest(tool="odd", arguments={"top": 3}),
        ToolCallRequest(tool="plain", arguments={"top": 3}),
        ToolCallRequest(tool="unknown", arguments={"top": 3}),
    )
    own = with_own_arguments(AgentResponse(tool_calls=calls), PLAN).tool_calls
    assert [one.arguments for one in own] == [{"$top": 3}, {"top": 3}, {"top": 3}]


def test_a_plan_keeps_a_rewritten_schema_only_where_it_differs() -> None:
    assert PLAN.tools["plain"].offered_schema is None
    assert PLAN.tools["odd"].offered_schema is not None
