"""`coterie limits`: every bound that counts, its value and its line."""

import json
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from coterie.cli import main
from tests.support.documents.layered import layered, place

SYSTEM = "config/system_config.yml"
PLANNER = "config/personas/planner.yml"
TEAM = "config/teams/report.yml"


@pytest.fixture
def bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> dict[tuple[str, str], tuple[Any, str]]:
    """`{(scope, name): (value, origin)}`."""
    monkeypatch.chdir(layered(tmp_path))
    assert main(["limits", "report", "--json"]) == 0
    rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    assert len({row["path"] for row in rows}) == len(rows)
    return {
        (row["scope"], row["name"]): (
            row["value"],
            f"{row['file']}:{row['line']}" if row["file"] else row["via"] or row["origin"],
        )
        for row in rows
    }


def test_every_bound_is_there_with_its_value_and_its_line(
    bounds: dict[tuple[str, str], tuple[Any, str]],
) -> None:
    run, write = "the whole run", "draft/plan/rounds/write"
    shared = {
        "agent.max_reasks": (2, "default"),
        "agent.timeout": (600.0, "default"),
        "agent.retries": (9, place("coterie.yml", "retries: 9")),
    }
    assert bounds == {
        (run, "max_total_teams"): (12, place("coterie.yml", "max_total_teams")),
        (run, "max_recursion_depth"): (7, place(TEAM, "max_recursion_depth: 7")),
        (run, "max_concurrent_branches"): (200, "default"),
        (run, "no_progress"): ("ignore", "default"),
        (run, "cancel_timeout"): (60.0, "default"),
        ("draft", "max_recursion_depth"): (2, place(TEAM, "max_recursion_depth: 2")),
        ("draft/first", "timeout"): (120.0, place(TEAM, "timeout: 2m")),
        ("draft/first", "retry.retries"): (1, place(TEAM, "retries: 1")),
        ("draft/first", "retry.interval"): (0.0, "default"),
        ("draft/first", "agent.max_tokens"): (50, place(TEAM, "max_tokens: 50")),
        **{("draft/first", name): value for name, value in shared.items()},
        ("draft/plan/look", "contract.timeout"): (120.0, "contract of Discovery.collect"),
        ("draft/plan/look", "contract.retries"): (2, "contract of Discovery.collect"),
        ("draft/plan/rounds", "max_iterations"): (3, place(PLANNER, "max_iterations")),
        ("draft/plan/rounds", "concurrency"): (1, "default"),
        (write, "agent.max_tokens"): (2000, place("coterie.yml", "max_tokens")),
        **{(write, name): value for name, value in shared.items()},
        ("draft/sign_off", "deadline"): (None, "default"),
        ("gather", "max_recursion_depth"): (7, place(TEAM, "max_recursion_depth: 7")),
        ("gather/over_all", "max_iterations"): (None, "default"),
        ("gather/over_all", "concurrency"): (1, "default"),
        ("gather/signalled", "deadline"): (3600.0, place(TEAM, "deadline: 1h")),
        ("command test", "timeout"): (90.0, place(SYSTEM, "timeout: 90s")),
        ("command lint", "timeout"): (300.0, "default"),
    }


def test_apparent_bound_is_not_a_limit(
    bounds: dict[tuple[str, str], tuple[Any, str]],
) -> None:
    """An input, a variable and a context field may be called timeout or deadline."""
    values = [value for value, _ in bounds.values()]
    assert 5 not in values
    assert ("gather/over_all/note", "deadline") not in bounds


def test_bounds_as_people_read_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(layered(tmp_path))
    assert main(["limits", "report"]) == 0
    assert capsys.readouterr().out == snapshot("""\
the whole run
  max_total_teams          12      team visits in one run                                    coterie.yml:5
  max_recursion_depth      7       visits of any one team in one run                         config/teams/report.yml:3
  no_progress              ignore  when a team is entered again with nothing new to look at  default
  max_concurrent_branches  200     branches at the same time in one run                      default
  cancel_timeout           1 min   for what a cancelled run still does                       default

draft
  max_recursion_depth  2  visits of this team in one run  config/teams/report.yml:6

draft/first
  timeout           2 min   for one attempt of the step                       config/teams/report.yml:14
  retry.retries     1       more attempts of the step after a failure         config/teams/report.yml:15
  retry.interval    0 s     before the next attempt                           default
  agent.max_tokens  50      tokens in one answer                              config/teams/report.yml:12 (the task's config)
  agent.max_reasks  2       times that an unusable answer is asked for again  default
  agent.timeout     10 min  for one answer of the model                       default
  agent.retries     9       more attempts while the provider cannot answer    coterie.yml:3 (persona writer)

draft/plan/look
  contract.retries  2      more attempts of the call          contract of Discovery.collect
  contract.timeout  2 min  for one call of the tool function  contract of Discovery.collect

draft/plan/rounds
  max_iterations  3  rounds          config/personas/planner.yml:8
  concurrency     1  rounds at once  default

draft/plan/rounds/write
  agent.max_tokens  2,000   tokens in one answer                              coterie.yml:3 (persona writer)
  agent.max_reasks  2       times that an unusable answer is asked for again  default
  agent.timeout     10 min  for one answer of the model                       default
  agent.retries     9       more attempts while the provider cannot answer    coterie.yml:3 (persona writer)

draft/sign_off
  deadline  none  for a person to decide  default

gather
  max_recursion_depth  7  visits of this team in one run  config/teams/report.yml:3 (orchestration.max_recursion_depth)

gather/over_all
  max_iterations  as long as the list  rounds          default
  concurrency     1                    rounds at once  default

gather/signalled
  deadline  1 h  for the signal or message to come  config/teams/report.yml:32

command test
  timeout  1 min 30 s  for one run of the command  config/system_config.yml:9

command lint
  timeout  5 min  for one run of the command  default
""")  # noqa: E501
