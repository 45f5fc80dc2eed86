"""What checks say that templates find is what a run gives them."""

import ast
from pathlib import Path

from coterie.dsl.model.facts import (
    CAUGHT,
    ERROR,
    OUTCOME,
    OUTCOME_NAMES,
    ROUTING,
    ROUTING_ERROR,
    RUN,
)
from coterie.dsl.model.outcomes import Failure, Outcome
from coterie.dsl.paths import MISSING
from coterie.dsl.templates.jinja_engine import ENVIRONMENT, Absent
from coterie.dsl.templates.jsonable import found_at, outcome_view
from coterie.workflows.core.state_parts import Routed
from tests.law.sources import ROOT

WORKFLOWS = ROOT / "workflows"


def written(file: Path, target: str) -> set[str]:
    """The keys of the mapping that the file gives to a name, or sets there."""
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.keyword(arg=name, value=ast.Dict(keys=keys)) if name == target:
                return {ast.literal_eval(key) for key in keys if key is not None}
            case ast.Assign(targets=[place], value=ast.Dict(keys=keys)):
                if ast.unparse(place) == target:
                    return {ast.literal_eval(key) for key in keys if key is not None}
            case _:
                pass
    raise AssertionError(f"{file.name} gives nothing to {target}")


def test_run_has_what_a_template_may_name() -> None:
    assert written(WORKFLOWS / "core" / "location.py", "run") == set(RUN)


def test_routing_has_what_a_template_may_name() -> None:
    seen = Routed(error=Failure("Oops", "no"), failed_task="b").seen()
    assert set(seen) == set(ROUTING)
    error = seen["error"]
    assert isinstance(error, dict)
    assert set(error) == set(ROUTING_ERROR)


def test_a_caught_failure_has_what_a_template_may_name() -> None:
    file = WORKFLOWS / "steps" / "try_steps.py"
    assert written(file, "frame.variables['error']") == set(CAUGHT)


def test_an_outcome_has_what_a_template_may_name_and_nothing_else() -> None:
    failed = Outcome.failed("Oops", "no")
    view = outcome_view(failed)
    assert set(view) == set(OUTCOME)
    assert isinstance(view["error"], dict)
    assert set(view["error"]) == set(ERROR)
    for name in OUTCOME_NAMES:
        assert found_at({"tasks": {"one": failed}}, ("tasks", "one", name)) is not MISSING, name
        assert not isinstance(ENVIRONMENT.getattr(failed, name), Absent), name
    for name in ERROR:
        assert not isinstance(ENVIRONMENT.getattr(failed.error, name), Absent), name
    assert isinstance(ENVIRONMENT.getattr(failed, "failed"), Absent)
