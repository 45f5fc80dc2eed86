"""A file of another system is recognised by its keys, and nobody gets advice for Coterie on it."""

import re

import pytest

from coterie.documents.product_capabilities import capabilities
from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.source.dialects import DIALECTS, WORDS
from tests.support.compiling import compiled, problems_of
from tests.support.places import ROOT

FILES = {
    "Zigflow": [
        "document: {dsl: 1.0.0, taskQueue: mail, workflowType: send, version: 0.0.1}\n"
        "do:\n  - ready:\n      set: {text: 'Dear ${ .name }'}\n"
    ],
    "CNCF Serverless Workflow": [
        "document: {dsl: '1.0.3', namespace: shop, name: ship, version: '0.1.0'}\n"
        "do:\n  - pack: {call: http, with: {method: post, endpoint: 'http://shop.test/pack'}}\n",
        "id: ship\nspecVersion: '0.8'\nstart: pack\nstates:\n  - {name: pack, type: operation}\n",
    ],
    "CrewAI": [
        "cook:\n  role: Cook for {guests}\n  goal: A menu\n  backstory: Ran a canteen.\n"
        "taster:\n  role: Taster\n  goal: Honest notes\n  backstory: Tastes first.\n  llm: a/b\n",
        "plan_menu:\n  description: Plan a menu for {guests}.\n  expected_output: Three courses.\n"
        "  agent: cook\ntaste:\n  description: Taste.\n  expected_output: Notes.\n"
        "  agent: taster\n  context: [plan_menu]\n",
    ],
    "docker-agent": [
        "version: '2'\nagents:\n"
        "  root: {model: big, description: Sorts, instruction: Sort it., sub_agents: [reader]}\n"
        "  reader: {model: big, instruction: Read it.}\n"
        "models: {big: {provider: openai, model: x}}\n"
    ],
    "julep": [
        "name: Sum up\ninput_schema: {type: object}\nmain:\n"
        "  - prompt: [{role: user, content: 'Sum up {{_.text}}'}]\n  - return: {text: $ _.reply}\n"
    ],
    "promptflow": [
        "inputs: {question: {type: string}}\noutputs: {answer: {reference: '${ask.output}'}}\n"
        "nodes:\n  - {name: ask, type: llm, inputs: {q: '${inputs.question}'}}\n"
    ],
    "dify": [
        "app: {mode: workflow, name: Sorter}\nkind: app\nversion: 0.3.0\n"
        "workflow: {graph: {edges: [], nodes: [{id: '1', data: {type: start}}]}}\n"
    ],
    "AutoGen Studio": [
        '{"provider": "a.teams.RoundRobin", "component_type": "team", "version": 1,'
        ' "config": {"participants": []}}',
        '{"component_type": "team", "name": "duo", "team_type": "turns", "participants": []}',
    ],
    "n8n": [
        '{"name": "mail", "nodes": [{"name": "in", "type": "trigger"}], "connections": {"in": {}}}'
    ],
    "GitHub Actions": [
        "on: [push]\njobs:\n  check:\n    runs-on: linux\n    if: ${{ github.ref }}\n"
        "    steps: [{run: make}]\n"
    ],
    "GitLab CI": [
        "image: alpine\nservices: [db]\nvariables: {LEVEL: high}\n"
        "greet:\n  script: [echo hello, make greet]\n  needs: [build]\n"
        ".shared: {retry: 2}\n",
        "below: {stage: last, trigger: {project: a/b}}\n",
        "include: [{local: one.yml}]\nstages: [first, last]\n",
    ],
    "Argo Workflows": [
        "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {generateName: bake-}\n"
        "spec:\n  entrypoint: bake\n  templates:\n"
        "    - {name: bake, steps: [[{name: mix, template: mix}]]}\n",
        "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\n"
        "spec: {workflowTemplateRef: {name: bake}}\n",
        "apiVersion: argoproj.io/v1alpha1\nkind: CronWorkflow\n"
        "spec: {schedule: '0 5 * * *', workflowSpec: {workflowTemplateRef: {name: bake}}}\n",
    ],
    "Ansible": [
        "- import_playbook: first.yml\n- name: Bake\n  hosts: ovens\n  become: true\n"
        "  vars: {heat: 200}\n  tasks:\n    - name: Heat\n      command: 'heat {{ heat }}'\n"
        "      register: warm\n",
    ],
    "LangGraph": [
        '{"dependencies": ["."], "graphs": {"bake": "./bake.py:graph"}, "env": ".env"}',
        '{"node_version": "20", "graphs": {"bake": "./bake.ts:graph"}}',
    ],
    "Docker Compose": [
        "x-shared: &shared {restart: always}\nservices:\n  web:\n    <<: *shared\n"
        "    image: web\n    environment: {KEY: '${KEY:?}'}\n"
    ],
}
"""Files of each system, in our own words."""
TEXTS = [(system, text) for system, texts in FILES.items() for text in texts]
OURS = "{tasks: [{name: x, type: set, values: {a: 1}}]}"


@pytest.mark.parametrize(("system", "text"), TEXTS)
def test_a_file_of_another_system_gets_one_problem_that_names_it(system: str, text: str) -> None:
    (problem,) = problems_of(text)
    assert (problem.code, problem.line) == ("E111", 1)
    assert problem.message.startswith(f"this looks like a file of {system},")
    assert f"the table of {system} in docs/other-systems.md" in problem.fix


@pytest.mark.parametrize("text", ["[]", "- a: !x 1\n- b\n", "- role: cook\n", "- tasks: []\n"])
def test_a_list_of_no_other_system_is_no_mapping(text: str) -> None:
    assert [(one.code, one.line, one.column) for one in problems_of(text)] == [("E004", 1, 1)]


def test_every_row_of_the_table_has_a_file() -> None:
    assert {one.system for one in DIALECTS} == FILES.keys() == WORDS.keys()
    assert len(DIALECTS) == len(TEXTS)


@pytest.mark.parametrize("system", FILES)
def test_the_docs_show_the_words_of_each_system(system: str) -> None:
    text = (ROOT / "docs" / "other-systems.md").read_text(encoding="utf-8")
    (section,) = re.findall(rf"^## {re.escape(system)}\n(.*?)(?=^##)", text + "\n##", re.M | re.S)
    rows = dict(re.findall(r"^\| (.+) \| (.+) \|$", section, re.M))
    assert {theirs: rows.get(theirs) for theirs, _ in WORDS[system]} == dict(WORDS[system])


@pytest.mark.parametrize("extra", ["services: {}", "'on': push\njobs: {}", "main: []\nname: a"])
def test_a_document_of_ours_with_keys_of_another_system_gets_our_advice(extra: str) -> None:
    text = f"{extra}\norchestration: {{entry_team: a, teams: {{a: {OURS}}}}}\n"
    assert {one.code for one in problems_of(text)} == {"E101"}


@pytest.mark.parametrize("keys", ["jobz: 1\n", "teams: {a: {}}\n", "name: a\nagents: {a: {}}\n"])
def test_a_document_without_orchestration_says_so_beside_its_other_problems(keys: str) -> None:
    fixes = [one.fix for one in problems_of(keys) if one.code == "E102"]
    assert fixes == ["add `orchestration:` with `entry_team` and `teams`"]


@pytest.mark.parametrize("other", ["worker: {}\n", "llm_config: {}\nworker: {}\n"])
def test_a_missing_orchestration_is_a_problem_of_the_document_and_of_no_file_around_it(
    other: str,
) -> None:
    document = SourceText("mine.yml", "\nname: mine\ninclude: [part.yml]\n")
    part = SourceText("part.yml", "tools: {}\n", included=True)
    changed = SourceText("coterie.yml", other, overrides=True)
    shipped = SourceText("config/system_config.yml", "\n\nllm_config: {}\n")
    before = SourceText("p.yml", "description: x\n", persona="p")
    with pytest.raises(InvalidDocument) as refused:
        compile_sources([shipped, before, part, document, changed], capabilities(), name="x")
    [problem] = [one for one in refused.value.problems if one.code == "E102"]
    assert (problem.file, problem.line, problem.column) == ("mine.yml", 2, 1)


def test_a_misspelt_orchestration_is_no_second_problem() -> None:
    with pytest.raises(InvalidDocument) as refused:
        compiled(f"orchestratoin: {{entry_team: a, teams: {{a: {OURS}}}}}\n")
    assert [one.code for one in refused.value.problems] == ["E101"]
