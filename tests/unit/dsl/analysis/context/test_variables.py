"""Variables and tasks that are read before a step can have set them."""

import pytest

from tests.unit.dsl.analysis.documents import analysis


def note(name: str, text: str) -> str:
    return f"{{ name: {name}, type: set, values: {{ {name}: '{{{{ {text} }}}}' }} }}"


SETS = "{ name: s, type: set, values: { v: 1 } }"
SETS_I = "{ name: s, type: set, values: { i: 1 } }"
READS = note("r", "v")


def early(tasks: str) -> list[str]:
    """The places, below the tasks, of what is read too early."""
    found = analysis(f"a: {{ tasks: [{tasks}] }}\n").findings
    return [one.path.partition(".tasks")[2] for one in found if one.code == "W509"]


def loop(kind: str, body: str) -> str:
    return f"{{ name: l, {kind}, body: [{body}] }}"


OVER = "iterate_on: [1, 2], loop_variable: i"
OVER_O = "iterate_on: [1, 2], loop_variable: o"


@pytest.mark.parametrize(
    ("tasks", "count"),
    [
        (f"{SETS}, {READS}", 0),
        (f"{READS}, {SETS}", 1),
        # once a variable, however often it is read
        (f"{READS}, {note('q', 'v')}, {SETS}", 1),
        # an earlier round has set it, unless there is none or rounds do not see each other
        (loop(OVER, f"{READS}, {SETS}"), 0),
        (loop(f"{OVER}, concurrency: 2", f"{READS}, {SETS}"), 1),
        (loop(f"{OVER}, max_iterations: 1", f"{READS}, {SETS}"), 1),
        (loop(f"{OVER}, max_iterations: 2", f"{READS}, {SETS}"), 0),
        (loop("iterate_on: [1], loop_variable: i", f"{READS}, {SETS}"), 1),
        # what a loop sets stays, but for its item and for what concurrent rounds set
        (f"{loop(OVER, SETS)}, {READS}", 0),
        (f"{loop(f'{OVER}, concurrency: 2', SETS)}, {READS}", 1),
        (f"{loop(OVER, SETS)}, {note('r', 'i')}", 1),
        (loop(OVER, note("r", "i")), 0),
        (f"{loop(OVER, SETS_I)}, {note('r', 'i')}", 1),
        (f"{loop(f'{OVER}, timeout: 1h', SETS_I)}, {note('r', 'i')}", 0),
        (f"{note('o', '1')}, {loop(OVER_O, SETS)}, {note('r', 'o')}", 0),
    ],
)
def test_a_variable_is_read_after_a_step_that_sets_it(tasks: str, count: int) -> None:
    assert len(early(tasks)) == count


def graph(body: str = "", select: str = "", failed: str = "", more: str = "") -> str:
    parts = {"select": select, "on_failed_task": failed}
    lists = "".join(f"{key}: [{steps}], " for key, steps in parts.items() if steps)
    chosen = "chosen: a, " if select else ""
    plain = "{ name: p, type: set, values: { z: 1 } }"
    return (
        f"{{ name: g, type: task_graph, tasks: [{{ id: a }}, {{ id: b }}], task_variable: t, "
        f"{lists}{chosen}{more}body: [{body or plain}] }}"
    )


ADDS = "max_tasks: 9, add: '{{ v }}', "


@pytest.mark.parametrize(
    ("tasks", "count"),
    [
        (graph(note("r", "t.id")), 0),
        (f"{graph()}, {note('r', 't.id')}", 1),
        (graph(f"{READS}, {SETS}"), 1),
        (graph(f"{SETS}, {READS}"), 0),
        (f"{graph(SETS)}, {READS}", 1),
        (f"{graph(select=SETS)}, {READS}", 0),
        (graph(READS, select=SETS), 0),
        (graph(SETS, failed=READS), 0),
        (f"{graph(failed=READS)}, {SETS}", 1),
        (graph(SETS, more=ADDS), 0),
        (f"{graph(more=ADDS)}, {SETS}", 1),
    ],
)
def test_each_task_of_a_graph_has_variables_of_its_own(tasks: str, count: int) -> None:
    assert len(early(tasks)) == count
