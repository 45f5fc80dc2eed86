"""Records what is reported of documents with one change each.

    python -m tests.support.documents.record_changes [--more]

Writes the reports of the recorded changes anew. With `--more` it also invents changes for documents
that have none: it takes parts from other documents and keeps a change that shows something new.
"""

import json
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from coterie.dsl.values import Json
from tests.support.documents.changed_documents import (
    RECORDS,
    Change,
    KeyPath,
    read,
    records,
    report,
    sources,
)

_VALUES: tuple[JsonValue, ...] = (
    0, 1, 2, -1, 3.5, True, False, None, "", "x", "{{ context.x }}", "{{ tasks.nope.data }}",
    "1h", [], {}, "fail", "ask", "all_success", "any_failure",
)  # fmt: skip


def _places(value: JsonValue, at: KeyPath = ()) -> Iterator[tuple[KeyPath, JsonValue]]:
    if at:
        yield at, value
    match value:
        case dict():
            for key, item in value.items():
                yield from _places(item, (*at, key))
        case list():
            for index, item in enumerate(value):
                yield from _places(item, (*at, index))
        case _:
            pass


Parts = dict[str, list[tuple[str, JsonValue]]]


def _parts(documents: Sequence[Json]) -> Parts:
    """The keys that mappings of a kind have, with their values: by what the mapping is."""
    found: Parts = {}
    for document in documents:
        for at, value in _places(document):
            if isinstance(value, dict):
                found.setdefault(_kind(at), []).extend(value.items())
    return found


def _kind(at: KeyPath) -> str:
    """`#` in `tasks` is a step, a key of `teams` is a team, and so on."""
    for key in reversed(at):
        if key in ("tasks", "steps", "finally", "catch", "branches", "execution_plan"):
            return "step"
        if key in ("rules", "routing", "teams", "personas", "tools", "limits", "budgets", "terms"):
            return str(key)
    return str(at[0]) if at else ""


def _invent(chance: random.Random, document: Json, parts: Parts) -> Change:
    at, value = chance.choice(list(_places(document)))
    way = chance.random()
    if isinstance(value, dict) and way < 0.75:
        pool = parts.get(_kind(at))
        if pool:
            key, part = chance.choice(pool)
            return Change((*at, key), part)
    if way < 0.15:
        return Change(at, goes=True)
    if way < 0.3 and not isinstance(value, dict | list):
        return Change(at, chance.choice(_VALUES))
    pool = [part for key, part in parts.get(_kind(at[:-1]), []) if key == at[-1]]
    return Change(at, chance.choice(pool)) if pool else Change(at, chance.choice(_VALUES))


def _shows(report: Json) -> set[str]:
    """What is new about a report if no earlier one has it: codes, details, kinds of figures."""
    problems = cast("list[str]", report["problems"])
    shown: set[str] = set()
    for one in problems:
        code, _, rest = one.partition(" ")
        shown.add(code)
        kind = rest.partition("(")[0].rpartition(" ")[2]
        place = rest.split(" ")[1] if " " in rest else rest
        last = [part for part in place.split(".") if not part.isdigit()][-1:]
        shown.add(f"{code} {kind} {last}")
    if "plan" in report:
        shown.add(f"total {report['total']}")
        shown.add(f"teams {sorted(map(str, cast('Json', report['teams']).values()))}")
        shown.add(
            f"needs {len(cast('Json', report['needs']))} {len(cast('list[str]', report['inputs']))}"
        )
    return shown


def _invented(file: Path, parts: Parts, seen: set[str], tries: int, most: int) -> list[Change]:
    chance = random.Random(file.stem)
    document = read(file)
    found: list[Change] = []
    for _ in range(tries):
        change = _invent(chance, document, parts)
        try:
            shown = _shows(report(change.applied(document)))
        except (LookupError, TypeError, RecursionError):
            continue
        if len(found) < most and not shown <= seen:
            found.append(change)
            seen |= shown
    return found


def main() -> None:
    """Write the reports anew, or invent changes as well."""
    documents = {file: read(file) for file in sources()}
    parts = _parts(list(documents.values())) if "--more" in sys.argv else {}
    seen: set[str] = set()
    RECORDS.mkdir(exist_ok=True)
    for file, document in documents.items():
        changes = [change for change, _ in records(file)]
        if not changes and "--more" in sys.argv:
            changes = _invented(file, parts, seen, tries=60, most=12)
        rows: list[str] = []
        for change in changes:
            row: Json = {"at": list(change.at)}
            row |= {"goes": True} if change.goes else {"to": change.to}
            row["report"] = report(change.applied(document))
            rows.append(json.dumps(row, ensure_ascii=False) + "\n")
        if rows:
            (RECORDS / f"{file.parent.name}.{file.stem}.jsonl").write_text("".join(rows))
        sys.stdout.write(f"{file.name}: {len(rows)}\n")


if __name__ == "__main__":
    main()
