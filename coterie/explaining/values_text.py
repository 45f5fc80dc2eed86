"""Format effective values and limits as aligned text with their origins."""

import json
import os.path
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from shlex import quote

from pydantic import JsonValue

from coterie.dsl.analysis.context_use import users_of_plan
from coterie.dsl.compile.compiler import SourceText
from coterie.dsl.evaluate.declared_values import form_of
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.step_kinds.agent_types import ORCHESTRATING
from coterie.dsl.source.nodes import dotted
from coterie.dsl.values import NodePath
from coterie.explaining.effective_limits import Limit
from coterie.explaining.origins import Effective
from coterie.text.lines import text_of
from coterie.text.problems import counted

_MAX_VALUE_LENGTH = 56
_PART = re.compile(r"[^.\[\]]+")

_SCHEMA = "output_schema"

Row = tuple[str, ...]


def found(values: Sequence[Effective], asked: str) -> list[Effective]:
    """Find the values at and below a path; else those whose path contains its parts in order.

    Args:
        values: All values.
        asked: Dotted path; tasks by their names, rules by `[0]`.
    """
    exact = [value for value in values if value.dotted == asked or _below(value.dotted, asked)]
    return exact or [value for value in values if _has_in_order(value.dotted, asked)]


def parts(path: str) -> list[str]:
    """Split a dotted path into segments."""
    return _PART.findall(path)


def _below(path: str, query: str) -> bool:
    return path.startswith((f"{query}.", f"{query}["))


def _has_in_order(path: str, query: str) -> bool:
    rest = iter(parts(path))
    return all(part in rest for part in parts(query))


def values_text(values: Iterable[Effective], asked: str = "") -> str:
    """Format the values, grouped by team, step or section under its path.

    A JSON Schema takes one line, unless the path points inside or several files contribute.
    """
    blocks: list[str] = []
    for _, group in groupby(values, key=_owner):
        together = list(group)
        home = _common([value.path[:-1] for value in together])
        rows = list(_rows(together, home, inside=_SCHEMA in asked))
        blocks.append(_block(dotted(home) or "document", rows))
    return "\n\n".join(blocks)


def _owner(value: Effective) -> str:
    return value.step or dotted(value.path[: min(3, len(value.path) - 1)])


def _common(paths: Sequence[NodePath]) -> NodePath:
    """Return the common prefix of the paths."""
    length = 0
    for parts_here in zip(*paths, strict=False):
        if len(set(parts_here)) > 1:
            break
        length += 1
    return paths[0][:length]


def _rows(values: Iterable[Effective], home: NodePath, *, inside: bool) -> Iterator[Row]:
    for schema, group in groupby(values, key=_schema):
        together = list(group)
        files = {value.origin.file for value in together}
        if schema and not inside and len(files) == 1 and len(together) > 1:
            label = dotted(schema[len(home) :])
            yield label, counted(len(together), "value"), together[0].origin.text()
            continue
        for value in together:
            label = dotted(value.path[len(home) :])
            yield label, value_text(value.value), value.origin.text()


def _schema(value: Effective) -> NodePath:
    """Return the path of the JSON Schema that contains the value; empty if none does."""
    return value.path[: value.path.index(_SCHEMA) + 1] if _SCHEMA in value.path else ()


def limits_text(limits: Iterable[Limit]) -> str:
    """Format the limits of the run, then of each team and step."""
    blocks: list[str] = []
    for scope, group in groupby(limits, key=lambda limit: limit.scope):
        rows = [(limit.name, limit.text, limit.bounds, limit.origin.text()) for limit in group]
        blocks.append(_block(scope, rows))
    return "\n\n".join(blocks)


def overview(
    plan: Plan, sources: Sequence[SourceText], values: Sequence[Effective], target: str
) -> str:
    """Summarise a document: its files, its settings, its agents."""
    common = [value for value in values if len(value.path) == 2 and not value.step]
    blocks = [
        f"{plan.name}  (digest {plan.digest})",
        _block("Files, later ones override earlier ones", [(file,) for file in _files(sources)]),
        values_text(common),
        _block("Agents", list(_agents(values))),
        *([context_text(plan)] if plan.context else []),
        f"{counted(len(values), 'value')} in all; to see a part: "
        f"coterie explain {quote(target)} {quote(f'teams.{plan.entry_team}')}",
    ]
    return "\n\n".join(blocks)


def context_text(plan: Plan, paths: Collection[str] | None = None) -> str:
    """List the declared context, and the teams that read, write and reset each path.

    Args:
        plan: The plan.
        paths: Only these; default: all.
    """
    users = users_of_plan(plan)
    rows: list[Row] = []
    for path, declaration in plan.context.items():
        if paths is not None and path not in paths:
            continue
        path_users = users[path]
        operations = ", ".join(path_users.operations)
        lists = (
            ("read", path_users.readers),
            (f"written ({operations})", path_users.writers),
            ("reset", path_users.resetters),
        )
        uses = "; ".join(f"{verb} by {', '.join(teams)}" for verb, teams in lists if teams)
        begins = (
            "required" if declaration.required else f"default {value_text(declaration.default)}"
        )
        rows.append((path, form_of(declaration), begins, uses or "not used"))
    return _block("Declared context", rows)


def _agents(values: Sequence[Effective]) -> Iterator[Row]:
    """Yield each agent's step, its persona, and its model."""
    at = {value.path: value for value in values}
    for value in values:
        if value.step and value.field in ("PersonaStep.persona_key", "LegacyAgentStep.agent_class"):
            for name, agent in _personas(value, at):
                provider, model = at.get((*agent, "provider")), at.get((*agent, "model"))
                if provider is None or model is None:
                    yield value.step, name, "by its plan" if _is_planned(value, at) else "-"
                else:
                    model_id = f"{provider.value}/{model.value}"
                    yield value.step, name, model_id, model.origin.text()


def _personas(value: Effective, at: Mapping[NodePath, Effective]) -> Iterator[tuple[str, NodePath]]:
    """Yield each persona of an agent's step, and the path below which its settings are."""
    step = value.path[:-1]
    personas = at.get((*step, "personas"))
    if personas is None or not isinstance(personas.value, list | tuple):
        yield str(value.value), (*step, "agent")
        return
    for name in personas.value:
        yield str(name), (*step, "agent", str(name))


def _is_planned(value: Effective, at: Mapping[NodePath, Effective]) -> bool:
    kind = at.get((*value.path[:-1], "agent_type"))
    return kind is not None and kind.value == ORCHESTRATING


def _files(sources: Iterable[SourceText]) -> Iterator[str]:
    def kind(source: SourceText) -> tuple[bool, bool]:
        return source.included, source.persona is not None

    for (is_included, is_persona), group in groupby(sources, key=kind):
        files = [source.file for source in group]
        if is_included:
            yield from (f"{file} (included)" for file in files)
        elif is_persona and len(files) > 1:
            yield f"{os.path.commonpath(files)}: {counted(len(files), 'persona')}"
        else:
            yield from files


def value_text(value: JsonValue) -> str:
    """Format a value on one line; shorten a long text and show its length."""
    match value:
        case str():
            lines = value.strip().splitlines() or [""]
            more = f" … ({counted(len(lines), 'line')})" if len(lines) > 1 else ""
            text = json.dumps(lines[0], ensure_ascii=False)
            return f"{_cut(text, _MAX_VALUE_LENGTH - len(more))}{more}"
        case float():
            return f"{value:g}"
        case _:
            return _cut(json.dumps(value, ensure_ascii=False), _MAX_VALUE_LENGTH)


def _cut(text: str, maximum: int) -> str:
    return text if len(text) <= maximum else f"{text[: maximum - 1]}…"


def _block(title: str, rows: Sequence[Row]) -> str:
    """Format a title and its rows in columns."""
    columns = max((len(row) for row in rows), default=0)
    widths = [
        max((len(row[at]) for row in rows if at < len(row)), default=0) for at in range(columns)
    ]
    lines = (
        "  ".join(f"{cell:<{widths[at]}}" for at, cell in enumerate(row)).rstrip() for row in rows
    )
    return text_of([title, *(f"  {line}" for line in lines)])
