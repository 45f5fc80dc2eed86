from pydantic import JsonValue

from coterie.dsl.json_values import json_equal
from coterie.dsl.task_graph.graph_tasks import MAX_NOTES, GraphTask, TaskNote, TaskNotes
from coterie.dsl.task_graph.task_because import note_words
from coterie.dsl.task_graph.task_reading import MAX_ID_LENGTH, read_tasks
from tests.support.measured import cpu_seconds


def _read(
    items: list[JsonValue], known: tuple[str, ...] = (), room: int = 100, size: int = 100_000
) -> tuple[list[GraphTask], list[str]]:
    notes = TaskNotes()
    tasks = read_tasks(items, known, notes, room=room, size_left=size)
    return tasks, [note_words(note) for note in notes.kept]


def _shape(tasks: list[GraphTask]) -> dict[str, list[str]]:
    return {task.id: task.dependencies for task in tasks}


def test_tasks_keep_their_own_json_and_their_written_order() -> None:
    items: list[JsonValue] = [
        {"id": "b", "description": "second", "dependencies": ["a"], "tools": ["x"]},
        {"id": "a", "description": "first"},
    ]
    tasks, notes = _read(items)
    assert json_equal(
        [task.value for task in tasks],
        [
            {"id": "b", "description": "second", "dependencies": ["a"], "tools": ["x"]},
            {"id": "a", "description": "first", "dependencies": []},
        ],
    )
    assert notes == []


def test_ids_become_texts() -> None:
    tasks, notes = _read([{"id": 1}, {"id": " 2 ", "dependencies": [1]}, {"dependencies": 2}])
    assert _shape(tasks) == {"1": [], "2": ["1"], "task_3": ["2"]}
    assert notes == ["a task without an id is called 'task_3'"]


def test_an_id_that_is_no_text_is_replaced() -> None:
    tasks, notes = _read([{"id": ["x"]}, {"id": "y" * 300}])
    assert [task.id for task in tasks] == ["task_1", "y" * MAX_ID_LENGTH]
    assert len(notes) == 2


def test_a_task_that_closes_a_cycle_with_every_other_costs_little() -> None:
    number = 40_000
    chain: list[JsonValue] = [{"id": n, "dependencies": [n - 1]} for n in range(1, number)]
    items: list[JsonValue] = [{"id": 0, "dependencies": list(range(1, number))}, *chain]

    def read() -> None:
        notes = TaskNotes()
        tasks = read_tasks(items, (), notes, room=number, size_left=10_000_000)
        assert tasks[0].dependencies == [] or tasks[1].dependencies == []

    assert cpu_seconds(read, 3.0) < 3.0  # 6 seconds where each is looked for anew


def test_an_unknown_dependency_is_dropped_with_a_note() -> None:
    tasks, notes = _read([{"id": "a", "dependencies": ["nowhere", {"x": 1}]}])
    assert _shape(tasks) == {"a": []}
    assert notes[0] == "'a' depends on 'nowhere', which does not exist; the dependency was dropped"
    assert len(notes) == 2


def test_a_duplicate_is_renamed_to_a_name_that_nobody_wrote() -> None:
    tasks, _ = _read([{"id": "a"}, {"id": "a"}, {"id": "a_2", "dependencies": ["a"]}, {"id": "a"}])
    assert _shape(tasks) == {"a": [], "a_3": [], "a_2": ["a"], "a_4": []}


def test_a_rename_leaves_a_note_and_a_long_name_is_shortened_in_it() -> None:
    notes = TaskNotes()
    read_tasks([{"id": "a"}, {"id": "a"}], (), notes, room=9, size_left=1000)
    assert notes.kept == [TaskNote("duplicate_id", "a_2", "a")]
    shown = [note_words(TaskNote("id_missing", "x" * length)) for length in (60, 61)]
    assert shown == [f"a task without an id is called '{'x' * 60}{end}'" for end in ("", "...")]


def test_only_the_cycle_is_broken() -> None:
    tasks, notes = _read(
        [
            {"id": "a", "dependencies": ["c", "start"]},
            {"id": "b", "dependencies": ["a"]},
            {"id": "c", "dependencies": ["b"]},
            {"id": "start"},
            {"id": "self", "dependencies": ["self", "c"]},
        ]
    )
    assert _shape(tasks) == {
        "a": ["start"],
        "b": ["a"],
        "c": ["b"],
        "start": [],
        "self": ["c"],
    }
    assert sorted(notes) == [
        "the dependency of 'a' on 'c' closed a cycle, and was dropped",
        "the dependency of 'self' on 'self' closed a cycle, and was dropped",
    ]


def test_added_tasks_mean_their_own_list_before_the_graph() -> None:
    items: list[JsonValue] = [{"id": "a"}, {"id": "b", "dependencies": ["a", "old"]}]
    tasks, _ = _read(items, known=("a", "old"))
    assert _shape(tasks) == {"a_2": [], "b": ["old", "a_2"]}


def test_what_is_no_task_is_left_out() -> None:
    tasks, notes = _read(["do it", {"id": "a"}, None])
    assert [task.id for task in tasks] == ["a"]
    assert notes[0] == "item 1 is not a mapping ('do it'), and was left out"


def test_what_has_no_room_is_left_out_with_all_that_depends_on_it() -> None:
    items: list[JsonValue] = [{"id": "a", "dependencies": ["c"]}, {"id": "b"}, {"id": "c"}]
    tasks, notes = _read(items, room=2)
    assert [task.id for task in tasks] == ["b"]
    assert notes == [
        "'c' was left out: the graph has its maximum number of tasks",
        "'a' was left out, because it depends on a task that was left out",
    ]


def test_tasks_that_are_too_large_together_are_left_out() -> None:
    tasks, notes = _read([{"id": "a", "text": "x" * 50}, {"id": "b", "text": "x" * 50}], size=120)
    assert [task.id for task in tasks] == ["a"]
    assert notes == ["'b' was left out: the tasks of the graph are too large together"]


def test_notes_are_bounded_and_counted() -> None:
    notes = TaskNotes()
    read_tasks([1] * 200, (), notes, room=10)
    assert len(notes.kept) == MAX_NOTES
    assert notes.more == 200 - MAX_NOTES
