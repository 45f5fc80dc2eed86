"""Legacy tasks: a class by its import path, from packages that the worker allows only."""

import sys
from typing import Any

import pytest

from coterie.activities.agents.legacy import LegacyAgent, check_agent_path
from coterie.activities.agents.refusals import AgentRefused
from coterie.activities.factory import AgentFactory
from coterie.activities.user_code.child_messages import NotImported
from coterie.dsl.values import Json

MODULE = "tests.support.legacy_agents"
CONFIG: Json = {"llm_config": {"agents": {"discovery": {"model": "old"}}}}


@pytest.mark.parametrize("allowed", ["tests", "tests.support", MODULE, f"{MODULE}.Discovery"])
def test_a_class_in_an_allowed_package_is_found(allowed: str) -> None:
    check_agent_path(f"{MODULE}.Discovery", ["elsewhere", allowed])


@pytest.mark.parametrize("path", ["tests.Agent", "tests:agent", "tests.agents:make"])
def test_a_class_or_a_function_of_a_package_itself_is_found_too(path: str) -> None:
    check_agent_path(path, ["tests"])


@pytest.mark.parametrize("allowed", [[], ["test"], ["tests.sup"], ["support"], ["tests.support.l"]])
def test_a_class_outside_the_allowed_packages_is_refused_and_never_imported(
    allowed: list[str],
) -> None:
    with pytest.raises(AgentRefused) as caught:
        check_agent_path("tests.support.never_imported.Agent", allowed)
    assert "is not in a package that this worker allows" in str(caught.value)
    assert "`worker.agent_packages`" in str(caught.value)
    assert all(name in str(caught.value) for name in allowed)
    assert "tests.support.never_imported" not in sys.modules


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("Discovery", "must have the form package.module.Class"),
        ("tests..Discovery", "must have the form package.module.Class"),
        ("tests.support/x.Discovery", "must have the form package.module.Class"),
        ("tests.agents:make:it", "must have the form package.module:function"),
    ],
)
def test_a_path_that_is_none_is_refused_in_one_sentence(path: str, message: str) -> None:
    with pytest.raises(AgentRefused, match=message) as caught:
        check_agent_path(path, ["tests"])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("missing", "end"),
    [
        ("", "no module x"),
        ("utils.x", "no module x"),
        ("coterie.x", "own package 'coterie', which hides yours: rename yours"),
    ],
)
def test_a_class_that_cannot_be_imported_says_when_a_package_of_coterie_hides_it(
    missing: str, end: str
) -> None:
    agent = LegacyAgent(f"{MODULE}.Discovery", "discovery", CONFIG)
    outcome = NotImported(kind="not_imported", reason="no module x", missing=missing)
    with pytest.raises(AgentRefused) as caught:
        agent._response(outcome)  # pyright: ignore[reportPrivateUsage]
    assert str(caught.value).endswith(end)


def test_a_legacy_task_becomes_an_agent_with_its_own_section() -> None:
    agent = AgentFactory(CONFIG, agent_packages=["tests"]).create_agent(
        {"name": "discovery", "agent_class": f"{MODULE}.Discovery"}
    )
    assert isinstance(agent, LegacyAgent)
    assert agent.path == f"{MODULE}.Discovery"
    assert agent.persona_config == {"model": "old"}
    assert agent.unique_name == "discovery"


@pytest.mark.parametrize(
    "key_and_value", [("agent_type", "generic_single_shot"), ("persona_key", "p"), ("config", {})]
)
def test_a_task_with_both_models_is_refused(key_and_value: tuple[str, Any]) -> None:
    key, value = key_and_value
    task: Json = {"name": "discovery", "agent_class": f"{MODULE}.Discovery", key: value}
    with pytest.raises(AgentRefused, match=f"'discovery' has both `agent_class` and `{key}`"):
        AgentFactory(CONFIG, agent_packages=["tests"]).create_agent(task)
