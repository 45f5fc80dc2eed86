"""Format what `coterie doctor` found."""

import json
from collections.abc import Mapping, Sequence

from coterie.doctor.checkup import Finding, Level
from coterie.dsl.visible import one_line
from coterie.text.columns import aligned
from coterie.text.lines import text_of
from coterie.text.problems import counted

_MARKS: Mapping[Level, str] = {
    Level.OK: "✓",
    Level.OPTIONAL: "-",
    Level.WARNING: "!",
    Level.PROBLEM: "✗",
}


def doctor_text(findings: Sequence[Finding]) -> str:
    """Format the findings as a table, each fix below its finding, and the counts at the end."""
    rows: list[tuple[str, str, str]] = []
    for finding in findings:
        rows.append((_MARKS[finding.level], finding.topic, one_line(finding.text)))
        if finding.fix:
            rows.append(("", "", f"fix: {one_line(finding.fix)}"))
    return text_of([*aligned(rows), "", _counts(findings)])


def _counts(findings: Sequence[Finding]) -> str:
    problems, warnings = (
        sum(finding.level is level for finding in findings)
        for level in (Level.PROBLEM, Level.WARNING)
    )
    return f"{counted(problems, 'problem')}, {counted(warnings, 'warning')}"


def doctor_json(findings: Sequence[Finding]) -> str:
    """Format the findings as a JSON list."""
    return json.dumps([finding._asdict() for finding in findings], indent=2, ensure_ascii=False)
