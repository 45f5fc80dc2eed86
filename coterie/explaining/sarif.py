"""Problems as SARIF 2.1.0, which editors and code reviews show at their lines, with their fixes."""

from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import quote

from pydantic import JsonValue

from coterie.documents.fixes import Region
from coterie.dsl.errors import Problem
from coterie.dsl.values import Json
from coterie.explaining.code_pages import code_page
from coterie.version import own_version


def sarif_log(problems: Sequence[Problem], region_of: Callable[[Problem], Region | None]) -> Json:
    """Return one run with a result for each problem.

    Args:
        problems: Of the documents that were read.
        region_of: Returns what the fix of a problem replaces, if it has one that is certain.
    """
    codes = sorted({problem.code for problem in problems})
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "coterie",
                        "semanticVersion": own_version(),
                        "rules": [_rule(code) for code in codes],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [
                    _result(problem, codes.index(problem.code), region_of(problem))
                    for problem in problems
                ],
            }
        ],
    }


def _rule(code: str) -> JsonValue:
    title, _, rest = (code_page(code) or code).partition("\n")
    page = rest.strip() or title
    return {
        "id": code,
        "shortDescription": {"text": title.removeprefix(code).strip() or code},
        "fullDescription": {"text": page.partition("\n\n")[0]},  # GitHub requires one
        "help": {"text": page, "markdown": page},
    }


def _result(problem: Problem, number: int, region: Region | None) -> JsonValue:
    parts = (problem.message, problem.allowed and f"allowed: {problem.allowed}", problem.fix)
    place: JsonValue = {
        "physicalLocation": {
            "artifactLocation": _file(problem),
            "region": {"startLine": problem.line, "startColumn": problem.column},
        },
        "logicalLocations": [{"fullyQualifiedName": problem.path}],
    }
    result: dict[str, JsonValue] = {
        "ruleId": problem.code,
        "ruleIndex": number,
        "level": problem.severity,
        "message": {"text": "; ".join(part for part in parts if part)},
        "locations": [place],
    }
    if region is not None:
        result["fixes"] = [_fix(problem, region)]
    return result


def _fix(problem: Problem, region: Region) -> JsonValue:
    return {
        "description": {"text": problem.fix or "write the value in its form"},
        "artifactChanges": [
            {
                "artifactLocation": _file(problem),
                "replacements": [
                    {
                        "deletedRegion": {
                            "startLine": region.line,
                            "startColumn": region.column,
                            "endLine": region.end_line,
                            "endColumn": region.end_column,
                        },
                        "insertedContent": {"text": region.text},
                    }
                ],
            }
        ],
    }


def _file(problem: Problem) -> JsonValue:
    path = Path(problem.file)
    return {"uri": path.as_uri() if path.is_absolute() else quote(path.as_posix())}
