"""Problems of approvals, in words."""

from collections.abc import Collection

from coterie.dsl.errors import listed, nearest, replaced_by_nearest
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.wording.step_names import called


def question_of_no_progress() -> str:
    return "the question of `no_progress`"


def question_of_egress() -> str:
    return "the question of `egress_approval`"


def approval_of_tool(name: str) -> str:
    return f"the approval of the tool {name!r}"


def approval_before_step(name: str) -> str:
    return f"the approval of {called(name)}"


@rule("E105")
def team_named_as_outcome(name: str, outcomes: Collection[str]) -> ProblemText:
    return ProblemText(
        f"no team can be called {name!r}",
        f"a name other than {listed(outcomes)}, which `on_timeout` of an approval means",
    )


@rule("E201")
def unknown_timeout_route(
    question: str, value: str, outcomes: Collection[str], teams: Collection[str] | None
) -> ProblemText:
    known = listed(outcomes)
    if teams is not None:
        known = f"reject, approve, fail, or a team ({listed(teams)})"
    return ProblemText(
        f"{question}: 'on_timeout' is {value!r}",
        known,
        nearest(value, (*outcomes, *(teams or ()))),
        edit=replaced_by_nearest(value, (*outcomes, *(teams or ()))),
    )


@rule("E105")
def egress_by_silence() -> ProblemText:
    return ProblemText(
        "`on_timeout: approve` is not allowed here: only a person lets private data out",
        "reject, fail",
        "write `on_timeout: reject`",
    )


@rule("E107")
def egress_remembered() -> ProblemText:
    return ProblemText(
        "an approval of `egress_approval` covers one call with its arguments only",
        fix="remove `remember`; add `grants` to a tool that may always send",
    )


@rule("W502")
def no_deadline(question: str) -> ProblemText:
    return ProblemText(
        f"{question} has no deadline: it may wait forever",
        fix="add `deadline: 3d` and `on_timeout: reject`",
    )


@rule("W502")
def no_deadline_of_no_progress() -> ProblemText:
    return ProblemText(
        "the question of `no_progress` has no deadline: it may wait forever",
        fix="write `no_progress: {ask: {deadline: 3d}}`",
    )


@rule("E106")
def quorum_of_unnamed(question: str, quorum: int) -> ProblemText:
    return ProblemText(
        f"{question}: {quorum} people must approve, and `approvers` names nobody, so one person "
        "could approve under several names",
        fix="name who may decide in `approvers`",
    )


@rule("E106")
def quorum_too_large(question: str, quorum: int, people: int) -> ProblemText:
    return ProblemText(
        f"{question}: {quorum} people must approve, and {people} may decide",
        fix="name more approvers, or lower `quorum`",
    )


@rule("E106")
def empty_group(question: str, group: str) -> ProblemText:
    return ProblemText(
        f"{question}: the group {group!r} is empty, so nobody in it can decide",
        fix=f"name its people in `orchestration.groups.{group}`",
    )


@rule("E106")
def unnamed_approver(question: str) -> ProblemText:
    return ProblemText(
        f"{question}: a name of an approver is empty, so a decision without a name could count",
        fix="write the name of a person or a group",
    )


def name_of_group(group: str) -> str:
    """Return how a problem names the place of a group's members."""
    return f"the group {group!r}"


@rule("E106")
def approvers_alike(where: str, first: str, second: str) -> ProblemText:
    return ProblemText(
        f"{where}: the approvers {first!r} and {second!r} look alike, so a reader takes one for "
        "the other",
        fix="write the name of one person in one way, and names of two people so that they differ",
    )


@rule("E106")
def escalations_out_of_order(question: str) -> ProblemText:
    return ProblemText(
        f"{question}: the escalations are not in the order of their times",
        fix="put the one with the smallest `after` first",
    )


@rule("E106")
def escalation_after_deadline(question: str) -> ProblemText:
    return ProblemText(
        f"{question}: an escalation is due at or after the deadline, so it never happens",
        fix="escalate before the `deadline`",
    )


@rule("E106")
def reminder_after_deadline(question: str) -> ProblemText:
    return ProblemText(
        f"{question}: the first reminder is due at or after the deadline, so it never happens",
        fix="remind before the `deadline`",
    )


@rule("E107")
def schema_without_changes(question: str) -> ProblemText:
    return ProblemText(
        f"{question}: a `schema` checks changes, and this allows none",
        fix="add `editable: true`, or remove `schema`",
    )


@rule("E107")
def shown_and_editable(question: str) -> ProblemText:
    return ProblemText(
        f"{question}: a person edits the input or the result, so `show` cannot show anything else",
        fix="remove `show`, or `editable`",
    )


@rule("E107")
def nothing_to_edit(question: str) -> ProblemText:
    return ProblemText(
        f"{question}: the step has no input to edit", fix="give it `input:`, or write `at: after`"
    )


@rule("E108")
def moment_is_not_a_condition(moment: str) -> ProblemText:
    return ProblemText(
        "`when` of `requires_approval` is a condition now; `at` says whether it asks before or "
        "after",
        fix=f"write `at: {moment}`",
    )


@rule("E107")
def not_of_a_call(question: str) -> ProblemText:
    return ProblemText(
        f"{question}: every caller has its own tasks and context, so its `when` cannot ask about "
        "them",
        "templates over `arguments`, and over `data` with `at: after`",
    )


@rule("E505")
def unusable_schema(question: str, reason: str) -> ProblemText:
    return ProblemText(f"{question}: the schema cannot be used: {reason}")


@rule("E505")
def uncheckable_changes(reason: str) -> ProblemText:
    return ProblemText(
        f"a change cannot be checked against the declared schema: {reason}",
        fix="add a `schema:` for the change, beside `editable`",
    )
