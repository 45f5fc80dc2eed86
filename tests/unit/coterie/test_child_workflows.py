"""The module that workflows of others import: nothing comes with it, results stay readable."""

import subprocess
import sys

from coterie.child_workflows import ChildTeamResult, result_of
from coterie.storage import wire
from coterie.workflows.core import views

CODE = """
import sys
import temporalio.workflow
before = set(sys.modules)
import coterie.child_workflows
new = {name.partition('.')[0] for name in set(sys.modules) - before}
print(sorted(new & {'pydantic', 'pydantic_core', 'jinja2', 'yaml', 'httpx', 'nexusrpc'}))
"""


def test_importing_it_loads_no_library() -> None:
    ran = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_a_result_is_never_kept_outside_the_history() -> None:
    payload = wire.LeanJsonConverter().to_payload(
        views.TeamResult.model_construct(because="x" * 40_000)
    )
    assert wire.MAY_BE_KEPT_OUTSIDE not in payload.metadata


def test_a_result_has_the_fields_of_a_run_and_ignores_others() -> None:
    assert set(ChildTeamResult.__dataclass_fields__) <= set(views.TeamResult.model_fields)
    assert result_of({"end": "completed", "of_tomorrow": 1}) == ChildTeamResult(end="completed")
