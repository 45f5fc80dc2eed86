"""What the terms of a question refer to, and whether they can come about."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from dsl.checks.budget_checks import sections
from dsl.checks.document_steps import every_step
from dsl.checks.format_checks import warn_of_formats
from dsl.errors import Code, listed, nearest
from dsl.json_schema.schema_checker import beyond
from dsl.json_schema.schema_problems import schema_fault
from dsl.model.budgets import written
from dsl.model.document import Orchestration, SystemDocument
from dsl.model.steps import AgentStep, ApprovalStep, SkillStep
from dsl.model.terms import ApprovalTerms, Asking, AskTerms, Consent, DecisionTerms, channels
from dsl.person_names import each_once
from dsl.source.nodes import Node, Problems
from dsl.source.unknown_names import called, unknown
from dsl.values import Json, NodePath

SILENCE = ("reject", "approve", "fail")
"""What `on_timeout` may say besides the name of a team."""


class _Asked(NamedTuple):
    """A question that a document lets a run ask."""

    told: str
    """`the approval 'sign_off'`."""
    terms: DecisionTerms
    path: NodePath
    """Where its terms stand."""
    nothing_sent: bool = False
    """It asks before a step that is given nothing."""


def check_approvals(
    document: SystemDocument,
    orchestration: Orchestration,
    tree: Node,
    problems: Problems,
    known_channels: Collection[str] | None,
) -> None:
    """Note every question that names what is not there, or that nobody could ever answer."""
    checks = _Checks(orchestration, tree, problems, known_channels)
    checks.channels(orchestration.notify, ("orchestration",))
    for team_id in SILENCE:
        if team_id in orchestration.teams:
            checks.ambiguous(team_id)
    for asked in _questions(document, orchestration):
        checks.silence(asked)
        checks.quorum(asked)
        checks.moments(asked)
        checks.change(asked)
        checks.channels(asked.terms.notify, asked.path)


def _questions(document: SystemDocument, orchestration: Orchestration) -> Iterator[_Asked]:
    if isinstance(orchestration.no_progress, Asking):
        path: NodePath = ("orchestration", "no_progress", "ask")
        yield _Asked("the question of `no_progress`", orchestration.no_progress.ask, path)
    for budgets, place in sections(document, orchestration):
        for kind, budget in written(budgets):
            if isinstance(budget.on_exceeded, Asking):
                told = f"the question of the budget `{kind}`"
                yield _Asked(told, budget.on_exceeded.ask, (*place, kind, "on_exceeded", "ask"))
    for name, tool in document.tools.items():
        if isinstance(tool.requires_approval, Consent):
            yield _Asked(
                f"the approval of the tool {name!r}",
                tool.requires_approval,
                ("tools", name, "requires_approval"),
            )
    for step, place in every_step(document):
        match step:
            case ApprovalStep():
                yield _Asked(called(step.name, "the approval"), step, place)
            case (
                AgentStep(requires_approval=Consent() as terms)
                | SkillStep(requires_approval=Consent() as terms)
            ):
                yield _Asked(
                    f"the approval of {called(step.name)}",
                    terms,
                    (*place, "requires_approval"),
                    nothing_sent=step.input is None,
                )
            case _:
                pass


class _Checks:
    """The checks of one document."""

    def __init__(
        self,
        orchestration: Orchestration,
        tree: Node,
        problems: Problems,
        known_channels: Collection[str] | None,
    ) -> None:
        self._teams = orchestration.teams
        self._groups = orchestration.groups
        self._tree = tree
        self._problems = problems
        self._channels = known_channels

    def ambiguous(self, team_id: str) -> None:
        """Refuse a team that is called like a meaning of silence."""
        path: NodePath = ("orchestration", "teams", team_id)
        self._problems.add(
            "E105",
            self._tree.find(path).at,
            path,
            f"no team can be called {team_id!r}",
            allowed=f"a name other than {listed(SILENCE)}, which `on_timeout` of an approval means",
        )

    def silence(self, asked: _Asked) -> None:
        """Silence is one of three words, or leads to a team that there is; a limit has no team."""
        said, path = asked.terms.on_timeout, (*asked.path, "on_timeout")
        limit = isinstance(asked.terms, AskTerms)
        teams = () if limit else tuple(self._teams)
        if said not in (*SILENCE, *teams) and not self._problems.has("E303", path):
            known = (
                listed(SILENCE) if limit else f"reject, approve, fail, or a team ({listed(teams)})"
            )
            self._add(
                "E201",
                asked,
                "on_timeout",
                f"'on_timeout' is {said!r}",
                allowed=known,
                fix=nearest(said, (*SILENCE, *teams)),
            )
        if asked.terms.deadline is None and not isinstance(asked.terms, ApprovalStep):
            self._problems.add(
                "W502",
                self._tree.find(asked.path).at,
                asked.path,
                f"{asked.told} has no deadline: it may wait for ever",
                fix="say `deadline: 3d` and `on_timeout: reject`",
            )

    def channels(self, said: str | tuple[str, ...] | None, path: NodePath) -> None:
        """Whoever is named to tell people is there, where it is known who is."""
        for index, name in enumerate(channels(said)):
            place = (*path, "notify", *(() if isinstance(said, str) else (index,)))
            if self._channels is not None and name not in self._channels:
                mark = self._tree.find(place).mark
                unknown(self._problems, mark, place, "E212", "channel", name, self._channels)

    def quorum(self, asked: _Asked) -> None:
        """As many people as have to approve are named, and allowed to."""
        terms = asked.terms
        if self._nobody(asked):
            return
        if not terms.approvers:
            if terms.quorum > 1:
                self._add(
                    "E106",
                    asked,
                    "quorum",
                    f"{terms.quorum} people have to approve, and nobody is named: one person "
                    "could approve under several names",
                    fix="name who may decide in `approvers`",
                )
            return
        named = (*terms.approvers, *(name for one in terms.escalate for name in one.to))
        people = each_once(one for name in named for one in self._groups.get(name, (name,)))
        if len(people) < terms.quorum:
            self._add(
                "E106",
                asked,
                "quorum",
                f"{terms.quorum} people have to approve, and {len(people)} may decide",
                fix="name more approvers, or ask for fewer",
            )

    def _nobody(self, asked: _Asked) -> bool:
        """Refuse a group without people where it is to decide; whether there was one."""
        terms = asked.terms
        named = [(name, ("approvers", index)) for index, name in enumerate(terms.approvers)]
        for index, one in enumerate(terms.escalate):
            named += [(name, ("escalate", index, "to", at)) for at, name in enumerate(one.to)]
        empty = [(name, place) for name, place in named if self._groups.get(name) == ()]
        for name, place in empty:
            path = (*asked.path, *place)
            self._problems.add(
                "E106",
                self._tree.find(path).mark,
                path,
                f"{asked.told}: nobody is in the group {name!r}, so nobody of it could decide",
                fix=f"name its people in `orchestration.groups.{name}`",
            )
        return bool(empty)

    def moments(self, asked: _Asked) -> None:
        """Escalations follow each other, and nothing is due only after the deadline."""
        terms = asked.terms
        after = [one.after for one in terms.escalate]
        if after != sorted(after):
            self._add(
                "E106",
                asked,
                "escalate",
                "the escalations are not in the order of their times",
                fix="put the one with the least `after` first",
            )
        if terms.deadline is None:
            return
        if after and max(after) >= terms.deadline:
            self._add(
                "E106",
                asked,
                "escalate",
                "an escalation comes no earlier than the deadline, so never",
                fix="escalate before the `deadline`",
            )
        if terms.remind_every is not None and terms.remind_every >= terms.deadline:
            self._add(
                "E106",
                asked,
                "remind_every",
                "the first reminder comes no earlier than the deadline, so never",
                fix="remind before the `deadline`",
            )

    def change(self, asked: _Asked) -> None:
        """What may be changed is there, is shown, and can be checked."""
        terms = asked.terms
        if not isinstance(terms, ApprovalTerms):
            return
        if terms.schema_ is not None:
            self._schema(asked, terms.schema_)
            if not terms.editable:
                self._add(
                    "E107",
                    asked,
                    "schema",
                    "a `schema` checks changes, and none is allowed",
                    fix="add `editable: true`, or remove `schema`",
                )
        if not terms.editable or not isinstance(terms, Consent):
            return
        if terms.show is not None:
            self._add(
                "E107",
                asked,
                "show",
                "what is changed is what is sent, or what came of it, so that is what is shown",
                fix="remove `show`, or `editable`",
            )
        if terms.when == "before" and asked.nothing_sent:
            self._add(
                "E107",
                asked,
                "editable",
                "the step is given nothing that could be changed",
                fix="give it `input:`, or say `when: after`",
            )

    def _schema(self, asked: _Asked, schema: Json) -> None:
        wrong = schema_fault(schema) or beyond(schema)
        if wrong is not None:
            self._add("E505", asked, "schema", f"the schema cannot be used: {wrong}")
            return
        path = (*asked.path, "schema")
        warn_of_formats(schema, self._problems, self._tree.find(path).at, path)

    def _add(
        self, code: Code, asked: _Asked, key: str, message: str, *, allowed: str = "", fix: str = ""
    ) -> None:
        path = (*asked.path, key)
        node = self._tree.find(path)
        mark = node.mark if code == "E201" else node.at  # a wrong name itself, else the key
        told = f"{asked.told}: {message}"
        self._problems.add(code, mark, path, told, allowed=allowed, fix=fix)
