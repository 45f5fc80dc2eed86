"""Renders every because, every expected error and every failure of ours as `x`.

Whatever reads words that it should read as facts then decides otherwise, and a test sees it.
"""

from typing import Any

import pytest

from coterie.dsl.errors import TeamError
from coterie.dsl.evaluate import because
from coterie.dsl.model.outcomes import Outcome
from coterie.workflows.core.causes import trail_because

X = "x"


def render_all_as_x(monkeypatch: pytest.MonkeyPatch, *, failures: bool = True) -> None:
    """Replace the renderers of the rooms, until the test ends.

    Args:
        monkeypatch: of the test.
        failures: the messages of errors and failures too, which a document may read as data.
    """

    def x(*_: object) -> str:
        return X

    def failed(type: str, message: str, data: Any = None, *, root: str = "") -> Outcome:
        return make(type, X, data, root=root)

    make = Outcome.failed
    for name in ("_condition", "_route"):
        monkeypatch.setattr(because, name, x)
    monkeypatch.setattr(trail_because, "_cause_text", x)
    if failures:
        monkeypatch.setattr(because, "_failure", x)
        monkeypatch.setattr(TeamError, "__str__", x)
        monkeypatch.setattr(Outcome, "failed", failed)
