"""Which tools a model finds by search: those that would fill its window, and no others."""

import pytest

from coterie.activities.providers.input_estimate import estimated_input
from coterie.activities.providers.message_model import ModelMessage, TextPart
from coterie.activities.providers.provider import ModelRequest
from coterie.documents.catalog import Catalog
from coterie.documents.compilation import compile_located
from coterie.documents.model_windows import known_window
from coterie.dsl.checks.tools.tool_deferral import tool_searches, with_deferred_tools
from coterie.dsl.model.plan import Persona, Plan
from coterie.dsl.model.sections.provider_document import ProviderSection
from coterie.dsl.tool_loop.call_checks import checked_code_calls
from coterie.dsl.tool_loop.exchange import ToolCallRequest
from coterie.dsl.tool_loop.tool_loop_progress import ToolLoopProgress
from coterie.settings import load
from coterie.workflows.agents.loop.offered_tools import loop_terms, offered_tools
from tests.support.compiling import plan_of, problems_of
from tests.support.places import ROOT
from tests.unit.dsl.tools.documents import document

LONG = "Helps with many things. " * 80
NAMES = [f"help{n}" for n in range(10)]
TOOLS = "\n".join(f"{name}: {{ agent: helper, description: {LONG} }}" for name in NAMES)
"""About 5,000 tokens."""


def planner(keys: str = "", tools: str = TOOLS) -> Persona:
    offered = ", ".join(NAMES)
    made = plan_of(document(f"tools: [{offered}]\n{keys}", tools))
    return made.personas["planner"]


@pytest.mark.parametrize(
    ("keys", "deferred"),
    [
        ("", 0),
        ("context_window: 40000", 10),
        ("context_window: 60000", 0),
        ("context_window: 40000\ntool_search: auto", 10),
        ("tool_search: always", 10),
        ("tool_search: never\ncontext_window: 40000", 0),
        ("tool_search: always\nalways_sent: [help3, help4]", 8),
        ("tool_search: always\ntool_choice: { tool: help3 }", 9),
        ("tool_search: always\ntool_policy: [{ tool: help3, min_calls: 1 }]", 9),
        ("tool_search: always\ntool_policy: [{ tool: help3, max_calls: 1 }]", 10),
        ("context_window: 40000\ntool_calls: return", 0),
        ("context_window: 40000\ntool_choice: none", 0),
    ],
)
def test_tools_are_deferred_if_they_take_more_than_a_tenth_of_the_window(
    keys: str, deferred: int
) -> None:
    persona = planner(keys)
    assert len(persona.deferred_tools) == deferred
    assert len(persona.tools) == 10
    assert {*persona.deferred_tools}.isdisjoint(persona.always_sent)


@pytest.mark.parametrize(
    ("windows", "deferred"),
    [
        ({}, 0),
        ({"m": 40_000}, 10),
        ({"m": 200_000}, 0),
        ({"m": 200_000, "small": 40_000}, 10),
        ({"small": 40_000}, 10),
    ],
)
def test_the_smallest_window_of_the_models_that_may_answer_counts(
    windows: dict[str, int], deferred: int
) -> None:
    plan = plan_of(document(f"tools: [{', '.join(NAMES)}]\nfallback: [scripted/small]", TOOLS))
    asked: list[str] = []

    def window_of(provider: str, model: str) -> int | None:
        asked.append(f"{provider}/{model}")
        return windows.get(model)

    made = with_deferred_tools(plan.personas, plan.tools, {}, window_of)
    assert len(made["planner"].deferred_tools) == deferred
    assert asked == ["scripted/m", "scripted/small"]


def test_no_window_is_looked_up_for_a_few_small_tools() -> None:
    plan = plan_of(document())

    def window_of(provider: str, model: str) -> int | None:
        raise AssertionError("the public figures take half a second to load")

    assert with_deferred_tools(plan.personas, plan.tools, {}, window_of) == plan.personas


@pytest.mark.parametrize(
    ("provider", "model", "window"),
    [
        ("own", "any", 5_000),
        ("anthropic", "claude-sonnet-4-5", 1_000_000),
        ("anthropic", "no-such-model", None),
        ("scripted", "demo", None),
    ],
)
def test_windows_are_the_configured_or_the_public_ones(
    provider: str, model: str, window: int | None
) -> None:
    own = ProviderSection.model_validate({"kind": "openai", "context_window": 5_000})
    found = known_window({"own": own}, provider, model)
    assert (found is None) == (window is None)
    if provider == "own":
        assert found == window


@pytest.mark.parametrize(
    ("keys", "code", "place"),
    [
        ("always_sent: [help1, nobody]", "E204", "llm_config.personas.planner.always_sent[1]"),
        ("always_sent: [help1, help1]", "E208", "llm_config.personas.planner.always_sent[1]"),
        ("always_sent: [read_files]", "E204", "llm_config.personas.planner.always_sent"),
        (
            "always_sent: [help1]\ntool_search: never",
            "E107",
            "llm_config.personas.planner.always_sent",
        ),
        (
            "tool_search: always\ntool_calls: return",
            "E107",
            "llm_config.personas.planner.tool_search",
        ),
        (
            "tool_search: always\ntool_choice: none",
            "E107",
            "llm_config.personas.planner.tool_search",
        ),
        ("tool_search: sometimes", "E105", "llm_config.personas.planner.tool_search"),
    ],
)
def test_keys_that_cannot_mean_anything_are_problems(keys: str, code: str, place: str) -> None:
    tools = f"{TOOLS}\nread_files: {{ skill: Discovery.collect }}"
    offered = ", ".join(NAMES)
    problems = problems_of(document(f"tools: [{offered}]\n{keys}", tools))
    assert [(one.code, one.path) for one in problems if one.code.startswith("E")] == [(code, place)]


@pytest.mark.parametrize("name", ["tool_search", "call_found"])
def test_the_names_of_the_constant_tools_are_reserved(name: str) -> None:
    tools = f"{name}: {{ skill: Calculator.evaluate }}"
    [problem] = problems_of(document(f"tools: [{name}]", tools))
    assert (problem.code, problem.path) == ("E105", f"tools.{name}")
    assert problem.fix == "rename the tool"


def first_request(plan: Plan, key: str) -> int:
    """Return the tokens of the first request of a persona, as the worker estimates them."""
    persona = plan.personas[key]
    offered = offered_tools(plan, loop_terms(plan, persona, 10, may_hand_over=True))
    user = ModelMessage("user", (TextPart("Room 204 stays until the 14th."),))
    request = ModelRequest(
        model="m",
        messages=(user,),
        system=persona.prompts["system"],
        max_tokens=1,
        tools=offered,
    )
    return estimated_input(request)


def test_the_first_request_with_300_operations_is_a_tenth_of_sending_all() -> None:
    catalog = Catalog(load({}, ROOT / "examples" / "grand_hotel"))
    plan = compile_located(catalog, catalog.locate("reception.yml")).plan
    persona = plan.personas["receptionist"]
    assert (len(persona.tools), len(persona.deferred_tools)) == (300, 299)
    whole = persona.model_copy(update={"deferred_tools": ()})
    everything = plan.model_copy(update={"personas": {"receptionist": whole}})
    deferred, sent = first_request(plan, "receptionist"), first_request(everything, "receptionist")
    assert sent > 20_000
    assert deferred <= sent / 10, f"{deferred:,} of {sent:,} tokens"
    [search] = tool_searches(plan)
    assert (search.sent, search.tools) == (1, 300)
    assert abs(search.room.whole - sent) < 100


def test_tools_that_code_calls_are_neither_sent_nor_found() -> None:
    tools = f"{TOOLS}\npython: {{ skill: Python.run }}"
    keys = "tool_search: always\ncode_mode: [help1, help2]"
    offered = ", ".join((*NAMES, "python"))
    plan = plan_of(document(f"tools: [{offered}]\n{keys}", tools))
    persona = plan.personas["planner"]
    assert {*persona.deferred_tools} == {*NAMES} - {"help1", "help2"}
    terms = loop_terms(plan, persona, 10, may_hand_over=True)
    sent = [tool.name for tool in offered_tools(plan, terms)]
    assert sent == ["python", "tool_search", "call_found"]
    by_code = [ToolCallRequest(tool=name, arguments={"query": "x"}) for name in ("help1", "help3")]
    searched = ToolCallRequest(tool="tool_search", arguments={"query": "help"})
    calls = checked_code_calls(terms, ToolLoopProgress(), [*by_code, searched], ())
    assert [call.refusal is None for call in calls] == [True, False, False]
