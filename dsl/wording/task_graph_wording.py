"""Problems of task graphs."""

from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.wording.step_names import called

_BOUND = "add `max_iterations: 30` (attempts of all tasks) or `max_tasks: 20`"


@rule("E102")
def unbounded_graph(step: str) -> ProblemText:
    return ProblemText(f"{called(step, 'the task graph')} has no bound", fix=_BOUND)


@rule("E102")
def unbounded_additions(step: str) -> ProblemText:
    return ProblemText(
        f"`add` of {called(step, 'the task graph')} adds tasks without a maximum", fix=_BOUND
    )


@rule("E107")
def chosen_without_select(step: str) -> ProblemText:
    return ProblemText(
        f"`chosen` of {called(step, 'the task graph')} has no steps that choose",
        fix="add `select:` with a step that chooses, or remove `chosen`",
    )


@rule("E102")
def select_without_chosen(step: str) -> ProblemText:
    return ProblemText(
        f"the key 'chosen' is missing: nothing reads what `select` of {called(step)} chooses",
        fix='add `chosen: "{{ tasks.<step of select>.data.<field> }}"`',
    )


@rule("E106")
def no_recovery_steps(step: str) -> ProblemText:
    return ProblemText(
        f"`on_failed_task` of {called(step, 'the task graph')} is empty",
        "block, skip, ask, stop, or steps",
        "remove it: `block` is the default",
    )


@rule("E106")
def more_tasks_than_allowed(step: str, tasks: int, allowed: int) -> ProblemText:
    return ProblemText(
        f"{called(step, 'the task graph')} has {tasks} tasks, and `max_tasks` allows {allowed}",
        fix=f"write `max_tasks: {tasks}` or more",
    )


@rule("E105")
def unusable_task(note: str) -> ProblemText:
    return ProblemText(note, fix="correct the id or the dependency")
