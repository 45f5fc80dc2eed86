"""What the terms of an approval refer to, and whether they can come about."""

from collections.abc import Iterator

from dsl.document import Orchestration, SystemDocument
from dsl.errors import Code, listed, nearest
from dsl.nodes import Node, Problems
from dsl.steps import ApprovalStep
from dsl.values import NodePath
from dsl.walking import walk

SILENCE = ("reject", "approve", "fail")
"""What `on_timeout` may say besides the name of a team."""


def check_approvals(
    document: SystemDocument, orchestration: Orchestration, tree: Node, problems: Problems
) -> None:
    """Note every approval that names what is not there, or that nobody could ever give."""
    checks = _Checks(orchestration, tree, problems)
    for team_id in SILENCE:
        if team_id in orchestration.teams:
            checks.ambiguous(team_id)
    for step, path in _approvals(document, orchestration):
        checks.silence(step, path)
        checks.quorum(step, path)
        checks.moments(step, path)


def _approvals(
    document: SystemDocument, orchestration: Orchestration
) -> Iterator[tuple[ApprovalStep, NodePath]]:
    lists = [
        (team.tasks, ("orchestration", "teams", team_id, "tasks"))
        for team_id, team in orchestration.teams.items()
    ] + [
        (persona.execution_plan or (), ("llm_config", "personas", key, "execution_plan"))
        for key, persona in document.llm_config.personas.items()
    ]
    for steps, path in lists:
        for step, place in walk(steps, path):
            if isinstance(step, ApprovalStep):
                yield step, place


class _Checks:
    """The checks of one document."""

    def __init__(self, orchestration: Orchestration, tree: Node, problems: Problems) -> None:
        self._teams = orchestration.teams
        self._groups = orchestration.groups
        self._tree = tree
        self._problems = problems

    def ambiguous(self, team_id: str) -> None:
        """Refuse a team that is called like a meaning of silence."""
        path: NodePath = ("orchestration", "teams", team_id)
        self._problems.add(
            "E105", self._tree.find(path).at, path, f"no team can be called {team_id!r}",
            allowed=f"a name other than {listed(SILENCE)}, which `on_timeout` of an approval means",
        )  # fmt: skip

    def silence(self, step: ApprovalStep, path: NodePath) -> None:
        """Silence is one of three words, or leads to a team that there is."""
        if step.on_timeout in SILENCE or step.on_timeout in self._teams:
            return
        if self._problems.has("E303", (*path, "on_timeout")):
            return
        known = (*SILENCE, *self._teams)
        self._add("E201", step, (*path, "on_timeout"), f"'on_timeout' is {step.on_timeout!r}",
                  allowed=f"reject, approve, fail, or a team ({listed(self._teams)})",
                  fix=nearest(step.on_timeout, known))  # fmt: skip

    def quorum(self, step: ApprovalStep, path: NodePath) -> None:
        """As many people as have to approve are allowed to."""
        if not step.approvers:
            return
        named = (*step.approvers, *(name for one in step.escalate for name in one.to))
        people = {one for name in named for one in self._groups.get(name, (name,))}
        if len(people) < step.quorum:
            self._add("E106", step, (*path, "quorum"),
                      f"{step.quorum} people have to approve, and {len(people)} may decide",
                      fix="name more approvers, or ask for fewer")  # fmt: skip

    def moments(self, step: ApprovalStep, path: NodePath) -> None:
        """Escalations follow each other, and nothing is due only after the deadline."""
        after = [one.after for one in step.escalate]
        if after != sorted(after):
            self._add("E106", step, (*path, "escalate"),
                      "the escalations are not in the order of their times",
                      fix="put the one with the least `after` first")  # fmt: skip
        if step.deadline is None:
            return
        if after and max(after) >= step.deadline:
            self._add("E106", step, (*path, "escalate"),
                      "an escalation comes no earlier than the deadline, so never",
                      fix="escalate before the `deadline`")  # fmt: skip
        if step.remind_every is not None and step.remind_every >= step.deadline:
            self._add("E106", step, (*path, "remind_every"),
                      "the first reminder comes no earlier than the deadline, so never",
                      fix="remind before the `deadline`")  # fmt: skip

    def _add(
        self, code: Code, step: ApprovalStep, path: NodePath, message: str, *,
        allowed: str = "", fix: str = "",
    ) -> None:  # fmt: skip
        node = self._tree.find(path)
        mark = node.mark if code == "E201" else node.at  # a wrong name itself, else the key
        told = f"the approval {step.name!r}: {message}"
        self._problems.add(code, mark, path, told, allowed=allowed, fix=fix)
