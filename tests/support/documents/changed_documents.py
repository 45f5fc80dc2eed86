"""Real documents with one change each, and what the language reports about them.

A record holds the change itself, so it stays the same when documents are added. `python -m
tests.support.documents.record_changes` writes what is reported anew.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import yaml
from pydantic import JsonValue

from coterie.dsl.analysis.findings import Analysis, analysed, warnings
from coterie.dsl.analysis.worst_case import Figures, worst_case
from coterie.dsl.analysis.worst_case_of_models import Terms
from coterie.dsl.compile.compiler import Compiled
from coterie.dsl.errors import InvalidDocument, Problem
from coterie.dsl.model.price import Price
from coterie.dsl.source.yaml_reader import read as read_yaml
from coterie.dsl.values import Json
from tests.support.compiling import compiled
from tests.support.places import DATA, ROOT

RECORDS = DATA / "changed_documents"
FOLDERS = ("examples/language", "tests/replay/cases", "config/scripted")
_PRICE = Price(input=3.0, output=15.0)

KeyPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """One value of a document that becomes another one, or goes."""

    at: KeyPath
    to: JsonValue = None
    goes: bool = False

    def applied(self, document: Json) -> Json:
        """Return the document with the change.

        Raises:
            LookupError: The document no longer has the place.
        """
        changed = cast("Json", json.loads(json.dumps(document)))
        holder: Any = changed
        for key in self.at[:-1]:
            holder = holder[key]
        if self.goes:
            del holder[self.at[-1]]
        else:
            holder[self.at[-1]] = self.to
        return changed


def sources() -> list[Path]:
    """The documents, each a file that needs no other one."""
    files = (file for folder in FOLDERS for file in sorted((ROOT / folder).glob("*.yml")))
    return [
        file
        for file in files
        if not file.name.endswith((".test.yml", ".script.yml"))
        and "include:" not in file.read_text()
    ]


def read(file: Path) -> Json:
    """Read a document as the language does: the key `on` of a hook is a text there."""
    return cast("Json", read_yaml(file.read_text(), file.name).plain())


def report(document: Json) -> Json:
    """Return what the compiler and the analysis tell about a document, without their words."""
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)
    try:
        done = compiled(text)
    except InvalidDocument as error:
        return {"problems": [_problem(one) for one in error.problems]}
    found = analysed(done)
    return {
        "problems": [_problem(one) for one in warnings(done, found)],
        "plan": done.plan.digest[:12],
        **_analysis(done, found),
    }


def _problem(problem: Problem) -> str:
    place = ".".join(map(str, problem.location)) or problem.path
    details = "" if problem.details is None else f" {problem.details!r}"
    return f"{problem.code} {problem.line}:{problem.column} {place}{details}"


def _analysis(done: Compiled, found: Analysis) -> Json:
    asked = (one for one in done.plan.personas.values() if one.provider)
    models = {f"{one.provider}/{one.model}" for one in asked}
    worst = worst_case(
        done, found, Terms(dict.fromkeys(sorted(models)[:-1] or models, _PRICE), 1_000)
    )
    return {
        "inputs": [
            f"{one.path} {'needed' if one.needed else 'optional'} {one.mark.line}:{one.mark.column}"
            for one in found.inputs
        ],
        "needs": dict(found.needs),
        "total": _figures(worst.total),
        "teams": {name: _figures(one) for name, one in worst.teams.items()},
        "models": {name: _number(one) for name, one in worst.models.items()},
        "message": None if worst.message is None else _figures(worst.message),
        "unbounded": [str(one) for one in worst.unbounded],
    }


def _figures(one: Figures) -> list[JsonValue]:
    counts = (one.visits, one.model_calls, one.function_calls, one.approvals, one.output_tokens)
    return [*map(_number, counts), _number(round(one.cost, 6))]


def _number(value: float) -> JsonValue:
    return value if math.isfinite(value) else "unbounded"


def records(file: Path) -> list[tuple[Change, Json]]:
    """Read what is recorded of a document: each change with its report."""
    found = RECORDS / f"{file.parent.name}.{file.stem}.jsonl"
    if not found.exists():
        return []
    rows = [cast("Json", json.loads(line)) for line in found.read_text().splitlines()]
    return [
        (
            Change(
                tuple(cast("list[str | int]", row["at"])),
                row.get("to"),
                bool(row.get("goes", False)),
            ),
            cast("Json", row["report"]),
        )
        for row in rows
    ]
