"""Documents of any size that are large in one direction: many teams, rules, steps, personas, tools.

`SHAPES` maps the name of each direction to its document: the same size gives the same text, and the
double size gives about twice the bytes.
"""

from collections.abc import Callable, Mapping
from typing import Final

_HEAD = """\
llm_config:
  default_provider: scripted
  default_model: demo
  providers: { scripted: { answers: answers.yml } }
  personas:
    writer: { prompts: { user: "Write about {{ input.topic }}." } }
"""
_ASK = "agent_type: generic_single_shot, persona_key: writer, input: { topic: a }"


def _lines(size: int, line: str) -> str:
    """Return the line once for each number below the size: N is the number, M the one before."""
    return "".join(
        line.replace("NNN", str(number))
        .replace("MMM", str(max(0, number - 1)))
        .replace("PPP", str(min(size - 1, number + 1)))
        for number in range(size)
    )


def _team(tasks: str, routing: str = "") -> str:
    return (
        "orchestration:\n  entry_team: main\n  teams:\n    main:\n      tasks:\n" + tasks + routing
    )


def _teams_of_rules(size: int) -> str:
    rules = "".join(
        f"          - {{ condition: {{ task: ask, output_field: text, operator: contains, "
        f"value: w{rule} }}, next_team: tPPP }}\n"
        for rule in range(60)
    )
    return (
        _HEAD
        + "orchestration:\n  entry_team: t0\n  max_total_teams: 100\n  teams:\n"
        + _lines(
            size,
            f"    tNNN:\n      tasks: [{{ name: ask, {_ASK} }}]\n      routing:\n        rules:\n"
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

    def team(number: int) -> str:
        rules = "".join(rule(number, each) for each in range(60))
        return (
            f"    t{number}:\n      tasks: [{{ name: ask, {_ASK} }}]\n      routing:\n"
            f"        rules:\n{rules}        default: null\n"
        )

    return (
        _HEAD
        + "orchestration:\n  entry_team: t0\n  max_total_teams: 100\n  teams:\n"
        + "".join(team(number) for number in range(size))
    )


def _rules_of_a_team(size: int) -> str:
    return (
        _HEAD
        + _team(f"        - {{ name: ask, {_ASK} }}\n")
        + "      routing:\n        rules:\n"
        + _lines(
            size,
            "          - { condition: { context_field: kind, operator: equals, value: wNNN }, "
            "next_team: null }\n",
        )
        + "        default: null\n"
    )


def _expressions(size: int) -> str:
    return (
        _HEAD
        + _team(f"        - {{ name: ask, {_ASK} }}\n")
        + "      routing:\n        rules:\n"
        + _lines(
            size,
            '          - { condition: "{{ context.aNNN > 1 and context.bMMM != 2 or '
            'context.kind == NNN }}", next_team: null }\n',
        )
        + "        default: null\n"
    )


def _steps(size: int) -> str:
    return _HEAD + _team(_lines(size, f"        - {{ name: sNNN, {_ASK} }}\n"))


def _steps_that_read(size: int) -> str:
    return _HEAD + _team(
        _lines(
            size,
            "        - { name: sNNN, type: set, values: { vNNN: "
            "\"{{ tasks.sMMM.data | default('') }}\" } }\n",
        )
    )


def _steps_that_write(size: int) -> str:
    return _HEAD + _team(
        _lines(
            size,
            "        - { name: sNNN, type: set, "
            "values: { v: \"{{ context.fMMM | default('') }}\" }, "
            "context_updates: { fNNN: 1 } }\n",
        )
    )


def _steps_with_conditions(size: int) -> str:
    return _HEAD + _team(
        _lines(
            size,
            f'        - {{ name: sNNN, {_ASK}, when: "{{{{ context.kind == NNN }}}}", '
            "on_failure: continue }\n",
        )
    )


def _branches(size: int) -> str:
    return _HEAD + _team(
        "        - name: fork\n          type: parallel\n          branches:\n"
        + _lines(size, f"            bNNN: [{{ name: sNNN, {_ASK} }}]\n")
    )


def _writing_branches(size: int) -> str:
    return _HEAD + _team(
        "        - name: fork\n          type: parallel\n          branches:\n"
        + _lines(
            size,
            "            bNNN: [{ name: sNNN, type: set, values: { vNNN: 1 }, "
            "context_updates: { fNNN: 1 } }]\n",
        )
    )


def _choices(size: int) -> str:
    return _HEAD + _team(
        "        - name: choose\n          type: branch\n          branches:\n"
        + _lines(
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

    return _HEAD + _team("".join(f"        - {block(number, 15)}\n" for number in range(size)))


def _chain(size: int) -> str:
    return (
        _HEAD
        + "orchestration:\n  entry_team: t0\n  max_total_teams: 100000\n  teams:\n"
        + _lines(
            size,
            "    tNNN: { tasks: [{ name: s, type: set, values: { v: 1 } }], "
            "routing: { context_updates: { fNNN: \"{{ context.fMMM | default('') }}\" }, "
            "default: tPPP } }\n",
        )
    )


def _ring(size: int) -> str:
    """Teams that lead to the next, back to the first, and end."""
    return (
        _HEAD
        + "orchestration:\n  entry_team: t0\n  max_total_teams: 1000\n  teams:\n"
        + _lines(
            size,
            f"    tNNN:\n      tasks: [{{ name: ask, {_ASK} }}]\n      routing:\n        rules:\n"
            "          - { condition: { task: ask, output_field: text, operator: contains, "
            "value: a }, next_team: t0 }\n"
            "          - { condition: { task: ask, status: failure }, next_team: null }\n"
            "        default: tPPP\n",
        )
    )


def _calling_teams(size: int) -> str:
    return (
        _HEAD
        + "orchestration:\n  entry_team: t0\n  max_total_teams: 1000\n  teams:\n"
        + "    t0:\n      tasks:\n"
        + _lines(size, "        - { name: cNNN, type: team, team: uNNN }\n")
        + _lines(size, f"    uNNN: {{ tasks: [{{ name: s, {_ASK} }}] }}\n")
    )


def _fan_out(size: int) -> str:
    names = ", ".join(f"u{number}" for number in range(size))
    return (
        _HEAD
        + "orchestration:\n  entry_team: t0\n  max_total_teams: 100000\n  teams:\n"
        + "    t0: { tasks: [{ name: s, type: set, values: { v: 1 } }], "
        + f"routing: {{ rules: [{{ next_team: [{names}] }}] }} }}\n"
        + _lines(
            size,
            f"    uNNN: {{ tasks: [{{ name: s, {_ASK} }}], routing: {{ default: end }} }}\n",
        )
        + "    end: { type: concentrator, tasks: [{ name: s, type: set, values: { v: 1 } }] }\n"
    )


def _personas(size: int) -> str:
    return (
        _HEAD
        + _lines(
            size,
            '    pNNN: { temperature: 0.5, prompts: { system: "You are NNN.", '
            'user: "Write about {{ input.topic }} and {{ context.aNNN | default(1) }}." } }\n',
        )
        + _team(
            _lines(
                size,
                "        - { name: sNNN, agent_type: generic_single_shot, persona_key: pNNN, "
                "input: { topic: a } }\n",
            )
        )
    )


def _tools(size: int) -> str:
    names = ", ".join(f"k{number}" for number in range(min(size, 100)))
    return (
        _HEAD
        + f'    caller: {{ prompts: {{ user: "Do." }}, tools: [{names}] }}\n'
        + "tools:\n"
        + _lines(size, '  kNNN: { skill: Calculator.evaluate, description: "Number NNN." }\n')
        + _team(
            "        - { name: s, agent_type: generic_tool_calling, persona_key: caller }\n"
            + _lines(
                size, '        - { name: tNNN, tool: kNNN, arguments: { expression: "1 + NNN" } }\n'
            )
        )
    )


def _agents_with_tools(size: int) -> str:
    return (
        _HEAD
        + _lines(
            size,
            '    pNNN: { description: "Number NNN.", prompts: { user: "Do {{ input.query }}." }, '
            "tools: [look, fetch, keep] }\n",
        )
        + "tools:\n  look: { skill: Files.read }\n  fetch: { skill: Web.fetch }\n"
        "  keep: { skill: Files.write }\n"
        + _team(
            _lines(
                size,
                "        - { name: sNNN, agent_type: generic_tool_calling, persona_key: pNNN, "
                "input: { query: a } }\n",
            )
        )
    )


def _subagents(size: int) -> str:
    return (
        _HEAD
        + _lines(
            size,
            '    pNNN: { description: "Number NNN.", '
            'prompts: { user: "Do {{ input.query }}." }, tools: [look], subagents: [qNNN] }\n'
            '    qNNN: { description: "Below.", prompts: { user: "Do {{ input.query }}." } }\n',
        )
        + "tools:\n  look: { skill: Files.read }\n"
        + _team(
            _lines(
                size,
                "        - { name: sNNN, agent_type: generic_tool_calling, persona_key: pNNN, "
                "input: { query: a } }\n",
            )
        )
    )


def _context(size: int) -> str:
    return (
        _HEAD
        + "orchestration:\n  entry_team: main\n  context:\n"
        + _lines(size, "    fNNN: { type: string, default: a, maxLength: 100 }\n")
        + "  teams:\n    main:\n      tasks:\n"
        + _lines(size, '        - { name: sNNN, type: set, values: { v: "{{ context.fNNN }}" } }\n')
    )


def _templates(size: int) -> str:
    return (
        _HEAD
        + _team("        - name: s\n          type: set\n          values:\n")
        + _lines(size, "            vNNN: \"{{ context.fNNN | default('') }}, {{ run.id }}\"\n")
    )


def _properties(size: int) -> str:
    return (
        _HEAD
        + '    judge:\n      prompts: { user: "Judge." }\n      output_schema:\n'
        + "        type: object\n        properties:\n"
        + _lines(size, "          fNNN: { type: string, maxLength: 100 }\n")
        + _team(
            "        - { name: judge, agent_type: generic_single_shot, persona_key: judge }\n"
            + _lines(
                size,
                "        - { name: sNNN, type: set, values: { v: "
                '"{{ tasks.judge.data.fNNN | default(1) }}" } }\n',
            )
        )
    )


def _approvals(size: int) -> str:
    return _HEAD + _team(
        _lines(
            size,
            '        - { name: sNNN, type: approval, prompt: "Go on with NNN?", '
            "approvers: [annNNN], deadline: 1d }\n",
        )
    )


def _tries(size: int) -> str:
    return _HEAD + _team(
        _lines(
            size,
            f"        - {{ name: tNNN, type: try, steps: [{{ name: sNNN, {_ASK} }}], "
            "catch: [{ error: Timeout, steps: [{ name: cNNN, type: set, values: { v: 1 } }] }] }\n",
        )
    )


def _loops(size: int) -> str:
    return _HEAD + _team(
        _lines(
            size,
            '        - { name: lNNN, type: loop, iterate_on: "{{ context.items }}", '
            "loop_variable: itemNNN, max_iterations: 5, body: "
            '[{ name: sNNN, type: set, values: { v: "{{ itemNNN }}" } }] }\n',
        )
    )


def _messages(size: int) -> str:
    return _HEAD + _team(
        _lines(
            size,
            "        - { name: wNNN, type: wait, message: true, when: "
            '"{{ context.kind == NNN }}" }\n'
            '        - { name: rNNN, type: reply, value: "NNN", when: "{{ context.a == NNN }}" }\n',
        )
    )


def _chats(size: int) -> str:
    return (
        _HEAD
        + "orchestration:\n  entry_team: t0\n  max_total_teams: 1000\n  teams:\n"
        + _lines(
            size,
            "    tNNN:\n      tasks: [{ name: w, type: wait, message: true }]\n      routing:\n"
            "        rules: [{ condition: { task: w, status: success }, next_team: uNNN }]\n"
            "        default: null\n"
            "    uNNN: { tasks: [{ name: s, type: set, values: { v: 1 } }], "
            "routing: { default: uPPP } }\n",
        )
        + _lines(0, "")
    )


def _failures(size: int) -> str:
    """Steps that can fail, and a rule for the failure of each."""
    return (
        _HEAD
        + _team(_lines(size, f"        - {{ name: sNNN, {_ASK} }}\n"))
        + "      routing:\n        rules:\n"
        + _lines(
            size,
            "          - { condition: { task: sNNN, status: failure }, next_team: null }\n",
        )
    )


def _unknown_keys(size: int) -> str:
    return _HEAD + _team(_lines(size, f"        - {{ name: sNNN, {_ASK}, agent_typ: a }}\n"))


def _missing_keys(size: int) -> str:
    return _HEAD + _team(_lines(size, "        - { type: skill, input: { a: NNN } }\n"))


def _unknown_names(size: int) -> str:
    return _HEAD + _team(
        _lines(
            size,
            "        - { name: sNNN, agent_type: generic_single_shot, persona_key: wwNNN, "
            "input: { topic: a } }\n",
        )
    )


def _bad_templates(size: int) -> str:
    return _HEAD + _team(
        _lines(
            size, '        - { name: sNNN, type: set, values: { v: "{{ tasks.xNNN.data }}" } }\n'
        )
    )


def _unknown_teams(size: int) -> str:
    return (
        _HEAD
        + "orchestration:\n  entry_team: t0\n  teams:\n"
        + _lines(
            size,
            "    tNNN: { tasks: [{ name: s, type: set, values: { v: 1 } }], "
            "routing: { default: uNNN } }\n",
        )
    )


def _unknown_tools(size: int) -> str:
    return (
        _HEAD
        + "tools:\n"
        + _lines(size, "  kNNN: { skill: Files.read }\n")
        + _team(_lines(size, "        - { name: sNNN, tool: jNNN, arguments: { path: a } }\n"))
    )


def _unknown_subagents(size: int) -> str:
    return (
        _HEAD
        + _lines(
            size,
            '    pNNN: { description: "Number NNN.", prompts: { user: "Do." }, '
            "subagents: [qqNNN] }\n",
        )
        + _team(
            _lines(
                size,
                "        - { name: sNNN, agent_type: generic_tool_calling, persona_key: pNNN }\n",
            )
        )
    )


SHAPES: Final[Mapping[str, Callable[[int], str]]] = {
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
    "choices": _choices,
    "nested blocks": _nested,
    "chain of teams": _chain,
    "ring of teams": _ring,
    "calling teams": _calling_teams,
    "fan-out": _fan_out,
    "personas": _personas,
    "tools": _tools,
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
    "unknown keys": _unknown_keys,
    "missing keys": _missing_keys,
    "unknown names": _unknown_names,
    "unknown teams": _unknown_teams,
    "unknown tools": _unknown_tools,
    "unknown subagents": _unknown_subagents,
    "bad templates": _bad_templates,
}


def document_of(shape: str, size: int) -> str:
    """Return the document of a shape with about that many bytes."""
    return SHAPES[shape](max(4, _number(shape, size)))


def doubled(shape: str, size: int) -> tuple[str, str]:
    """Return a document with about that many bytes, and one with twice as many parts."""
    number = max(2, _number(shape, size))
    return SHAPES[shape](number), SHAPES[shape](2 * number)


def _number(shape: str, size: int) -> int:
    make = SHAPES[shape]
    return int(size * 10 / (len(make(20)) - len(make(10))))
