"""The table of commands: what each does and which module implements it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


class Group(StrEnum):
    """The headings of `coterie --help`, in this order."""

    WRITE = "write a team"
    TEST = "test a team"
    RUN = "run a team"
    LOOK = "look at runs"
    DECIDE = "decide requests"
    STEER = "steer runs"
    SERVE = "serve runs"


class Verb(NamedTuple):
    """One command, described without loading it."""

    group: Group
    summary: str
    """Summary for `coterie --help`."""
    module: str
    """Its module, imported only when the command is chosen."""
    only_prints: bool = False
    """Whether it follows something and only prints it, so that it ends with its reader."""


VERBS: Mapping[str, Verb] = {
    "init": Verb(
        Group.WRITE,
        "create a project with a team, its test and a coterie.yml",
        "coterie.commands.documents.init",
    ),
    "validate": Verb(
        Group.WRITE,
        "report every problem in documents",
        "coterie.commands.documents.validate",
    ),
    "check": Verb(
        Group.WRITE,
        "find mistakes in a document before a run, and bound what the run costs",
        "coterie.commands.documents.check",
    ),
    "explain": Verb(
        Group.WRITE,
        "show every effective value and the line that sets it; or what an error code means",
        "coterie.commands.documents.explain",
    ),
    "limits": Verb(
        Group.WRITE,
        "show every limit of a document and the line that sets it",
        "coterie.commands.documents.limits",
    ),
    "graph": Verb(
        Group.WRITE,
        "draw a team, or the path that a run took through it",
        "coterie.commands.documents.graph",
    ),
    "plan": Verb(
        Group.WRITE,
        "show what a document compiles to",
        "coterie.commands.documents.plan",
    ),
    "schema": Verb(
        Group.WRITE,
        "print the JSON Schema of documents, for editors",
        "coterie.commands.documents.schema",
    ),
    "tools": Verb(
        Group.WRITE,
        "list the tools of a document and the worker's tool functions, show one, or call it",
        "coterie.commands.documents.tools",
    ),
    "trigger": Verb(
        Group.TEST,
        "show what a delivery of a webhook would do, and start nothing",
        "coterie.commands.documents.trigger",
    ),
    "test": Verb(
        Group.TEST,
        "run team tests against a stub model, in virtual time",
        "coterie.commands.documents.test",
    ),
    "record": Verb(
        Group.TEST,
        "write a test file from a finished run",
        "coterie.commands.documents.record",
    ),
    "eval": Verb(
        Group.TEST,
        "run a suite of cases repeatedly, and test success rates statistically",
        "coterie.commands.runs.eval",
    ),
    "replay": Verb(
        Group.TEST,
        "check that this code makes the same decisions as a recorded run",
        "coterie.commands.runs.replay",
    ),
    "run": Verb(
        Group.RUN,
        "run a team here and watch it",
        "coterie.commands.runs.run",
    ),
    "agent": Verb(
        Group.RUN,
        "let an agent reach a goal, freely or by a workflow such as debug_bug",
        "coterie.commands.runs.agent",
    ),
    "chat": Verb(
        Group.RUN,
        "talk to a session at the terminal",
        "coterie.commands.runs.chat",
    ),
    "start": Verb(
        Group.RUN,
        "start a run for workers elsewhere and print its id",
        "coterie.commands.runs.start",
    ),
    "runs": Verb(
        Group.LOOK,
        "list runs, by state, team and age",
        "coterie.commands.runs.runs",
    ),
    "status": Verb(
        Group.LOOK,
        "show where a run stands",
        "coterie.commands.runs.status",
    ),
    "watch": Verb(
        Group.LOOK,
        "follow a run to its end without changing it",
        "coterie.commands.runs.watch",
        only_prints=True,
    ),
    "why": Verb(
        Group.LOOK,
        "explain why a run took its path",
        "coterie.commands.runs.why",
    ),
    "show": Verb(
        Group.LOOK,
        "show one request in full, or every call of a step",
        "coterie.commands.runs.show",
    ),
    "cost": Verb(
        Group.LOOK,
        "show what a run has used, and what its budgets have left",
        "coterie.commands.runs.cost",
    ),
    "stats": Verb(
        Group.LOOK,
        "show success and time of teams, strategies, decisions and tools over the newest runs",
        "coterie.commands.runs.stats",
    ),
    "report": Verb(
        Group.LOOK,
        "write the page of a run as one HTML file: its path, decisions, calls and costs",
        "coterie.commands.runs.report",
    ),
    "export": Verb(
        Group.LOOK,
        "write the state of runs as JSON, or into a table of SQLite or PostgreSQL",
        "coterie.commands.runs.export",
    ),
    "result": Verb(
        Group.LOOK,
        "wait for the end of a run and show how it ended",
        "coterie.commands.runs.result",
    ),
    "pending": Verb(
        Group.DECIDE,
        "list the requests that wait for a person",
        "coterie.commands.runs.pending",
    ),
    "approve": Verb(
        Group.DECIDE,
        "approve requests of a run",
        "coterie.commands.control.approve",
    ),
    "reject": Verb(
        Group.DECIDE,
        "reject requests of a run",
        "coterie.commands.control.reject",
    ),
    "audit": Verb(
        Group.LOOK,
        "export what a run or the gateways have recorded as a signed chain, and verify one",
        "coterie.commands.operations.audit",
    ),
    "verify": Verb(
        Group.DECIDE,
        "prove who decided what in a run, from its history alone",
        "coterie.commands.runs.verify",
    ),
    "pause": Verb(
        Group.STEER,
        "start nothing new in a run and stop its deadlines",
        "coterie.commands.control.pause",
    ),
    "resume": Verb(
        Group.STEER,
        "resume a paused run",
        "coterie.commands.control.resume",
    ),
    "amend": Verb(
        Group.STEER,
        "change a run's context at its next step",
        "coterie.commands.control.amend",
    ),
    "say": Verb(
        Group.STEER,
        "tell an agent at work something, which its model reads at its next turn",
        "coterie.commands.control.say",
    ),
    "redirect": Verb(
        Group.STEER,
        "send a run to another team when its current one ends",
        "coterie.commands.control.redirect",
    ),
    "retry": Verb(
        Group.STEER,
        "retry a failed task, or a failed run from where it failed",
        "coterie.commands.control.retry",
    ),
    "skip": Verb(
        Group.STEER,
        "skip a task, now or when it starts",
        "coterie.commands.control.skip",
    ),
    "fork": Verb(
        Group.STEER,
        "start another run from a point of an old one",
        "coterie.commands.control.fork",
    ),
    "cancel": Verb(
        Group.STEER,
        "stop a run for good after its cleanup",
        "coterie.commands.control.cancel",
    ),
    "doctor": Verb(
        Group.SERVE,
        "check this machine and this project, and name the fix of each problem",
        "coterie.commands.operations.doctor",
    ),
    "worker": Verb(
        Group.SERVE,
        "serve runs until interrupted",
        "coterie.commands.operations.worker",
    ),
    "deploy": Verb(
        Group.SERVE,
        "give teams a deployed version, which their names start; roll back to an earlier one",
        "coterie.commands.operations.deploy",
    ),
    "versions": Verb(
        Group.SERVE,
        "list the deployed versions of teams, or show one",
        "coterie.commands.operations.versions",
    ),
    "server": Verb(
        Group.SERVE,
        "start, show or stop the project's embedded Temporal server",
        "coterie.commands.operations.server",
    ),
    "serve": Verb(
        Group.SERVE,
        "serve runs in a browser and over HTTP, or teams to MCP clients",
        "coterie.commands.operations.serve",
    ),
    "tokens": Verb(
        Group.SERVE,
        "create, list and revoke the tokens of programs for `coterie serve`",
        "coterie.commands.operations.tokens",
    ),
    "mcp": Verb(
        Group.SERVE,
        "sign in at an MCP server that wants it, for the workers of this project",
        "coterie.commands.operations.mcp",
    ),
    "keys": Verb(
        Group.SERVE,
        "make the keys of signed decisions: a root, certificates for people and gateways",
        "coterie.commands.operations.keys",
    ),
    "index": Verb(
        Group.SERVE,
        "index texts for `Retriever.search`; reindex only what changed",
        "coterie.commands.operations.index",
    ),
    "memory": Verb(
        Group.SERVE,
        "list what agents remember, and forget it",
        "coterie.commands.operations.memory",
    ),
    "storage": Verb(
        Group.SERVE,
        "show where large values are kept, and delete old ones",
        "coterie.commands.operations.storage",
    ),
    "purge": Verb(
        Group.SERVE,
        "list everything that Coterie leaves in a project and on a server, or delete its folder",
        "coterie.commands.operations.purge",
    ),
    "completion": Verb(
        Group.SERVE,
        "print a completion script for bash, zsh or fish",
        "coterie.commands.operations.completion",
    ),
}
