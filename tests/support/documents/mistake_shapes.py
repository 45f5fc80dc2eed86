"""Documents in which each line has the same mistake.

`MISTAKES` maps the name of each to its document, like `SHAPES` of `document_shapes`.
"""

from collections.abc import Callable, Mapping
from typing import Final

from tests.support.documents.document_parts import ASK, HEAD, lines, team

_JUDGE = """\
    judge:
      prompts: { user: "Judge." }
      output_schema:
        type: object
        additionalProperties: false
        properties:
"""
_JUDGES = "        - { name: judge, agent_type: generic_single_shot, persona_key: judge }\n"
_TEAMS = "orchestration:\n  entry_team: t0\n  max_total_teams: 1000\n  teams:\n"
_RULES = "      routing:\n        rules:\n"


def _steps(line: str) -> Callable[[int], str]:
    """Return the documents of one team with this step many times."""
    return lambda size: HEAD + team(lines(size, f"        - {{ {line} }}\n"))


def _teams(line: str) -> Callable[[int], str]:
    """Return the documents with this team many times."""
    return lambda size: HEAD + _TEAMS + lines(size, f"    tNNN: {{ {line} }}\n")


def _personas(line: str) -> Callable[[int], str]:
    """Return the documents with this persona many times, and a step of each."""
    step = "        - { name: sNNN, agent_type: generic_tool_calling, persona_key: pNNN }\n"
    return lambda size: HEAD + lines(size, f"    pNNN: {{ {line} }}\n") + team(lines(size, step))


def _rules(line: str) -> Callable[[int], str]:
    """Return the documents of one team with this rule many times."""
    step = f"        - {{ name: ask, {ASK} }}\n"
    return lambda size: (
        HEAD + team(step) + _RULES + lines(size, f"          - {{ {line}, next_team: null }}\n")
    )


def _merged(policy: str) -> Callable[[int], str]:
    """Return the documents with one `parallel` that has many entries of `merge`."""
    return lambda size: (
        HEAD
        + team(
            "        - name: fork\n          type: parallel\n"
            "          branches: { a: [{ name: s, type: set, values: { v: 1 } }] }\n"
            "          merge:\n" + lines(size, f"            context.fNNN: {policy}\n")
        )
    )


def _declared(step: str, *, default: str = "a", resets: str = "") -> Callable[[int], str]:
    """Return the documents that declare many paths of the context, and have the step for each."""
    return lambda size: (
        HEAD
        + "orchestration:\n  entry_team: main\n  context:\n"
        + lines(size, f"    fNNN: {{ type: string, default: {default} }}\n")
        + "  teams:\n    main:\n      tasks:\n"
        + lines(size, f"        - {{ name: sNNN, type: set, {step} }}\n")
        + (f"      resets: [{lines(size, resets)}]\n" if resets else "")
    )


def _unknown_tools(size: int) -> str:
    return (
        HEAD
        + "tools:\n"
        + lines(size, "  kNNN: { skill: Files.read }\n")
        + team(lines(size, "        - { name: sNNN, tool: jNNN, arguments: { path: a } }\n"))
    )


def _wrong_fields(size: int) -> str:
    return (
        HEAD
        + _JUDGE
        + lines(size, "          fNNN: { type: string }\n")
        + team(
            _JUDGES
            + lines(
                size,
                "        - { name: sNNN, type: set, "
                'values: { v: "{{ tasks.judge.data.gNNN }}" } }\n',
            )
        )
    )


def _wrong_fields_of_conditions(size: int) -> str:
    return (
        HEAD
        + _JUDGE
        + lines(size, "          fNNN: { type: string }\n")
        + team(_JUDGES)
        + _RULES
        + lines(
            size,
            "          - { condition: { task: judge, output_field: gNNN, operator: equals, "
            "value: a }, next_team: null }\n",
        )
    )


def _words_of_no_enum(size: int) -> str:
    return (
        HEAD
        + _JUDGE
        + f"          word: {{ enum: [{lines(size, 'wNNN, ')}] }}\n"
        + team(_JUDGES)
        + _RULES
        + lines(
            size,
            "          - { condition: { task: judge, output_field: word, operator: equals, "
            "value: xNNN }, next_team: null }\n",
        )
    )


def _unknown_branches(size: int) -> str:
    return HEAD + team(
        "        - name: fork\n          type: parallel\n"
        + f"          only: [{lines(size, 'xNNN, ')}]\n          branches:\n"
        + lines(size, f"            bNNN: [{{ name: sNNN, {ASK} }}]\n")
    )


def _keys_of_one_step(size: int) -> str:
    return HEAD + team(
        "        - name: s\n          type: set\n          values: { v: 1 }\n"
        + lines(size, "          kNNN: 1\n")
    )


def _duplicate_keys(size: int) -> str:
    return HEAD + team(
        "        - name: s\n          type: set\n          values:\n"
        + lines(size, "            v: NNN\n")
    )


def _names_of_one_text(size: int) -> str:
    text = lines(min(size, 1_500), "{{ tasks.aNNN }} ")
    more = lines(max(0, size - 1_500), "a text without NNN ")
    return HEAD + team(f'        - {{ name: s, type: set, values: {{ v: "{text}{more}" }} }}\n')


def _names_of_lines(size: int) -> str:
    return HEAD + team(
        "        - name: s\n          type: set\n          values:\n            v: |\n"
        + lines(min(size, 1_500), "              {{ tasks.aNNN }}\n")
        + lines(max(0, size - 1_500), "              a text without NNN\n")
    )


def _hooks(size: int) -> str:
    return (
        HEAD
        + "orchestration:\n  entry_team: main\n  hooks:\n"
        + lines(size, "    - { on: team_finished, set: { fNNN: 1 } }\n")
        + "  teams:\n    main: { tasks: [{ name: s, type: set, values: { v: 1 } }] }\n"
    )


def _unknown_dependencies(size: int) -> str:
    return HEAD + team(
        "        - name: graph\n          type: task_graph\n          tasks:\n"
        + lines(size, "            - { id: tNNN, dependencies: [xNNN] }\n")
        + "          task_variable: one\n"
        "          body: [{ name: s, type: set, values: { v: 1 } }]\n"
    )


_SET = "type: set, values: { v: 1 }"

MISTAKES: Final[Mapping[str, Callable[[int], str]]] = {
    "unknown keys": _steps(f"name: sNNN, {ASK}, agent_typ: a"),
    "missing keys": _steps("type: skill, input: { a: NNN }"),
    "unknown names": _steps("name: sNNN, agent_type: generic_single_shot, persona_key: wwNNN"),
    "unknown teams": _teams(f"tasks: [{{ name: s, {_SET} }}], routing: {{ default: uNNN }}"),
    "unknown tools": _unknown_tools,
    "unknown subagents": _personas(
        'description: "Number NNN.", prompts: { user: "Do." }, subagents: [qqNNN]'
    ),
    "bad templates": _steps('name: sNNN, type: set, values: { v: "{{ tasks.xNNN.data }}" }'),
    "template syntax": _steps('name: sNNN, type: set, values: { v: "{{ a + }}" }'),
    "duplicate names": _steps(f"name: s, {ASK}"),
    "unknown kinds": _steps("name: sNNN, type: aproval, prompt: a"),
    "wrong types": _steps(f"name: sNNN, {ASK}, timeout: [1]"),
    "conditions of no kind": _steps(
        f"name: sNNN, {ASK}, when: {{ contxt_field: a, operator: equals, value: 1 }}"
    ),
    "wrong inputs": _steps("name: sNNN, type: skill, skill: Files.read, input: { pth: a }"),
    "compiled keys": _steps("name: sNNN, kind: agent, persona_key: writer, input: { topic: a }"),
    "calls with one call": _steps("name: sNNN, type: tool, tool: look, calls: [{ tool: look }]"),
    "moments as conditions": _steps(
        f"name: sNNN, {ASK}, requires_approval: {{ when: after, prompt: a, approvers: [ann] }}"
    ),
    "unknown operators": _rules("condition: { task: ask, operator: nope, value: NNN }"),
    "unknown tasks": _rules("condition: { task: xNNN, status: failure }"),
    "missing sections": _teams("type: loop"),
    "chats without a reply": _teams("type: chat, chat: { conversation_turns: 3 }"),
    "tasks of other teams": _teams(
        'tasks: [{ name: s, type: set, values: { v: "{{ teams.tMMM.tasks.x.data }}" } }], '
        "routing: { default: tPPP }"
    ),
    "agents in circles": _personas(
        'description: "Number NNN.", prompts: { user: "Do {{ input.query }}." }, '
        "subagents: [pPPP, pMMM]"
    ),
    "plans of no form": _personas(
        "execution_plan: { enabled: perhaps, old: 1, steps: [{ name: s, type: set, "
        "values: { v: 1 } }] }"
    ),
    "old merge policies": _merged("append"),
    "unknown merge policies": _merged("wrong"),
    "undeclared reads": _declared('values: { v: "{{ context.gNNN }}" }'),
    "undeclared writes": _declared("values: { v: 1 }, context_updates: { gNNN: 1 }"),
    "undeclared resets": _declared('values: { v: "{{ context.fNNN }}" }', resets="gNNN, "),
    "wrong defaults": _declared('values: { v: "{{ context.fNNN }}" }', default="1"),
    "wrong fields": _wrong_fields,
    "wrong fields of conditions": _wrong_fields_of_conditions,
    "words of no enum": _words_of_no_enum,
    "unknown branches": _unknown_branches,
    "keys of one step": _keys_of_one_step,
    "duplicate keys": _duplicate_keys,
    "names of one text": _names_of_one_text,
    "names of lines": _names_of_lines,
    "hooks of no kind": _hooks,
    "unknown dependencies": _unknown_dependencies,
}
