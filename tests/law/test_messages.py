"""Whoever takes a message waits first until the run has come as far as it comes by itself."""

import ast

from tests.law.sources import ROOT


def test_every_signal_and_update_waits_until_the_run_listens() -> None:
    tree = ast.parse((ROOT / "workflows" / "people.py").read_text())
    (people,) = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    handlers = [
        node
        for node in people.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and any("workflow." in ast.unparse(one) for one in node.decorator_list)
    ]
    assert len(handlers) > 8
    for handler in handlers:
        assert "await self.listening()" in ast.unparse(handler), handler.name
