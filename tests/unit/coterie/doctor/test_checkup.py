"""What the doctor says of each fact, and what it advises."""

from datetime import UTC, datetime

import pytest

from coterie.activities.extra_packages import install_command
from coterie.doctor.checkup import (
    EXTRAS,
    Finding,
    Level,
    clock_finding,
    disk_finding,
    extra_findings,
    fails,
    key_findings,
    python_finding,
    sandbox_finding,
    system_finding,
)
from coterie.doctor.doctor_text import doctor_text
from coterie.doctor.examination import clock_skew, missing_packages
from coterie.dsl.model.sections.worker_document import SandboxMode

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
BROKEN = "user namespaces are not allowed"


def sandbox(mode: SandboxMode, problem: str | None, *, commands: bool = True) -> Finding:
    return sandbox_finding(mode, has_commands=commands, problem=problem)


@pytest.mark.parametrize(
    ("finding", "level", "words"),
    [
        (python_finding((3, 10), "/py"), Level.PROBLEM, "3.10 at /py"),
        (python_finding((3, 11), "/py"), Level.OK, "3.11 at /py"),
        (python_finding((3, 14), "/py"), Level.OK, "3.14 at /py"),
        (python_finding((3, 15), "/py"), Level.WARNING, "3.15 at /py"),
        (system_finding("Linux"), Level.OK, "Linux"),
        (system_finding("Darwin"), Level.WARNING, "without a sandbox"),
        (system_finding("Windows"), Level.PROBLEM, "not supported"),
        (sandbox("auto", None), Level.OK, "bubblewrap works"),
        (sandbox("none", None), Level.OK, "`worker.sandbox: none` does not use it"),
        (sandbox("bubblewrap", BROKEN), Level.PROBLEM, "`worker.sandbox` requires it"),
        (sandbox("auto", BROKEN), Level.WARNING, "commands run without a sandbox"),
        (sandbox("auto", BROKEN, commands=False), Level.OPTIONAL, BROKEN),
        (sandbox("none", BROKEN), Level.OPTIONAL, BROKEN),
        (disk_finding("/d", 5_000_000_000, None), Level.OK, "5.0 GB free"),
        (disk_finding("/d", 500_000_000, None), Level.WARNING, "0.5 GB free"),
        (disk_finding("/d", 50_000_000, None), Level.PROBLEM, "/d"),
        (disk_finding("/d", None, None), Level.WARNING, "unknown"),
        (disk_finding("/d", 5_000_000_000, "/d is not a folder"), Level.PROBLEM, "not a folder"),
        (clock_finding({}), Level.OPTIONAL, "not compared"),
        (clock_finding({"a": 2.0}), Level.OK, "within 30 s of a"),
        (clock_finding({"a": 400.0, "b": 401.0, "c": -1.0}), Level.WARNING, "400 s ahead of a"),
        (clock_finding({"a": -90.0}), Level.WARNING, "90 s behind a"),
    ],
)
def test_each_fact_is_judged(finding: Finding, level: Level, words: str) -> None:
    assert finding.level is level
    assert words in finding.text
    if level in (Level.PROBLEM, Level.WARNING):
        assert finding.fix or finding.text.endswith("unknown")


def test_an_extra_is_a_problem_only_where_the_project_needs_it() -> None:
    first, *rest = extra_findings({"mcp": ("mcp",), "ui": ("textual",)}, {"mcp": "`mcp_servers`"})
    assert (first.level, "mcp" in first.text) == (Level.OK, False)
    assert [(one.level, one.fix) for one in rest] == [
        (Level.OPTIONAL, install_command("ui")),
        (Level.PROBLEM, install_command("mcp")),
    ]
    assert "`mcp_servers` needs it" in rest[1].text


def test_a_key_is_known_by_its_name_alone() -> None:
    variables = {"anthropic": "A_KEY", "mine": "M_KEY", "openai": "O_KEY", "local": None}
    findings = list(key_findings(variables, ["mine", "local"], ["A_KEY"]))
    assert [one.level for one in findings] == [
        Level.OK,
        Level.WARNING,
        Level.OPTIONAL,
        Level.OK,
    ]
    assert findings[1].fix == "export M_KEY=..."


def test_the_extras_of_the_wheel_are_those_that_are_explained() -> None:
    """The environment of the tests has every extra, also those that extras of others bring."""
    assert missing_packages(EXTRAS) == {}
    assert missing_packages(["no-such-extra"]) == {}


@pytest.mark.parametrize(
    ("header", "skew"),
    [
        ("Sun, 01 Mar 2026 12:00:00 GMT", 0.0),
        ("Sun, 01 Mar 2026 11:58:30 GMT", 90.0),
        ("tomorrow", None),
        ("Sun, 01 Mar 2026 12:00:00", None),
        (None, None),
    ],
)
def test_the_clock_is_compared_with_the_date_of_an_answer(
    header: str | None, skew: float | None
) -> None:
    assert clock_skew(header, NOW) == skew


def test_each_fix_stands_below_its_finding_and_no_text_adds_a_line() -> None:
    findings = [
        Finding("disk", Level.OK, "fine"),
        Finding("project", Level.PROBLEM, "bad\n✓ disk fine", "coterie validate"),
    ]
    assert fails(findings)
    assert not fails(findings[:1])
    lines = doctor_text(findings).splitlines()
    assert lines[0].startswith("✓  disk")
    assert lines[1].startswith("✗  project  bad")
    assert lines[2].strip() == "fix: coterie validate"
    assert lines[-1] == "1 problem, 0 warnings"
    assert len(lines) == 5
