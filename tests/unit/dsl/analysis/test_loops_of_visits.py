"""How often loops of teams are visited: by the team that each round passes, or by two of them."""

import pytest

from tests.unit.dsl.analysis.documents import analysis
from tests.unit.dsl.analysis.test_worst_case import team, worst

TWO = "  max_recursion_depth: 2\n"


@pytest.mark.parametrize(
    ("document", "visits", "each"),
    [
        # entered beside the middle: one more of the others than of the middle
        (
            team("a", "b")
            + team("m", "b, c, d", more=TWO)
            + "".join(team(name, "m") for name in "bcd"),
            6,
            {"a": 1, "m": 2, "b": 3, "c": 2, "d": 2},
        ),
        # each round takes the longest of its ways
        (
            team("a", "b", more=TWO)
            + team("b", "c, e")
            + team("c", "d")
            + team("d", "a")
            + team("e", "a"),
            8,
            {"a": 2, "b": 2, "c": 2, "d": 2, "e": 2},
        ),
    ],
)
def test_each_round_of_a_loop_passes_its_middle(
    document: str, visits: int, each: dict[str, int]
) -> None:
    found = worst(document)
    assert found.total.visits == visits
    assert {name: figures.visits for name, figures in found.teams.items()} == each


def test_a_loop_is_bounded_by_two_teams_where_one_is_not_enough() -> None:
    ways = "".join(team(name, "c") for name in "defg")
    loop = team("b", "b, d, e, f, g", more=TWO) + ways + team("c", "c, b", more=TWO)
    assert worst(team("a", "b") + loop).total.visits == 1 + 4 + 4  # not two visits of each way


def test_what_a_branch_sets_is_there_where_the_branches_meet_and_after_it() -> None:
    set_x = "{ name: note, type: set, values: { n: '{{ context.x }}' } }"
    document = f"""
a:
  tasks: [WRITE]
  routing:
    rules:
      - {{ condition: all_success, next_team: [b, c], concentrator: m, merge: {{ x: replace }} }}
    default: null
b:
  tasks: [WRITE]
  routing: {{ rules: [{{ next_team: d }}] }}
c: {{ tasks: [WRITE] }}
d:
  tasks: [WRITE]
  routing: {{ default: null, context_updates: {{ x: 1 }} }}
m:
  type: concentrator
  tasks: [{set_x}]
  routing: {{ default: e }}
e: {{ tasks: [{set_x}] }}
"""
    assert "x" not in [one.path for one in analysis(document).inputs]


def test_a_team_that_reads_its_own_work_before_it_has_run_is_reported() -> None:
    note = "{ name: note, type: set, values: { n: '{{ teams.a.tasks.note.data }}' } }"
    problems = analysis(f"a: {{ tasks: [{note}] }}\n").findings
    assert [one.code for one in problems if one.code != "W520"] == ["W508"]
