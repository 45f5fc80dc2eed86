"""Whoever takes a message waits first until the run has come as far as it comes by itself."""

import ast

from temporalio.workflow import (
    _Definition as Definition,  # pyright: ignore[reportPrivateUsage]
)

from dsl.checks.steps.step_checks import RUN_SIGNALS
from tests.law.sources import ROOT
from workflows.team import TeamWorkflow
from workflows.unknown_messages import QUERIES, UPDATES


def test_every_signal_and_update_waits_until_the_run_listens() -> None:
    tree = ast.parse((ROOT / "workflows/handlers/message_handlers.py").read_text())
    (people,) = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    handlers = [
        node
        for node in people.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and any("workflow." in ast.unparse(one) for one in node.decorator_list)
    ]
    assert len(handlers) > 8
    for handler in handlers:
        waits = "await self.listening()", "if not await self._admitted("
        assert any(one in ast.unparse(handler) for one in waits), handler.name


def test_the_signals_that_no_step_can_wait_for_are_those_that_a_run_takes() -> None:
    tree = ast.parse((ROOT / "workflows/handlers/message_handlers.py").read_text())
    (people,) = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    taken: set[str] = set()
    for node in people.body:
        if isinstance(node, ast.AsyncFunctionDef):
            for one in node.decorator_list:
                if isinstance(one, ast.Call) and ast.unparse(one.func) == "workflow.signal":
                    said = {key.arg: ast.literal_eval(key.value) for key in one.keywords}
                    if not said.get("dynamic"):
                        taken.add(said.get("name", node.name))
    assert taken == set(RUN_SIGNALS)


def test_a_refusal_of_an_unknown_name_lists_every_update_and_query_of_a_run() -> None:
    definition = Definition.must_from_class(TeamWorkflow)
    assert set(UPDATES) == {name for name in definition.updates if name is not None}
    assert set(QUERIES) == {name for name in definition.queries if name is not None}
    assert None in definition.updates
    assert None in definition.queries
