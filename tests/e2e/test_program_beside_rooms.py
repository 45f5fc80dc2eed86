"""A program whose own modules have the names of our rooms, and no file of ours has two names."""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

from temporalio import workflow

from coterie.runtime.workflow_sandbox import restrictions
from coterie.workflows.team import TeamWorkflow
from tests.support.places import ROOT
from tests.support.project import VENDOR_PREFIXES
from tests.support.watching import module_names
from tests.support.watching.prepared_sandbox import SharedInterpreter

definition_of = workflow._Definition.must_from_class  # pyright: ignore[reportPrivateUsage]

TOOLS = """
from names import doubled
from coterie import tool

@tool(effect="read")
def stock(part: str) -> dict[str, int | str]:
    \"\"\"Count the parts in stock.\"\"\"
    import config, dsl, workflows.orders
    return {"count": config.COUNTS[part], "doubled": len(doubled(%r)), "from": dsl.NAME}
"""
TEAM = """
tools: {stock: {skill: "activities:stock"}}
orchestration:
  entry_team: t
  teams: {t: {tasks: [{name: look, type: tool, tool: stock, arguments: {part: bolt}}]}}
"""
PROGRAM = """
import asyncio, json, sys
import activities, config, dsl, tests, workflows.orders
from names import doubled
from coterie import Team

result = asyncio.run(Team.load("team.yml").run({}))
print(json.dumps({"output": result.output, "message": result.message, "doubled": doubled(%r)}))
"""
AT_EXIT = """
import atexit, json, os, sys
from names import doubled

def note():
    with open(os.path.join(%r, f"{os.getpid()}.json"), "w") as file:
        json.dump({"ours": "coterie" in sys.modules, "doubled": doubled(%r)}, file)

atexit.register(note)
"""
ANSWER = {"count": 7, "doubled": 0, "from": "mine"}


def test_a_program_with_modules_of_the_same_names_loads_runs_and_calls_its_tool(
    tmp_path: Path,
) -> None:
    noted, program = tmp_path / "noted", tmp_path / "shop"
    for folder in (noted, program / "workflows", program / "tests", program / "bench"):
        folder.mkdir(parents=True)
    package = str(ROOT)
    for name, text in {
        "names.py": inspect.getsource(module_names),
        "activities.py": TOOLS % package,
        "config.py": "COUNTS = {'bolt': 7}\n",
        "dsl.py": "NAME = 'mine'\n",
        "workflows/orders.py": "",
        "tests/__init__.py": "",
        "bench/__init__.py": "",
        "sitecustomize.py": AT_EXIT % (str(noted), package),
        "program.py": PROGRAM % package,
        "team.yml": TEAM,
        "coterie.yml": "worker: {tool_packages: [activities], offline_tools: ['activities:*']}\n",
    }.items():
        (program / name).write_text(text)
    outside = {key: value for key, value in os.environ.items() if not key.startswith("COTERIE_")}
    environment = {
        **{key: value for key, value in outside.items() if not key.startswith(VENDOR_PREFIXES)},
        "PYTHONPATH": str(program),
    }

    def called(*words: str | Path) -> str:
        done = subprocess.run(
            [*map(str, words)],
            cwd=program,
            env=environment,
            text=True,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    script = Path(sys.executable).parent / "coterie"
    assert "completed" in called(script, "run", "team.yml", "--id", "one")
    from_command = json.loads(called(script, "result", "one", "--json"))
    assert from_command["output"] == {"look": ANSWER}
    from_program = json.loads(called(sys.executable, "program.py"))
    called(script, "server", "--stop")
    assert called(script, "explain", "E202").startswith("E202")
    assert from_program == {"output": {"look": ANSWER}, "message": "", "doubled": {}}
    processes = [json.loads(file.read_text()) for file in noted.iterdir()]
    assert len([one for one in processes if one["ours"]]) >= 2
    assert [one for one in processes if one["doubled"]] == []


async def test_this_process_and_its_sandbox_load_no_file_of_ours_twice() -> None:
    assert module_names.doubled(str(ROOT)) == {}
    inside = SharedInterpreter(restrictions(everything=True))
    inside.prepare_workflow(definition_of(TeamWorkflow))
    assert "coterie.workflows.team" in inside.modules
    assert module_names.doubled(str(ROOT), inside.modules) == {}
