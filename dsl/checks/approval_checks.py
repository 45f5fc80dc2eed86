"""Checks of approvals: the names that their terms refer to, and whether a decision is possible."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from coterie.dsl.checks.format_checks import warn_of_formats
from coterie.dsl.checks.questions_of_document import Question, decider_places, questions_of
from coterie.dsl.errors import listed, nearest, replaced_by_nearest
from coterie.dsl.json_schema.schema_problems import schema_problem
from coterie.dsl.look_alikes import look_alikes
from coterie.dsl.model.decision_terms import (
    TIMEOUT_OUTCOMES,
    ApprovalTerms,
    AskTerms,
    CallApproval,
    channels,
)
from coterie.dsl.model.document import Orchestration, SystemDocument, TeamDocument
from coterie.dsl.model.steps import ApprovalStep
from coterie.dsl.model.template_bound import maximum_of
from coterie.dsl.person_names import each_once, person_key
from coterie.dsl.problem_details import Details, ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.source.unknown_names import unknown
from coterie.dsl.values import Json, NodePath
from coterie.dsl.visible import visible_name, without_invisible


@rule("W502")
def no_deadline_of_no_progress() -> ProblemText:
    return ProblemText(
        "the question of `no_progress` has no deadline: it may wait forever",
        fix="write `no_progress: {ask: {deadline: 3d}}`",
    )


def check_approvals(
    document: SystemDocument,
    orchestration: Orchestration,
    tree: Node,
    problems: Problems,
    known_channels: Collection[str] | None,
) -> None:
    """Report every request that names something unknown, or that nobody can answer."""
    teams, groups = orchestration.teams, orchestration.groups
    checks = _Checks(teams, groups, tree, problems, known_channels)
    for team_id in TIMEOUT_OUTCOMES:
        if team_id in orchestration.teams:
            checks.ambiguous(team_id)
    questions = list(questions_of(document, orchestration))
    checks.distinct_people(questions)
    for question in questions:
        checks.timeout_route(question)
        checks.quorum(question)
        checks.change(question)
        checks.moments(question)
        if question.terms.notify:
            checks.channels(question.terms.notify, question.path)
    if orchestration.notify:
        checks.channels(orchestration.notify, ("orchestration",))
    if orchestration.no_progress == "ask":
        path: NodePath = ("orchestration", "no_progress")
        problems.report(no_deadline_of_no_progress(), tree.key_at(path))
    if orchestration.egress_approval is not None:
        checks.egress(orchestration.egress_approval)


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
    choices = listed(outcomes)
    if teams is not None:
        choices = f"reject, approve, fail, or a team ({listed(teams)})"
    return ProblemText(
        f"{question}: 'on_timeout' is {value!r}",
        choices,
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


@rule("E505")
def unusable_schema(question: str, reason: str) -> ProblemText:
    return ProblemText(f"{question}: the schema cannot be used: {reason}")


@dataclass(frozen=True)
class _Checks:
    """The checks of one document."""

    _teams: Mapping[str, TeamDocument]
    _groups: Mapping[str, Sequence[str]]
    _tree: Node
    _problems: Problems
    _channels: Collection[str] | None
    """The worker's channels; None if they are not known."""

    def ambiguous(self, team_id: str) -> None:
        """Refuse a team with the name of an `on_timeout` outcome."""
        path: NodePath = ("orchestration", "teams", team_id)
        self._problems.report(
            team_named_as_outcome(team_id, TIMEOUT_OUTCOMES), self._tree.key_at(path)
        )

    def egress(self, terms: AskTerms) -> None:
        """Refuse what would let private data out without a person who looks at the call."""
        path: NodePath = ("orchestration", "egress_approval")
        if terms.timeout_outcome == "approve":
            key_path = (*path, "on_timeout")
            self._problems.report(egress_by_silence(), self._tree.value_at(key_path))
        if terms.remember:
            key_path = (*path, "remember")
            self._problems.report(egress_remembered(), self._tree.key_at(key_path))

    def timeout_route(self, question: Question) -> None:
        """Check that `on_timeout` is an outcome or, except for a limit, a known team."""
        value, path = question.terms.on_timeout, (*question.path, "on_timeout")
        limit = isinstance(question.terms, AskTerms)
        teams = () if limit else tuple(self._teams)
        team = question.terms.timeout_team
        if team is not None and team not in teams and not self._problems.has("E303", path):
            choices = None if limit else teams
            details = unknown_timeout_route(question.name, value, TIMEOUT_OUTCOMES, choices)
            self._note(question, "on_timeout", details)
        if question.terms.deadline is None and not isinstance(question.terms, ApprovalStep):
            self._problems.report(no_deadline(question.name), self._tree.key_at(question.path))

    def channels(self, notify: str | tuple[str, ...], path: NodePath) -> None:
        """Check that each named channel exists, where the worker's channels are known."""
        for index, name in enumerate(channels(notify)):
            key_path = (*path, "notify", *(() if isinstance(notify, str) else (index,)))
            if self._channels is not None and name not in self._channels:
                unknown(
                    self._problems, self._tree.value_at(key_path), "channel", name, self._channels
                )

    def quorum(self, question: Question) -> None:
        """Check that enough people are named for the quorum."""
        terms = question.terms
        if self._nobody(question):
            return
        if not terms.approvers:
            if terms.quorum > 1:
                self._note(question, "quorum", quorum_of_unnamed(question.name, terms.quorum))
            return
        named = (
            *terms.approvers,
            *(name for escalation in terms.escalate for name in escalation.to),
        )
        people = each_once(person for name in named for person in self._groups.get(name, (name,)))
        if len(people) < terms.quorum:
            self._note(
                question, "quorum", quorum_too_large(question.name, terms.quorum, len(people))
            )

    def distinct_people(self, questions: Sequence[Question]) -> None:
        """Refuse people and groups that a reader takes for each other, anywhere in the document."""
        placed: dict[str, tuple[str, NodePath]] = {}
        for where, path, names in self._places_of_names(questions):
            for name in names:
                placed.setdefault(name, (where, path))
        for first, second in look_alikes(placed):
            where, path = placed[second]
            words = approvers_alike(where, visible_name(first), visible_name(second))
            self._problems.report(words, self._tree.value_at(path))

    def _places_of_names(
        self, questions: Sequence[Question]
    ) -> Iterator[tuple[str, NodePath, Sequence[str]]]:
        """Yield each place where people or groups are named: its words, its path, the names."""
        for question in questions:
            for name, inner_path in decider_places(question.terms):
                yield question.name, (*question.path, *inner_path), self._members(name)
        for group, members in self._groups.items():
            path: NodePath = ("orchestration", "groups", group)
            yield name_of_group(group), path, (group,)
            for index, person in enumerate(members):
                yield name_of_group(group), (*path, index), (person,)

    def _members(self, name: str) -> Sequence[str]:
        return self._groups.get(name, (name,))

    def _nobody(self, question: Question) -> bool:
        """Refuse an approver without people, or without a name; return whether there was one."""
        named = list(decider_places(question.terms))
        empty = [
            (inner_path, empty_group(question.name, name))
            for name, inner_path in named
            if self._groups.get(name) == ()
        ]
        empty += [
            (inner_path, unnamed_approver(question.name))
            for name, inner_path in named
            if any(not person_key(without_invisible(member)) for member in self._members(name))
        ]
        for inner_path, words in empty:
            path = (*question.path, *inner_path)
            self._problems.report(words, self._tree.value_at(path))
        return bool(empty)

    def moments(self, question: Question) -> None:
        """Check that escalations are in order, and that nothing comes after the deadline."""
        terms = question.terms
        after = [escalation.after for escalation in terms.escalate]
        if after != sorted(after):
            self._note(question, "escalate", escalations_out_of_order(question.name))
        if terms.deadline is None:
            return
        longest = maximum_of(terms.deadline)
        if after and max(after) >= longest:
            self._note(question, "escalate", escalation_after_deadline(question.name))
        if terms.remind_every is not None and terms.remind_every >= longest:
            self._note(question, "remind_every", reminder_after_deadline(question.name))

    def change(self, question: Question) -> None:
        """Check that an editable value exists, is shown, and has a valid schema."""
        terms = question.terms
        if not isinstance(terms, ApprovalTerms):
            return
        if terms.schema_ is not None:
            self._schema(question, terms.schema_)
            if not terms.editable:
                self._note(question, "schema", schema_without_changes(question.name))
        if not terms.editable or not isinstance(terms, CallApproval):
            return
        if terms.show is not None:
            self._note(question, "show", shown_and_editable(question.name))
        if terms.at == "before" and question.nothing_sent:
            self._note(question, "editable", nothing_to_edit(question.name))

    def _schema(self, question: Question, schema: Json) -> None:
        wrong = schema_problem(schema)
        if wrong is not None:
            self._note(question, "schema", unusable_schema(question.name, wrong))
            return
        path = (*question.path, "schema")
        warn_of_formats(schema, self._problems, self._tree.find(path).at, path)

    def _note(self, question: Question, key: str, details: Details) -> None:
        path = (*question.path, key)
        node = self._tree.find(path)
        mark = node.mark if details.code == "E201" else node.at  # a wrong name itself, else the key
        self._problems.report(details, Place(mark, path))
