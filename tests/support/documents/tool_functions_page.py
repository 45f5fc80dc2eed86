"""Generate `docs/tool-functions.md`; the page itself names the command."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from coterie.activities.tool_functions.function_contracts import known_contracts
from coterie.dsl.egress.workspace_reads import WORKSPACE_READERS
from coterie.dsl.model.capabilities import Effect, FunctionContract, Label
from coterie.dsl.schema_keys import ALSO, KIND
from coterie.dsl.values import Json
from coterie.text.durations import duration

_HEAD = """\
# Tool functions

After reading this page, you can call every tool function that Coterie ships: you know what each one
takes, what it returns, and how it fails.

Call a tool function from an `execution_plan` with a [`skill` step](agent-steps.md#skill), or let a
model call it as a [tool](tools.md#a-tool). `coterie validate` checks the input against the contract
before a run starts. This page is generated from the contracts:
`python -m tests.support.documents.tool_functions_page > docs/tool-functions.md`.

All paths are relative to the worker's `workspace`. Tool functions that read and change files never
leave it, and refuse paths in `.git` and `.coterie`. What a command may reach depends on
[its sandbox](security.md#commands-of-the-project).
"""

_OVERVIEW = """\
## All tool functions

A field that holds code, a command, a path or an address says so below. Coterie checks its text
before the call. It refuses imports, file access, programs, deletion and Python's internals in code,
destructive commands, `..` in paths (also in encoded forms), and addresses that are not `http` or
`https`; [the table](security.md#the-table-of-code-and-commands) says how. Other fields are prose,
and may contain anything.
"""

_ERRORS = """\
## Errors of every tool function

A failed step carries the type in `tasks.NAME.error.type`; `catch` and `retry.errors` select by it.
See [all failure types](failures.md#types-of-failure).
"""

_SHARED: dict[str, str] = {
    "FunctionRefused": "the input does not fit the contract; the same call is always refused",
    "FunctionFailed": "the tool function could not do its work, the system reported an error, or "
    "the result exceeds 1,500,000 bytes",
    "Timeout": "no attempt ended within the timeout",
    "StaleAttempt": "the server did not confirm that the attempt still counts; "
    "the tool function did nothing",
    "RequestTooLarge": "the input exceeds "
    "[what may travel in a run](operating.md#how-large-values-may-be)",
    "RepeatedCall": "the same call returned the same result four times in one loop",
    "Rejected": "the step has `requires_approval`, and a person rejected it",
    "NotDecided": "the step has `requires_approval`, and nobody decided in time",
}
"""Errors that the activity and the interpreter add to those of a contract."""

_KINDS = {
    "code": "Checked as code.",
    "command": "Checked as a command.",
    "path": "Checked as a path.",
    "url": "Checked as an address.",
}

_EFFECTS: dict[Effect, str] = {
    "read": "`read`: changes nothing. Coterie may repeat it.",
    "idempotent": "`idempotent`: a repeated call has the same result. Coterie may repeat it.",
    "once": "`once`: Coterie never repeats it. See "
    "[what must not happen twice](failures.md#what-must-not-happen-twice).",
}

_LABELS: dict[Label, str] = {
    "private": "`private`: its result is confidential.",
    "untrusted": "`untrusted`: its result is text that others wrote.",
    "egress": "`egress`: its input leaves the system.",
}
_READS = (
    "It shows files of the workspace, so it is [`untrusted`](tools.md#labels) too, unless "
    "`worker.trusted_paths` vouches for them."
)


def tool_functions_page(contracts: Mapping[str, FunctionContract]) -> str:
    """Render the reference of all tool functions as Markdown."""
    ordered = [contracts[name] for name in sorted(contracts)]
    taken = _objects(contract.input_schema for contract in ordered)
    given = _objects(contract.output_schema for contract in ordered)
    return "\n".join(
        [
            _HEAD,
            _OVERVIEW,
            _overview(ordered),
            *(_function(contract) for contract in ordered),
            _ERRORS,
            _errors(_SHARED),
            "## Objects\n\nValues that the tables above refer to.\n",
            *(
                f"### {name}\n\n{one['description']}\n\n{_table(one, is_input=name in taken)}"
                for name, one in sorted({**given, **taken}.items())
            ),
        ]
    )


def _overview(contracts: Iterable[FunctionContract]) -> str:
    """List all tool functions in one table."""
    return _rows(
        ("Tool function", "What it does", "Effect", "Labels"),
        [
            (
                f"[`{one.name}`](#{one.name.lower().replace('.', '')})",
                one.description,
                f"`{one.effect}`",
                _label_names(one),
            )
            for one in contracts
        ],
    )


def _objects(schemas: Iterable[Json]) -> dict[str, Json]:
    """Collect the objects that schemas define, `{name: schema}`."""
    return {
        name: _mapping(one)
        for schema in schemas
        for name, one in _mapping(schema.get("$defs")).items()
        if "properties" in _mapping(one)
    }


def _function(contract: FunctionContract) -> str:
    attempts = contract.retries + 1
    lines = [
        f"## {contract.name}",
        contract.description,
        f"Effect {_EFFECTS[contract.effect]} "
        f"Timeout of one attempt: {duration(contract.timeout)}. "
        f"Attempts by default: {attempts}.",
        *([f"Labels {' '.join(_labels(contract))}"] if contract.labels else ()),
        _value("Input", contract.input_schema, is_input=True),
        _value("Output", contract.output_schema, is_input=False),
        "**Errors**",
        _errors(contract.errors),
    ]
    return "\n\n".join(lines)


def _label_names(contract: FunctionContract) -> str:
    names = [f"`{label}`" for label in contract.labels]
    names += ["`untrusted` files"] if contract.name in WORKSPACE_READERS else []
    return ", ".join(names) or "-"


def _labels(contract: FunctionContract) -> Iterable[str]:
    yield from (_LABELS[one] for one in contract.labels)
    if contract.name in WORKSPACE_READERS:
        yield _READS


def _errors(errors: Mapping[str, str]) -> str:
    return _rows(("Type", "Meaning"), [(f"`{kind}`", when) for kind, when in errors.items()])


def _value(title: str, schema: Json, *, is_input: bool) -> str:
    """Describe an input or an output: its table, or its allowed values."""
    if "properties" in schema:
        return f"**{title}**\n\n{_table(schema, is_input=is_input)}".rstrip("\n")
    return f"**{title}**: {_type(schema)}."


def _table(schema: Json, *, is_input: bool) -> str:
    """Format the keys of an object; an output always has all of them, so it needs no defaults."""
    rows = [
        (f"`{name}`", _type(one), _meaning(one), _default(name, one, schema))
        for name, one in _properties(schema)
    ]
    head = ("Key", "Type", "Meaning", "Default")
    return _rows(head, rows) if is_input else _rows(head[:3], [row[:3] for row in rows])


def _properties(schema: Json) -> Iterator[tuple[str, Json]]:
    for name, one in _mapping(schema.get("properties")).items():
        yield name, _mapping(one)


def _meaning(schema: Json) -> str:
    also = [f"`{name}`" for name in cast("list[str]", schema.get(ALSO, []))]
    kind = schema.get(KIND)
    text = f"{schema.get('description', '')} {_KINDS.get(str(kind), '')}".strip()
    return f"{text} Also accepted as {' or '.join(also)}.".strip() if also else text


def _default(name: str, schema: Json, of: Json) -> str:
    if name in cast("list[str]", of.get("required", [])):
        return "required"
    value = schema.get("default")
    return "-" if value in (None, "", []) else f"`{value}`"


def _type(schema: Json) -> str:
    """Describe a schema in a few words; link objects to their tables."""
    match schema:
        case {"$ref": str(reference)}:
            name = reference.rpartition("/")[2]
            return "any JSON" if name == "JsonValue" else f"[{name}](#{name.lower()})"
        case {"anyOf": list(options)}:
            return " or ".join(_type(_mapping(one)) for one in options)
        case {"enum": list(values)}:
            return " or ".join(f"`{value}`" for value in values)
        case {"type": "array", "items": items}:
            return f"list of {_type(_mapping(items))}"
        case {"type": str(kind)}:
            return kind
        case _:
            return "any JSON"


def _rows(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(
        f"| {' | '.join(' '.join(cell.split()).replace('|', chr(92) + '|') for cell in line)} |\n"
        for line in lines
    )


def _mapping(value: object) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


if __name__ == "__main__":
    sys.stdout.write(tool_functions_page(known_contracts()))
