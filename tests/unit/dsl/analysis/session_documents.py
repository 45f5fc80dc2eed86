"""Parts of small documents of sessions: teams, tasks and routings."""

NEXT = "{ name: next, type: wait, message: true, deadline: 1h }"
SAY = "{ name: say, type: reply, value: hello }"
ENDS = (
    "routing: { rules: [{ condition: { task: next, status: failure }, next_team: null }], default: "
)


def team(name: str, tasks: str, routing: str = "") -> str:
    return f"{name}:\n  tasks: [{tasks}]\n" + (f"  {routing}\n" if routing else "")


LISTEN = team("a", NEXT, f"{ENDS}b }}")
SKIPPED = SAY.replace("value", 'when: "{{ context.loud }}", value')
QUIET = SKIPPED.replace("say", "hush").replace("context.loud", "not context.loud")


MORE = "{ name: more, type: wait, message: true, deadline: 1h }"
OTHER = SAY.replace("say", "other")
LOOK = "{ name: look, type: tool, tool: look }"
SEE = LOOK.replace("look", "see", 1)
TO_A = "routing: { default: a }"
EACH = "{ name: each, type: loop, iterate_on: '{{ context.xs }}', loop_variable: x, body: "
TO_B = "routing: { default: b }"
CHOOSE = '{ name: choose, type: branch, branches: [{ condition: "{{ context.x }}", '


def named(task: str, mark: object) -> str:
    """The same task with another name."""
    return task.replace("name: ", f"name: {mark}_", 1)


def choice(name: str, *, replies: bool = True) -> str:
    """A branch with three ways, of which one may reply."""
    look, say = LOOK.replace("look", f"look_{name}", 1), SAY.replace("say", f"say_{name}")
    cases = ", ".join(
        f'{{ condition: "{{{{ context.{name}{number} }}}}", steps: [{step}] }}'
        for number, step in enumerate((look, say if replies else look.replace("look_", "see_", 1)))
    )
    return f"{{ name: choose_{name}, type: branch, branches: [{cases}] }}"


def cases(number: int) -> str:
    """A branch with as many ways that do not reply, and one that does."""
    ways = ", ".join(
        f'{{ condition: "{{{{ context.x{one} }}}}", steps: [{named(LOOK, one)}] }}'
        for one in range(number - 1)
    )
    says = f'{{ condition: "{{{{ context.loud }}}}", steps: [{SAY}] }}'
    return f"{{ name: choose, type: branch, branches: [{ways}, {says}] }}"


SEVERAL = ", ".join(map(choice, "pqrstuv"))
GROUP = "{ name: group, type: block, steps: "
ENOUGH = "{ name: enough, type: return }"
XS = "'{{ context.xs }}'"
LOUD_ENDS = "routing: { rules: [{ condition: '{{ context.loud }}', next_team: null }], default: c }"
TOGETHER = f"{{ name: both, type: parallel, branches: {{ p: [{SEE}] }} }}"
WHILE = '{ name: rounds, type: loop, while: "{{ context.x }}", max_iterations: 9, body: '
LATE = SAY.replace("say", "late")
NEVER = '{ condition: "{{ false }}", next_team: null }'
WELL = "{{ condition: {{ task: {}, status: success }}, next_team: {} }}"
X_NEXT = WELL.replace("condition: ", "condition: {{ and: [").replace(
    " }}, n", " }}, '{{{{ context.x }}}}'] }}, n"
)


def by_rules(*rules: str) -> str:
    """A routing by these rules alone."""
    return f"routing: {{ rules: [{', '.join(rules)}], default: null }}"


CALL = "{ name: call, type: team, team: c }"
