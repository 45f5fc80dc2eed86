"""Documents of any size that are large in one direction: many teams, rules, steps, mistakes.

`SHAPES` maps the name of each direction to its document: the same size gives the same text, and the
double size gives about twice the bytes.
"""

from collections.abc import Callable, Mapping
from typing import Final

from tests.support.documents.document_parts import ASK, HEAD, lines, team
from tests.support.documents.mistake_shapes import MISTAKES


def _teams_of_rules(size: int) -> str:
    rules = "".join(
        f"          - {{ condition: {{ task: ask, output_field: text, operator: contains, "
        f"value: w{rule} }}, next_team: tPPP }}\n"
        for rule in range(60)
    )
    return (
        HEAD
        + "orchestration:\n  entry_team: t0\n  max_total_teams: 100\n  teams:\n"
        + lines(
            size,
            f"    tNNN:\n      tasks: [{{ name: ask, {ASK} }}]\n      routing:\n        rules:\n"
            f"{rules}        default: null\n",
        )
    )


def _dense_routes(size: int) -> str:
    """Sixty rules in each team, each to another team, with its own condition and update."""

    def rule(team: int, number: int) -> str:
        return (
            f"          - {{ condition: {{ task: ask, output_field: verdict, operator: equals, "
            f"value: w{number} }}, next_team: t{(team * 7 + number * 3 + 1) % size}, "
            f"context_updates: {{ f{number}: {team} }} }}\n"
        )

    def one_team(number: int) -> str:
        rules = "".join(rule(number, each) for each in range(60))
        return (
            f"    t{number}:\n      tasks: [{{ name: ask, {ASK} }}]\n      routing:\n"
            f"        rules:\n{rules}        default: null\n"
        )

    return (
        HEAD
        + "orchestration:\n  entry_team: t0\n  max_total_teams: 100\n  teams:\n"
        + "".join(one_team(number) for number in range(size))
    )


def _rules_of_a_team(size: int) -> str:
    return (
        HEAD
        + team(f"        - {{ name: ask, {ASK} }}\n")
        + "      routing:\n        rules:\n"
        + lines(
            size,
            "          - { condition: { context_field: kind, operator: equals, value: wNNN }, "
            "next_team: null }\n",
        )
        + "        default: null\n"
    )


def _expressions(size: int) -> str:
    return (
        HEAD
        + team(f"        - {{ name: ask, {ASK} }}\n")
        + "      routing:\n        rules:\n"
        + lines(
            size,
            '          - { condition: "{{ context.aNNN > 1 and context.bMMM != 2 or '
            'context.kind == NNN }}", next_team: null }\n',
        )
        + "        default: null\n"
    )


def _steps(size: int) -> str:
    return HEAD + team(lines(size, f"        - {{ name: sNNN, {ASK} }}\n"))


def _steps_that_read(size: int) -> str:
    return HEAD + team(
        lines(
            size,
            "        - { name: sNNN, type: set, values: { vNNN: "
            "\"{{ tasks.sMMM.data | default('') }}\" } }\n",
        )
    )


def _steps_that_write(size: int) -> str:
    return HEAD + team(
        lines(
            size,
            "        - { name: sNNN, type: set, "
            "values: { v: \"{{ context.fMMM | default('') }}\" }, "
            "context_updates: { fNNN: 1 } }\n",
        )
    )


def _steps_with_conditions(size: int) -> str:
    return HEAD + team(
        lines(
            size,
            f'        - {{ name: sNNN, {ASK}, when: "{{{{ context.kind == NNN }}}}", '
            "on_failure: continue }\n",
        )
    )


def _branches(size: int) -> str:
    return HEAD + team(
        "        - name: fork\n          type: parallel\n          branches:\n"
        + lines(size, f"            bNNN: [{{ name: sNNN, {ASK} }}]\n")
    )


def _writing_branches(size: int) -> str:
    return HEAD + team(
        "        - name: fork\n          type: parallel\n          branches:\n"
        + lines(
            size,
            "            bNNN: [{ name: sNNN, type: set, values: { vNNN: 1 }, "
            "context_updates: { fNNN: 1 } }]\n",
        )
    )


def _writes_within_writes(size: int) -> str:
    return HEAD + team(
        "        - name: fork\n          type: parallel\n          branches:\n"
        + lines(
            size,
            "            bNNN: [{ name: sNNN, type: set, values: { v: 1 }, "
            "context_updates: { f: 1, f.kNNN: 1 } }]\n",
        )
    )


def _merged_values(size: int) -> str:
    return HEAD + team(
        "        - name: fork\n          type: parallel\n          branches:\n"
        + lines(
            size,
            "            bNNN: [{ name: sNNN, type: set, values: { v: 1 }, "
            "context_updates: { f: { merge: { kNNN: 1, jMMM: 1 } } } }]\n",
        )
    )


def _choices(size: int) -> str:
    return HEAD + team(
        "        - name: choose\n          type: branch\n          branches:\n"
        + lines(
            size,
            '            - { condition: "{{ context.kind == NNN }}", '
            "steps: [{ name: sNNN, type: set, values: { vNNN: 1 } }] }\n",
        )
    )


def _nested(size: int) -> str:
    """Blocks forty deep, beside each other: deeper ones are refused."""

    def block(number: int, depth: int) -> str:
        if depth == 0:
            return f"{{ name: e{number}, type: set, values: {{ v: 1 }} }}"
        return f"{{ name: b{number}_{depth}, type: block, steps: [{block(number, depth - 1)}] }}"

    return HEAD + team("".join(f"        - {block(number, 15)}\n" for number in range(size)))


def _chain(size: int) -> str:
    return (
        HEAD
        + "orchestration:\n  entry_team: t0\n  max_total_teams: 100000\n  teams:\n"
        + lines(
            size,
            "    tNNN: { tasks: [{ name: s, type: set, values: { v: 1 } }], "
            "routing: { context_updates: { fNNN: \"{{ context.fMMM | default('') }}\" }, "
            "default: tPPP } }\n",
        )
    )


def _ring(size: int) -> str:
    """Teams that lead to the next, back to the first, and end."""
    return (
        HEAD
        + "orchestration:\n  entry_team: t0\n  max_total_teams: 1000\n  teams:\n"
        + lines(
            size,
            f"    tNNN:\n      tasks: [{{ name: ask, {ASK} }}]\n      routing:\n        rules:\n"
            "          - { condition: { task: ask, output_field: text, operator: contains, "
            "value: a }, next_team: t0 }\n"
            "          - { condition: { task: ask, status: failure }, next_team: null }\n"
            "        default: tPPP\n",
        )
    )


def _calling_teams(size: int) -> str:
    return (
        HEAD
        + "orchestration:\n  entry_team: t0\n  max_total_teams: 1000\n  teams:\n"
        + "    t0:\n      tasks:\n"
        + lines(size, "        - { name: cNNN, type: team, team: uNNN }\n")
        + lines(size, f"    uNNN: {{ tasks: [{{ name: s, {ASK} }}] }}\n")
    )


def _fan_out(size: int) -> str:
    names = ", ".join(f"u{number}" for number in range(size))
    return (
        HEAD
        + "orchestration:\n  entry_team: t0\n  max_total_teams: 100000\n  teams:\n"
        + "    t0: { tasks: [{ name: s, type: set, values: { v: 1 } }], "
        + f"routing: {{ rules: [{{ next_team: [{names}] }}] }} }}\n"
        + lines(
            size,
            f"    uNNN: {{ tasks: [{{ name: s, {ASK} }}], routing: {{ default: end }} }}\n",
        )
        + "    end: { type: concentrator, tasks: [{ name: s, type: set, values: { v: 1 } }] }\n"
    )


def _personas(size: int) -> str:
    return (
        HEAD
        + lines(
            size,
            '    pNNN: { temperature: 0.5, prompts: { system: "You are NNN.", '
            'user: "Write about {{ input.topic }} and {{ context.aNNN | default(1) }}." } }\n',
        )
        + team(
            lines(
                size,
                "        - { name: sNNN, agent_type: generic_single_shot, persona_key: pNNN, "
                "input: { topic: a } }\n",
            )
        )
    )


def _tools(size: int) -> str:
    names = ", ".join(f"k{number}" for number in range(min(size, 100)))
    return (
        HEAD
        + f'    caller: {{ prompts: {{ user: "Do." }}, tools: [{names}] }}\n'
        + "tools:\n"
        + lines(size, '  kNNN: { skill: Calculator.evaluate, description: "Number NNN." }\n')
        + team(
            "        - { name: s, agent_type: generic_tool_calling, persona_key: caller }\n"
            + lines(
                size, '        - { name: tNNN, tool: kNNN, arguments: { expression: "1 + NNN" } }\n'
            )
        )
    )


def _steps_of_one_persona(function: str) -> Callable[[int], str]:
    """Return the documents whose steps all have one persona, which has as many tools."""
    return lambda size: (
        HEAD + '    inner: { description: "Below.", prompts: { user: "Do {{ input.query }}." } }\n'
        '    caller: { prompts: { user: "Do." }, '
        + f"tools: [{', '.join(f'k{number}' for number in range(size))}] }}\n"
        + "tools:\n  look: { skill: Files.read }\n"
        + lines(size, f"  kNNN: {{ {function} }}\n")
        + team(
            lines(
                size,
                "        - { name: sNNN, agent_type: generic_tool_calling, persona_key: caller }\n",
            )
        )
    )


def _agents_with_tools(size: int) -> str:
    return (
        HEAD
        + lines(
            size,
            '    pNNN: { description: "Number NNN.", prompts: { user: "Do {{ input.query }}." }, '
            "tools: [look, fetch, keep] }\n",
        )
        + "tools:\n  look: { skill: Files.read }\n  fetch: { skill: Web.fetch }\n"
        "  keep: { skill: Files.write }\n"
        + team(
            lines(
                size,
                "        - { name: sNNN, agent_type: generic_tool_calling, persona_key: pNNN, "
                "input: { query: a } }\n",
            )
        )
    )


def _subagents(size: int) -> str:
    return (
        HEAD
        + lines(
            size,
            '    pNNN: { description: "Number NNN.", '
            'prompts: { user: "Do {{ input.query }}." }, tools: [look], subagents: [qNNN] }\n'
            '    qNNN: { description: "Below.", prompts: { user: "Do {{ input.query }}." } }\n',
        )
        + "tools:\n  look: { skill: Files.read }\n"
        + team(
            lines(
                size,
                "        - { name: sNNN, agent_type: generic_tool_calling, persona_key: pNNN, "
                "input: { query: a } }\n",
            )
        )
    )


def _context(size: int) -> str:
    return (
        HEAD
        + "orchestration:\n  entry_team: main\n  context:\n"
        + lines(size, "    fNNN: { type: string, default: a, maxLength: 100 }\n")
        + "  teams:\n    main:\n      tasks:\n"
        + lines(size, '        - { name: sNNN, type: set, values: { v: "{{ context.fNNN }}" } }\n')
    )


def _templates(size: int) -> str:
    return (
        HEAD
        + team("        - name: s\n          type: set\n          values:\n")
        + lines(size, "            vNNN: \"{{ context.fNNN | default('') }}, {{ run.id }}\"\n")
    )


def _properties(size: int) -> str:
    return (
        HEAD
        + '    judge:\n      prompts: { user: "Judge." }\n      output_schema:\n'
        + "        type: object\n        properties:\n"
        + lines(size, "          fNNN: { type: string, maxLength: 100 }\n")
        + team(
            "        - { name: judge, agent_type: generic_single_shot, persona_key: judge }\n"
            + lines(
                size,
                "        - { name: sNNN, type: set, values: { v: "
                '"{{ tasks.judge.data.fNNN | default(1) }}" } }\n',
            )
        )
    )


def _approvals(size: int) -> str:
    return HEAD + team(
        lines(
            size,
            '        - { name: sNNN, type: approval, prompt: "Go on with NNN?", '
            "approvers: [annNNN], deadline: 1d }\n",
        )
    )


def _tries(size: int) -> str:
    return HEAD + team(
        lines(
            size,
            f"        - {{ name: tNNN, type: try, steps: [{{ name: sNNN, {ASK} }}], "
            "catch: [{ error: Timeout, steps: [{ name: cNNN, type: set, values: { v: 1 } }] }] }\n",
        )
    )


def _loops(size: int) -> str:
    return HEAD + team(
        lines(
            size,
            '        - { name: lNNN, type: loop, iterate_on: "{{ context.items }}", '
            "loop_variable: itemNNN, max_iterations: 5, body: "
            '[{ name: sNNN, type: set, values: { v: "{{ itemNNN }}" } }] }\n',
        )
    )


def _messages(size: int) -> str:
    return HEAD + team(
        lines(
            size,
            "        - { name: wNNN, type: wait, message: true, when: "
            '"{{ context.kind == NNN }}" }\n'
            '        - { name: rNNN, type: reply, value: "NNN", when: "{{ context.a == NNN }}" }\n',
        )
    )


def _chats(size: int) -> str:
    return (
        HEAD
        + "orchestration:\n  entry_team: t0\n  max_total_teams: 1000\n  teams:\n"
        + lines(
            size,
            "    tNNN:\n      tasks:\n        - { name: w, type: wait, message: true }\n"
            "        - { name: r, type: reply, value: a }\n      routing:\n"
            "        rules: [{ condition: { task: w, status: success }, next_team: tPPP }]\n"
            "        default: null\n",
        )
    )


def _failures(size: int) -> str:
    """Steps that can fail, and a rule for the failure of each."""
    return (
        HEAD
        + team(lines(size, f"        - {{ name: sNNN, {ASK} }}\n"))
        + "      routing:\n        rules:\n"
        + lines(
            size,
            "          - { condition: { task: sNNN, status: failure }, next_team: null }\n",
        )
    )


def _questions_of_the_document(size: int) -> str:
    return HEAD + team(
        lines(
            size,
            f"        - {{ name: sNNN, {ASK}, when: {{ config_field: llm_config.default_model, "
            "operator: equals, value: demo } }\n",
        )
    )


def _older_steps(size: int) -> str:
    return (
        HEAD
        + lines(size, '    pNNN: { prompts: { user: "Do." } }\n')
        + team(lines(size, "        - { name: sNNN, type: agent_call, node: pNNN }\n"))
    )


def _older_conditions(size: int) -> str:
    return (
        HEAD
        + team(lines(size, f"        - {{ name: sNNN, {ASK} }}\n"))
        + "      routing:\n        rules:\n"
        + lines(
            size,
            "          - { condition: { type: simple, field: sNNN.text, operator: equals, "
            "value: a }, next_team: null }\n",
        )
    )


def _rules_that_always_hold(size: int) -> str:
    return (
        HEAD
        + team(f"        - {{ name: ask, {ASK} }}\n")
        + "      routing:\n        rules:\n"
        + lines(size, "          - { next_team: null }\n")
    )


def _unreachable_teams(size: int) -> str:
    return (
        HEAD
        + team(f"        - {{ name: ask, {ASK} }}\n")
        + lines(size, "    tNNN: { tasks: [{ name: s, type: set, values: { v: 1 } }] }\n")
    )


def _merge_policies(size: int) -> str:
    return (
        HEAD
        + team("        - name: fork\n          type: parallel\n          branches:\n")
        + lines(
            size,
            "            bNNN: [{ name: sNNN, type: set, values: { vNNN: 1 }, "
            "context_updates: { fNNN: 1 } }]\n",
        )
        + "          merge:\n"
        + lines(size, "            context.fNNN: extend\n")
    )


def _tasks_of_a_graph(size: int) -> str:
    return HEAD + team(
        "        - name: graph\n          type: task_graph\n          tasks:\n"
        + lines(size, "            - { id: tNNN, needs: [tMMM] }\n")
        + "          task_variable: one\n"
        "          body: [{ name: s, type: set, values: { v: 1 } }]\n"
    )


def _placeholders(size: int) -> str:
    return (
        HEAD
        + "    many:\n      prompts:\n        user: |\n          {{ input.topic }}\n"
        + lines(size, "          Do {aNNN}.\n")
        + team(f"        - {{ name: s, {ASK} }}\n")
    )


SOUND: Final[Mapping[str, Callable[[int], str]]] = {
    "teams of rules": _teams_of_rules,
    "dense routes": _dense_routes,
    "rules of a team": _rules_of_a_team,
    "expressions": _expressions,
    "steps": _steps,
    "steps that read": _steps_that_read,
    "steps that write": _steps_that_write,
    "steps with conditions": _steps_with_conditions,
    "branches": _branches,
    "writing branches": _writing_branches,
    "writes within writes": _writes_within_writes,
    "merged values": _merged_values,
    "choices": _choices,
    "nested blocks": _nested,
    "chain of teams": _chain,
    "ring of teams": _ring,
    "calling teams": _calling_teams,
    "fan-out": _fan_out,
    "personas": _personas,
    "tools": _tools,
    "steps of one persona": _steps_of_one_persona("skill: Calculator.evaluate"),
    "labels of one persona": _steps_of_one_persona("skill: Web.fetch"),
    "questions of one persona": _steps_of_one_persona(
        "skill: Files.write, requires_approval: { deadline: 1d, on_timeout: main }"
    ),
    "agents of one persona": _steps_of_one_persona("agent: inner"),
    "agents with tools": _agents_with_tools,
    "subagents": _subagents,
    "declared context": _context,
    "templates of a step": _templates,
    "schema properties": _properties,
    "approvals": _approvals,
    "tries": _tries,
    "loops": _loops,
    "messages": _messages,
    "chats": _chats,
    "failures": _failures,
    "questions of the document": _questions_of_the_document,
    "older steps": _older_steps,
    "older conditions": _older_conditions,
    "rules that always hold": _rules_that_always_hold,
    "unreachable teams": _unreachable_teams,
    "merge policies": _merge_policies,
    "tasks of a graph": _tasks_of_a_graph,
    "placeholders": _placeholders,
}

SHAPES: Final[Mapping[str, Callable[[int], str]]] = {**SOUND, **MISTAKES}


def document_of(shape: str, size: int) -> str:
    """Return the document of a shape with about that many bytes."""
    return SHAPES[shape](max(4, _number(shape, size)))


def doubled(shape: str, size: int, parts: int) -> tuple[str, str]:
    """Return a document with at most so many parts and bytes, and one with twice as many parts."""
    number = max(2, min(parts, _number(shape, size)))
    return SHAPES[shape](number), SHAPES[shape](2 * number)


def _number(shape: str, size: int) -> int:
    make = SHAPES[shape]
    return int(size * 10 / (len(make(20)) - len(make(10))))
