"""Which hooks a run asks at a point, and what they read."""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from coterie.dsl.json_values import texts_within
from coterie.dsl.model.conditions import Condition, ContextField, Expression
from coterie.dsl.model.hooks import CHECK, Hook, HookPoint
from coterie.dsl.model.traversal.step_walk import leaves
from coterie.dsl.paths import Path
from coterie.dsl.paths import parse as parse_path
from coterie.dsl.templates.template import is_template, parse


def hooks_at(hooks: Sequence[Hook], point: HookPoint, tool: str = "") -> Iterator[Hook]:
    """Yield the hooks of a point, and of a tool, in written order."""
    for hook in hooks:
        if hook.on == point and (hook.tool is None or matches_tool(hook.tool, tool)):
            yield hook


def matches_tool(pattern: str, tool: str) -> bool:
    """Return whether a tool has a name of the pattern; only `*` has a meaning of its own."""
    literal = pattern.replace("[", "[[]").replace("?", "[?]")
    return fnmatchcase(tool, literal)


def reads_check(hook: Hook) -> bool:
    """Return whether the condition of the hook reads what its tool function returned."""
    return hook.skill is not None and any(path[0] == CHECK for path in _read(hook.when))


def reads_result(hooks: Sequence[Hook], tool: str) -> bool:
    """Return whether a hook needs the result of a tool, so that it must be in the run."""
    return any(
        path[0] in ("result", "text")
        for hook in hooks_at(hooks, "after_tool_call", tool)
        for path in read_by(hook)
    )


def read_by(hook: Hook) -> Iterator[Path]:
    """Yield every path that the condition and the templates of a hook read."""
    yield from _read(hook.when)
    for value in (hook.decide, hook.message, hook.value, hook.input):
        for text, _ in texts_within(value):
            yield from _paths(text)


def _read(condition: Condition | None) -> Iterator[Path]:
    if condition is None:
        return
    for leaf, _ in leaves(condition, ()):
        if isinstance(leaf, Expression):
            yield from _paths(leaf.expression)
        elif isinstance(leaf, ContextField):
            yield ("context", *parse_path(leaf.context_field))


def _paths(text: str) -> Iterator[Path]:
    if is_template(text):
        yield from parse(text).paths
