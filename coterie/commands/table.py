"""The table of commands: what each does and which module implements it."""

from collections.abc import Mapping
from typing import NamedTuple


class Verb(NamedTuple):
    """One command, described without loading it."""

    summary: str
    """Summary for `coterie --help`."""
    module: str
    """Its module, imported only when the command is chosen."""


VERBS: Mapping[str, Verb] = {
    "init": Verb(
        "create a project with a team, its test and a coterie.yml",
        "coterie.commands.documents.init",
    ),
    "run": Verb(
        "run a team here and watch it",
        "coterie.commands.runs.run",
    ),
    "agent": Verb(
        "let an agent reach a goal, freely or by a workflow such as debug_bug",
        "coterie.commands.runs.agent",
    ),
    "chat": Verb(
        "talk to a session at the terminal",
        "coterie.commands.runs.chat",
    ),
    "start": Verb(
        "start a run for workers elsewhere and print its id",
        "coterie.commands.runs.start",
    ),
    "worker": Verb(
        "serve runs until interrupted",
        "coterie.commands.operations.worker",
    ),
    "serve": Verb(
        "offer teams as tools to MCP clients",
        "coterie.commands.operations.serve",
    ),
    "server": Verb(
        "start, show or stop the project's embedded Temporal server",
        "coterie.commands.operations.server",
    ),
    "validate": Verb(
        "report every problem in documents",
        "coterie.commands.documents.validate",
    ),
    "check": Verb(
        "find mistakes in a document before a run, and bound what the run costs",
        "coterie.commands.documents.check",
    ),
    "test": Verb(
        "run team tests against a stub model, in virtual time",
        "coterie.commands.documents.test",
    ),
    "eval": Verb(
        "run a suite of cases repeatedly, and test success rates statistically",
        "coterie.commands.runs.eval",
    ),
    "record": Verb(
        "write a test file from a finished run",
        "coterie.commands.documents.record",
    ),
    "plan": Verb(
        "show what a document compiles to",
        "coterie.commands.documents.plan",
    ),
    "graph": Verb(
        "draw a team, or the path that a run took through it",
        "coterie.commands.documents.graph",
    ),
    "explain": Verb(
        "show every effective value and the line that sets it; or what an error code means",
        "coterie.commands.documents.explain",
    ),
    "limits": Verb(
        "show every limit of a document and the line that sets it",
        "coterie.commands.documents.limits",
    ),
    "tools": Verb(
        "list the tools of a document and the worker's skills, show one, or call it",
        "coterie.commands.documents.tools",
    ),
    "schema": Verb(
        "print the JSON Schema of documents, for editors",
        "coterie.commands.documents.schema",
    ),
    "runs": Verb(
        "list runs, by state, team and age",
        "coterie.commands.runs.runs",
    ),
    "status": Verb(
        "show where a run stands",
        "coterie.commands.runs.status",
    ),
    "cost": Verb(
        "show what a run has used, and what its budgets have left",
        "coterie.commands.runs.cost",
    ),
    "stats": Verb(
        "show success and time of teams, strategies, decisions and tools over the newest runs",
        "coterie.commands.runs.stats",
    ),
    "export": Verb(
        "write the state of runs as JSON, or into a table of SQLite or PostgreSQL",
        "coterie.commands.runs.export",
    ),
    "watch": Verb(
        "follow a run to its end without changing it",
        "coterie.commands.runs.watch",
    ),
    "why": Verb(
        "explain why a run took its path",
        "coterie.commands.runs.why",
    ),
    "pending": Verb(
        "list the requests that wait for a person",
        "coterie.commands.runs.pending",
    ),
    "show": Verb(
        "show one request in full, or every call of a step",
        "coterie.commands.runs.show",
    ),
    "approve": Verb(
        "approve a request of a run",
        "coterie.commands.control.approve",
    ),
    "reject": Verb(
        "reject a request of a run",
        "coterie.commands.control.reject",
    ),
    "pause": Verb(
        "start nothing new in a run and stop its deadlines",
        "coterie.commands.control.pause",
    ),
    "resume": Verb(
        "resume a paused run",
        "coterie.commands.control.resume",
    ),
    "amend": Verb(
        "change a run's context at its next step",
        "coterie.commands.control.amend",
    ),
    "redirect": Verb(
        "send a run to another team when its current one ends",
        "coterie.commands.control.redirect",
    ),
    "retry": Verb(
        "retry a failed task, or a failed run from where it failed",
        "coterie.commands.control.retry",
    ),
    "skip": Verb(
        "skip a task, now or when it starts",
        "coterie.commands.control.skip",
    ),
    "fork": Verb(
        "start another run from a point of an old one",
        "coterie.commands.control.fork",
    ),
    "cancel": Verb(
        "stop a run for good after its cleanup",
        "coterie.commands.control.cancel",
    ),
    "result": Verb(
        "wait for the end of a run and show how it ended",
        "coterie.commands.runs.result",
    ),
    "index": Verb(
        "index texts for `Retriever.search`; reindex only what changed",
        "coterie.commands.operations.index",
    ),
    "storage": Verb(
        "show where large values are kept, and delete old ones",
        "coterie.commands.operations.storage",
    ),
    "replay": Verb(
        "check that this code makes the same decisions as a recorded run",
        "coterie.commands.runs.replay",
    ),
    "completion": Verb(
        "print a completion script for bash, zsh or fish",
        "coterie.commands.operations.completion",
    ),
}
