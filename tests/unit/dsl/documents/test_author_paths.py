"""A place of a document is named as its author names it: the team or persona, and the step."""

import pytest

from coterie.dsl.model.facts import CALL_VARIABLE
from coterie.dsl.source.author_paths import name_of_path
from coterie.dsl.source.yaml_reader import read
from coterie.dsl.values import NodePath

TREE = read(
    """
llm_config:
  personas:
    planned: {execution_plan: [{name: first}, {name: 7}]}
orchestration:
  entry_team: draft
  teams:
    draft:
      tasks:
        - name: outer
          body: [{name: inner, input: {path: x}}, {input: {}}]
    as_list:
      - {name: only, type: set}
tools: {search: {examples: [{name: first}]}}
""",
    "team.yml",
)
TEAM: NodePath = ("orchestration", "teams", "draft")


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ((*TEAM, "tasks", 0), "draft/outer"),
        ((*TEAM, "tasks", 0, "body"), "draft/outer: body"),
        ((*TEAM, "tasks", 0, "body", 0, "input", "path"), "draft/outer/inner: input.path"),
        ((*TEAM, "tasks", 0, "body", 1, "input"), "draft/outer: body[1].input"),
        (("llm_config", "personas", "planned", "execution_plan", 0), "planned/first"),
        (("orchestration", "teams", "as_list", 0, "type"), "as_list/only: type"),
        (("orchestration", "teams", "as_list", 0), "as_list/only"),
        # no step, or none with a name
        (("tools", "search", "examples", 0, "name"), ""),
        (("llm_config", "personas", "planned", "execution_plan", 1), ""),
        ((*TEAM, "tasks"), ""),
        (TEAM, ""),
        (("orchestration", "entry_team"), ""),
    ],
)
def test_a_place_is_named_by_its_team_and_its_steps(path: NodePath, named: str) -> None:
    assert name_of_path(TREE, path) == named


def test_teams_as_a_list_are_no_steps() -> None:
    tree = read("orchestration: {teams: [{name: draft, tasks: []}]}", "team.yml")
    assert name_of_path(tree, ("orchestration", "teams", 0, "tasks")) == ""


def test_the_list_of_a_loop_that_makes_calls_is_named_as_its_author_wrote_it() -> None:
    tree = read(
        f"""
orchestration:
  teams:
    draft:
      tasks:
        - {{name: several, loop_variable: {CALL_VARIABLE}, iterate_on: [{{tool: a}}], body: []}}
        - {{name: loop, loop_variable: one, iterate_on: [{{tool: a}}], body: []}}
        - {{name: bare, iterate_on: [{{tool: a}}], body: []}}
""",
        "team.yml",
    )
    assert (
        name_of_path(tree, (*TEAM, "tasks", 0, "iterate_on", 0, "tool"))
        == "draft/several: calls[0].tool"
    )
    assert name_of_path(tree, (*TEAM, "tasks", 0, "iterate_on")) == "draft/several: calls"
    assert name_of_path(tree, (*TEAM, "tasks", 0, "body", 0)) == "draft/several: body[0]"
    assert name_of_path(tree, (*TEAM, "tasks", 1, "iterate_on", 0)) == "draft/loop: iterate_on[0]"
    assert name_of_path(tree, (*TEAM, "tasks", 2, "iterate_on", 0)) == "draft/bare: iterate_on[0]"
