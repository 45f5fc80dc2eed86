"""Templates read the tools of the document as `tools`, and a plan lists them only for these."""

from coterie.activities.contracts import AgentRequest, FunctionRequest
from coterie.dsl.model.plan import Team
from coterie.dsl.values import Json
from coterie.workflows.interpreter import run
from tests.support.compiling import plan_of, problems_of
from tests.support.simulation.stopping import StoppingScope, World, fresh

PLAN = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    router: {prompts: {user: "ROUTER"}}
tools:
  sum: {skill: Calculator.evaluate, description: Adds.}
  find: {skill: Files.search, fixed: {path: docs}}
orchestration:
  entry_team: a
  teams:
    a:
      tasks:
        - {name: names, type: return, value: "VALUE"}
        - {name: route, when: "{{ false }}", persona_key: router}
"""
LOOP = "{% for one in tools %}{{ one.name }}: {{ one.description }} {% endfor %}"
NAMES = "{{ tools | map(attribute='name') | list }}"


def text(router: str = "Go.", value: str = "x") -> str:
    return PLAN.replace("ROUTER", router).replace("VALUE", value)


async def test_a_template_reads_name_description_and_schema_of_all_tools() -> None:
    plan = plan_of(text(value=NAMES))
    state = fresh(plan, {})
    result = await run(StoppingScope(plan, state, World(lambda _: {}), None))
    assert result.output == {"names": ["sum", "find"]}
    assert plan.listed_tools is not None
    adds, finds = plan.listed_tools
    assert (adds["name"], adds["description"]) == ("sum", "Adds.")
    assert _properties(adds) == ["expression"]
    assert "path" not in _properties(finds), "what is fixed, no caller gives"
    assert plan.tools["sum"].input_schema is None, "no model is offered it"


async def test_the_request_of_an_agent_has_them_if_its_prompt_reads_them() -> None:
    inputs: list[Json] = []

    def answer(request: AgentRequest | FunctionRequest) -> Json:
        assert isinstance(request, AgentRequest)
        inputs.append(request.inputs)
        return {"text": "ok"}

    for prompt in ("Go.", LOOP):
        plan = plan_of(text(prompt).replace('when: "{{ false }}", ', ""))
        plan = plan.model_copy(update={"teams": {"a": _only_agents(plan.teams["a"])}})
        await run(StoppingScope(plan, fresh(plan, {}), World(answer), None))
    assert inputs == [{}, {"tools": plan.listed_tools}]


def _only_agents(team: Team) -> Team:
    return team.model_copy(update={"steps": team.steps[1:]})


def test_a_tool_that_is_added_needs_no_change_of_the_prompt() -> None:
    more = text(LOOP).replace("tools:\n", "tools:\n  log: {skill: Git.log}\n", 1)
    listed = plan_of(more).listed_tools
    assert listed is not None
    assert [one["name"] for one in listed] == ["log", "sum", "find"]


def test_a_plan_whose_templates_do_not_read_them_does_not_list_them() -> None:
    assert plan_of(text("Our tools are {{ context.good }}.")).listed_tools is None


def test_a_document_without_tools_reads_an_empty_list() -> None:
    bare = text(value=NAMES)
    bare = bare[: bare.index("tools:")] + bare[bare.index("orchestration:") :]
    assert plan_of(bare).listed_tools == []


def test_no_variable_may_have_the_name() -> None:
    other = text().replace("{name: names,", "{name: names, output_variable: tools,")
    [problem] = [one for one in problems_of(other) if one.code == "E105"]
    assert "tools" in problem.message


def _properties(tool: Json) -> list[str]:
    schema = tool["input_schema"]
    assert isinstance(schema, dict)
    properties = schema["properties"]
    assert isinstance(properties, dict)
    return [*properties]
