"""Results of tests as text and as JSON: a line for each case, and below a failed one why."""

from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from coterie.rendering.run_text import trail_line
from coterie.testing.test_runner import CaseResult
from coterie.text.lines import text_of
from coterie.text.problems import counted


def result_text(result: CaseResult, *, trail: bool = False) -> str:
    """A case's line, each difference below it, and if asked for what happened in a failed one."""
    mark = "ok  " if result.passed else "FAIL"
    lines = [f"{mark}  {result.file}  {result.case}  ({result.seconds:.1f} s)"]
    lines += _differences(result)
    if trail and not result.passed:
        lines += [f"      {trail_line(entry)}" for entry in result.trail]
    return text_of(lines)


def _differences(result: CaseResult) -> Iterator[str]:
    for difference in result.differences:
        yield f"      {difference.place}: {difference.message}"
        yield from (f"      {line}" for line in difference.lines)


def summary_text(results: Sequence[CaseResult]) -> str:
    """How many cases, and how many of them failed."""
    failed = sum(not result.passed for result in results)
    files = counted(len({result.file for result in results}), "file")
    told = f"{counted(len(results), 'case')} in {files}: "
    return told + (f"{failed} failed" if failed else "all as expected")


def result_json(result: CaseResult) -> dict[str, JsonValue]:
    """The form of a result that `--json` prints."""
    return {
        "file": result.file,
        "case": result.case,
        "passed": result.passed,
        "seconds": round(result.seconds, 3),
        "differences": [difference.as_dict() for difference in result.differences],
    }
