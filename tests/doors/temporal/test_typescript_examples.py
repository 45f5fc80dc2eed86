"""The compiler judges the examples in TypeScript of docs/temporal.md; a real client runs one."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.stand_in.install import install, node
from tests.support.places import ROOT
from tests.support.project import project, until

HERE = Path(__file__).parent
PAGE = ROOT / "docs" / "temporal.md"
OPTIONS = (
    *("--strict", "--skipLibCheck", "--target", "es2022"),  # the types of `ms` are not part of it
    *("--module", "nodenext", "--moduleResolution", "nodenext"),
)
SALE = """
llm_config: { personas: { p: { prompts: { user: hello } } } }
orchestration:
  entry_team: sale
  context: { order: { type: string }, wish: { type: string } }
  output: { parcel: "P-{{ context.order }}" }
  teams: { sale: { tasks: [{ name: keep, type: set, values: { wish: "{{ context.wish }}" } }] } }
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the examples, `example-1.ts` and so on, compiled."""
    install(HERE)
    folder = tmp_path_factory.mktemp("typescript")
    (folder / "node_modules").symlink_to(HERE / "node_modules")
    (folder / "package.json").write_text('{"type": "module"}')
    blocks = re.findall(r"^```ts\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    files = [folder / f"example-{number}.ts" for number, _ in enumerate(blocks, 1)]
    for file, text in zip(files, blocks, strict=True):
        file.write_text(text)
    checker = HERE / "node_modules/typescript/bin/tsc"
    judged = subprocess.run(
        [node(), checker, *OPTIONS, *files],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (len(files), judged.stdout, judged.returncode) == (2, "", 0)
    return folder


def test_the_compiler_accepts_the_example_of_a_workflow(compiled: Path) -> None:
    assert "executeChild" in (compiled / "example-1.js").read_text()


def test_the_client_of_temporal_starts_a_team_and_reads_its_result(
    compiled: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    with project(tmp_path / "desk", sample=tmp_path / "empty") as desk:
        (desk.folder / "coterie.yml").write_text("worker: { workspace: . }\n")
        teams = desk.folder / "config/teams"
        teams.mkdir(parents=True)
        (teams / "sale.yml").write_text(SALE)
        desk.begin("worker")
        until(lambda: "serving the task queue" in desk.log("worker"), "the worker")
        done = subprocess.run(
            [node(), compiled / "example-2.js"],
            env={"TEMPORAL_ADDRESS": desk.address},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.stdout == "completed { parcel: 'P-7' }\n", done.stderr
