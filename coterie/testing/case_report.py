"""Format test results as text and JSON: a line for each case, and the reasons if it failed."""

from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from coterie.dsl.model.plan import Plan
from coterie.rendering.run_text import trail_line
from coterie.testing.case_runner import CaseResult
from coterie.text.lines import text_of
from coterie.text.problems import counted


def result_text(result: CaseResult, *, trail: bool = False) -> str:
    """Format a case: its line, its differences, and on request the trail of a failed one."""
    mark = "ok  " if result.passed else "FAIL"
    lines = [f"{mark}  {result.file}  {result.case}  ({result.seconds:.1f} s)"]
    lines += _differences(result)
    if trail and not result.passed:
        lines += [f"      {trail_line(entry)}" for entry in result.trail]
    return text_of(lines)


def _differences(result: CaseResult) -> Iterator[str]:
    for difference in result.differences:
        yield f"      {difference.subject}: {difference.message}"
        yield from (f"      {line}" for line in difference.lines)


def summary_text(results: Sequence[CaseResult]) -> str:
    """Count the cases, and those that failed."""
    failed = sum(not result.passed for result in results)
    files = counted(len({result.file for result in results}), "file")
    summary = f"{counted(len(results), 'case')} in {files}: "
    return summary + (f"{failed} failed" if failed else "all as expected")


def untested_events(plan: Plan, results: Sequence[CaseResult]) -> dict[str, str]:
    """Return `{team: its event}` of the teams with an `event` that no case ran."""
    ran = {entry.team for result in results for entry in result.trail if entry.kind == "team"}
    return {
        team.id: team.event
        for team in plan.teams.values()
        if team.event is not None and team.id not in ran
    }


def untested_text(file: str, events: Mapping[str, str]) -> str:
    """Say which events of teams no case of a file has."""
    return text_of(
        f"{file}: no case runs the team {team!r}, so its event {event!r} is not tested"
        for team, event in events.items()
    )


def result_json(result: CaseResult) -> dict[str, JsonValue]:
    """Return the form of a result for `--json`."""
    return {
        "file": result.file,
        "case": result.case,
        "passed": result.passed,
        "seconds": round(result.seconds, 3),
        "differences": [difference.as_dict() for difference in result.differences],
    }
