"""The agent factory: from a task's configuration to an agent, in six steps."""

import json
from copy import deepcopy
from typing import Any

import pytest

from coterie.activities.agents.agent_base import AgentServices, BaseAgent
from coterie.activities.agents.orchestrator import GenericOrchestratingAgent
from coterie.activities.agents.refusals import AgentRefused, UnknownAgentType, UnknownPersona
from coterie.activities.agents.single_shot import GenericSingleShotAgent
from coterie.activities.contracts import AgentResponse
from coterie.activities.factory import AgentFactory
from coterie.dsl.values import Json

DESIGNER: Json = {
    "provider": "anthropic",
    "model": "claude-3-7-sonnet-20250219",
    "temperature": 1,
    "prompts": {"system": "You are a solution designer...", "solution": "Design it."},
}
CODER: Json = {
    "provider": "anthropic",
    "model": "claude-3-opus-20240229",
    "temperature": 0,
    "execution_plan": [
        {
            "name": "initialize_iterator",
            "skill": "SemanticIterator.initialize",
            "input": "{{context.input_data}}",
            "output_variable": "change_iterator",
        }
    ],
}
CONFIG: Json = {
    "llm_config": {
        "personas": {"solution_designer_v1": DESIGNER, "standard_coder_persona": CODER},
        "agents": {"discovery": {"model": "old"}},
    }
}
TASK: Json = {
    "name": "design_solution",
    "agent_type": "generic_single_shot",
    "persona_key": "solution_designer_v1",
}


class Recorder(BaseAgent):
    """An agent type that keeps how it was made."""

    made: list[tuple[tuple[object, ...], dict[str, Any]]] = []  # noqa: RUF012  # cleared per test

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.made.append((args, deepcopy(kwargs)))
        super().__init__(*args, **kwargs)

    async def process(self, context: Json) -> AgentResponse:
        return AgentResponse(success=True, data=context)


@pytest.fixture
def made() -> list[tuple[tuple[object, ...], dict[str, Any]]]:
    Recorder.made.clear()
    return Recorder.made


def recording_factory(**options: Any) -> AgentFactory:
    return AgentFactory(CONFIG, {"recorder": Recorder}, **options)


def test_an_agent_is_made_from_the_merged_persona_its_name_and_the_whole_configuration(
    made: list[tuple[tuple[object, ...], dict[str, Any]]],
) -> None:
    task: Json = {**TASK, "agent_type": "recorder", "config": {"temperature": 0.2}}
    agent = recording_factory().create_agent(task)
    assert isinstance(agent, Recorder)
    assert made == [
        (
            (),
            {
                "persona_config": {**DESIGNER, "temperature": 0.2},
                "unique_name": "design_solution",
                "full_config": CONFIG,
            },
        )
    ]


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"name": None, "agent_type": "nope"}, AgentRefused, "needs `name`"),
        ({"agent_type": None, "persona_key": "nope"}, AgentRefused, "needs `agent_type`"),
        ({"persona_key": "", "agent_type": "nope"}, AgentRefused, "needs `persona_key`"),
        ({"config": [1], "agent_type": "nope"}, AgentRefused, "`config` of task"),
        ({"agent_type": "nope", "persona_key": "nope"}, UnknownAgentType, "agent_type 'nope'"),
        ({"persona_key": "nope"}, UnknownPersona, "persona_key 'nope'"),
    ],
)
def test_the_steps_come_in_order_and_nothing_is_made_after_a_failed_one(
    changes: Json,
    kind: type[AgentRefused],
    message: str,
    made: list[tuple[tuple[object, ...], dict[str, Any]]],
) -> None:
    """Extract, then the class, then the persona, then the agent: the first fault is reported."""
    with pytest.raises(AgentRefused, match=message) as caught:
        recording_factory().create_agent({**TASK, "agent_type": "recorder", **changes})
    assert type(caught.value) is kind
    assert made == []


def test_an_unknown_persona_is_reported_with_what_there_is_and_the_nearest() -> None:
    with pytest.raises(UnknownPersona) as caught:
        AgentFactory(CONFIG).create_agent({**TASK, "persona_key": "solution_designer"})
    assert str(caught.value) == (
        "unknown persona_key 'solution_designer'; `llm_config.personas` has "
        "solution_designer_v1, standard_coder_persona: did you mean 'solution_designer_v1'?"
    )


def test_an_unknown_agent_type_is_reported_with_what_there_is_and_the_nearest() -> None:
    with pytest.raises(UnknownAgentType) as caught:
        recording_factory().create_agent({**TASK, "agent_type": "generic_singel_shot"})
    assert str(caught.value) == (
        "unknown agent_type 'generic_singel_shot'; allowed: generic_orchestrating, "
        "generic_single_shot, generic_tool_calling, recorder: did you mean 'generic_single_shot'?"
    )


@pytest.mark.parametrize("name", ["AssetManager.process_action", "AssetManager"])
def test_a_function_as_agent_type_is_refused_and_the_difference_explained(name: str) -> None:
    factory = recording_factory(functions=["AssetManager.process_action"])
    with pytest.raises(UnknownAgentType, match=f"'{name}' is a tool function, not an agent type. "):
        factory.create_agent({**TASK, "agent_type": name})


def test_two_tasks_share_a_persona_and_neither_their_overrides_nor_their_names() -> None:
    before = json.dumps(CONFIG, sort_keys=True)
    factory = AgentFactory(CONFIG)
    one = factory.create_agent({**TASK, "config": {"prompts": {"solution": "Be brief."}}})
    two = factory.create_agent({**TASK, "name": "generate_wo", "config": {"temperature": None}})
    one.persona_config["model"] = "changed afterwards"
    one.persona_config["prompts"]["system"] = "changed afterwards"  # type: ignore[index]
    assert one.persona_config["prompts"]["solution"] == "Be brief."  # type: ignore[index]
    assert two.persona_config == {k: v for k, v in DESIGNER.items() if k != "temperature"}
    assert (one.unique_name, two.unique_name) == ("design_solution", "generate_wo")
    assert json.dumps(CONFIG, sort_keys=True) == before


def test_an_agent_made_by_hand_keeps_a_copy_of_its_persona() -> None:
    mine: Json = {"provider": "anthropic", "model": "model-1", "prompts": {"user": "Go."}}
    agent = GenericSingleShotAgent(persona_config=mine, unique_name="by_hand", full_config={})
    mine["prompts"]["user"] = "changed afterwards"  # type: ignore[index]
    reach: Any = agent
    assert reach._get_prompt({}) == "Go."


def test_a_factory_keeps_the_configuration_that_it_was_given() -> None:
    assert AgentFactory(CONFIG).full_system_config is CONFIG


def test_an_agent_gets_the_live_collaborators_of_its_factory() -> None:
    services = AgentServices(label="solution/design#1.0")
    agent = AgentFactory(CONFIG, services=services).create_agent(TASK)
    assert agent.services is services


@pytest.mark.parametrize(
    ("agent_type", "persona_key", "agent_class"),
    [
        ("generic_single_shot", "solution_designer_v1", GenericSingleShotAgent),
        ("generic_orchestrating", "standard_coder_persona", GenericOrchestratingAgent),
    ],
)
def test_both_generic_agents_read_everything_from_their_persona(
    agent_type: str, persona_key: str, agent_class: type[BaseAgent]
) -> None:
    """The seed's own personas; the unique name is in no other section of the configuration."""
    overrides: Json = {"prompts": {"system": "Be {{ input.mood }}.", "solution": "Ask."}}
    agent = AgentFactory(CONFIG).create_agent(
        {
            "name": "a_name_of_its_own",
            "agent_type": agent_type,
            "persona_key": persona_key,
            "config": overrides,
        }
    )
    personas: Any = CONFIG["llm_config"]["personas"]  # type: ignore[index]
    assert type(agent) is agent_class
    reach: Any = agent
    assert reach._get_agent_name() == "a_name_of_its_own"
    assert reach._get_agent_config() == {**personas[persona_key], **overrides}
    assert reach._resolve_model() == personas[persona_key]["model"]
    assert reach._get_system_message({"input": {"mood": "kind"}}) == "Be kind."
    assert reach._get_prompt({}) == "Ask."


def test_a_persona_without_model_takes_the_default_of_the_configuration() -> None:
    config: Json = {
        "llm_config": {
            "default_provider": "anthropic",
            "default_model": "default-model",
            "personas": {"plain": {"prompts": {"user": "Go."}}},
        }
    }
    reach: Any = AgentFactory(config).create_agent({**TASK, "persona_key": "plain"})
    assert reach._resolve_model() == "default-model"
    assert reach.persona.provider == "anthropic"


def test_a_persona_without_model_takes_the_default_of_its_own_provider() -> None:
    config: Json = {
        "llm_config": {
            "default_provider": "anthropic",
            "default_model": "default-model",
            "providers": {"openai": {"default_model": "of-openai"}},
            "personas": {
                "own": {"provider": "openai", "prompts": {"user": "Go."}},
                "none": {"provider": "scripted", "prompts": {"user": "Go."}},
            },
        }
    }
    factory = AgentFactory(config)
    reach: Any = factory.create_agent({**TASK, "persona_key": "own"})
    assert reach._resolve_model() == "of-openai"
    none: Any = factory.create_agent({**TASK, "persona_key": "none"})
    with pytest.raises(AgentRefused, match=r"model: Field required"):
        none._resolve_model()


def test_a_persona_with_a_wrong_field_is_refused_by_the_name_of_the_field() -> None:
    reach: Any = AgentFactory(CONFIG).create_agent({**TASK, "config": {"temperature": "hot"}})
    with pytest.raises(AgentRefused, match=r"persona of agent 'design_solution'.*temperature: "):
        reach._resolve_model()


def test_a_task_says_which_prompt_is_asked() -> None:
    config: Json = {"prompts": {"other": "Something else."}}
    reach: Any = AgentFactory(CONFIG).create_agent({**TASK, "config": config, "prompt": "other"})
    assert reach._get_prompt({}) == "Something else."


@pytest.mark.parametrize(
    ("agent_type", "persona_key", "message"),
    [
        ("generic_orchestrating", "solution_designer_v1", "has no `execution_plan`"),
        ("generic_single_shot", "standard_coder_persona", "would ignore the execution_plan"),
    ],
)
def test_an_agent_type_and_a_persona_that_do_not_fit_are_refused(
    agent_type: str, persona_key: str, message: str
) -> None:
    with pytest.raises(AgentRefused, match=f"'design_solution'.*{message}"):
        AgentFactory(CONFIG).create_agent(
            {**TASK, "agent_type": agent_type, "persona_key": persona_key}
        )


class WithoutProcess(BaseAgent):
    """Forgets what an agent is for."""


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ({"generic_single_shot": Recorder}, "'generic_single_shot' is built in"),
        ({"mine": dict}, "'mine' must be a subclass of BaseAgent"),
        ({"mine": WithoutProcess}, r"'mine' must implement process\(context\)"),
    ],
)
def test_an_agent_type_that_cannot_be_one_is_refused_at_registration(
    types: Any, message: str
) -> None:
    with pytest.raises(AgentRefused, match=message):
        AgentFactory(CONFIG, types)
