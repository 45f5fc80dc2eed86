"""Every command: what it does, and the module that does it."""

from collections.abc import Mapping
from typing import NamedTuple


class Verb(NamedTuple):
    """One command, told without loading it."""

    summary: str
    """What it does, as `coterie --help` says it."""
    module: str
    """Its module, imported when the command is chosen and no sooner."""


VERBS: Mapping[str, Verb] = {
    "init": Verb(
        "make a project with a team, a test of it and a coterie.yml",
        "coterie.commands.documents.init",
    ),
    "run": Verb(
        "run a team here and watch it",
        "coterie.commands.runs.run",
    ),
    "start": Verb(
        "start a run for a worker elsewhere, print its id",
        "coterie.commands.runs.start",
    ),
    "worker": Verb(
        "serve runs until interrupted",
        "coterie.commands.operations.worker",
    ),
    "server": Verb(
        "start, show or stop the project's embedded Temporal server",
        "coterie.commands.operations.server",
    ),
    "validate": Verb(
        "tell every problem of documents",
        "coterie.commands.documents.validate",
    ),
    "check": Verb(
        "prove what can be proved before a run, and bound what it costs",
        "coterie.commands.documents.check",
    ),
    "test": Verb(
        "run the tests of teams, with a played model and in no time",
        "coterie.commands.documents.test",
    ),
    "record": Verb(
        "make a file of tests from a run",
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
        "show every effective value and the line that it came from",
        "coterie.commands.documents.explain",
    ),
    "limits": Verb(
        "show every bound of a document and the line that it came from",
        "coterie.commands.documents.limits",
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
        "show where a run is",
        "coterie.commands.runs.status",
    ),
    "cost": Verb(
        "show what a run has used: tokens, money, time, and what is left of its budgets",
        "coterie.commands.runs.cost",
    ),
    "watch": Verb(
        "follow a run to its end, changing nothing",
        "coterie.commands.runs.watch",
    ),
    "why": Verb(
        "show because of what a run went where it went",
        "coterie.commands.runs.why",
    ),
    "pending": Verb(
        "show what waits for a person",
        "coterie.commands.runs.pending",
    ),
    "show": Verb(
        "show one request whole, or every call of a step",
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
        "start nothing new in a run; its deadlines stand still",
        "coterie.commands.control.pause",
    ),
    "resume": Verb(
        "let a paused run go on",
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
        "have a failed task tried again, or a failed run from where it failed",
        "coterie.commands.control.retry",
    ),
    "skip": Verb(
        "leave a task of a run out, now or when it begins",
        "coterie.commands.control.skip",
    ),
    "fork": Verb(
        "begin another run at a point of one",
        "coterie.commands.control.fork",
    ),
    "cancel": Verb(
        "stop a run for good, cleaning up",
        "coterie.commands.control.cancel",
    ),
    "result": Verb(
        "show how a run ended, waiting for its end",
        "coterie.commands.runs.result",
    ),
    "storage": Verb(
        "show where large values lie, and delete old ones",
        "coterie.commands.operations.storage",
    ),
    "replay": Verb(
        "check that this code decides a recorded run as it was decided",
        "coterie.commands.runs.replay",
    ),
    "completion": Verb(
        "print a script that completes commands in bash, zsh or fish",
        "coterie.commands.operations.completion",
    ),
}
