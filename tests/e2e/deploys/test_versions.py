"""Deployed versions: what a name starts, on any worker; two deployments at once; rolling back."""

import asyncio
import json
from pathlib import Path

from temporalio.testing import ActivityEnvironment

from coterie.activities.contracts import CompileRequest
from coterie.audit.audit_chain import checked_export, entry_of
from coterie.audit.audit_entries import GatewayNoted
from coterie.documents.catalog import Catalog
from coterie.documents.trusted_catalog import trusted_catalog
from coterie.failures import ExitCode
from coterie.settings import load
from coterie.worker.compile_activity import CompileActivities
from tests.e2e.deploys.conftest import done
from tests.support.cli import sentence, together
from tests.support.project import Project

PARCEL = """
orchestration:
  entry_team: only
  context: {{ weight: {{ type: number }}, done: {{ type: boolean, default: false }} }}
  output: {{ price: "{{{{ context.weight * {factor} }}}}" }}
  teams:
    only:
      tasks:
        - {{ name: mark, type: set, values: {{ done: true }} }}
"""


def written(project: Project, factor: int, name: str = "parcel") -> str:
    file = project.folder / "shipping" / f"{name}.yml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(PARCEL.format(factor=factor))
    return str(file.relative_to(project.folder))


def price(project: Project, name: str) -> object:
    run = done(project, "start", name, "--set", "weight=3").strip()
    return json.loads(done(project, "result", run, "--json"))["output"]["price"]


def test_a_name_starts_the_current_version_and_a_number_another_one(served: Project) -> None:
    file = written(served, 2)
    shown = served.coterie("deploy", file, "--plan", "--exit-code")
    assert shown.returncode == ExitCode.RUN_FAILED, "something would change"
    assert "parcel@1 new (not deployed yet)" in shown.stdout
    assert "parcel@1 deployed" in done(served, "deploy", file, "--why", "the first prices")
    assert done(served, "deploy", file, "--plan", "--exit-code") == "parcel@1 unchanged\n"
    assert done(served, "deploy", file) == "parcel@1 unchanged\n"
    written(served, 5)
    assert price(served, "parcel") == 6, "a file that nobody deployed changes nothing"
    shown = served.coterie("deploy", file, "--plan")
    assert '+  output: { price: "{{ context.weight * 5 }}" }' in shown.stdout
    assert "parcel@2 deployed" in done(served, "deploy", file)
    assert (price(served, "parcel"), price(served, "parcel@1")) == (15, 6)
    start = '{"team": "parcel", "context": {"weight": 3}}'
    words = ["--type", "TeamWorkflow", "--task-queue", "coterie", "--workflow-id", "by-the-cli"]
    assert '"price":15' in served.temporal("workflow", "execute", *words, "--input", start)
    done(served, "deploy", "--rollback", "parcel", "--why", "too dear")
    assert price(served, "parcel") == 6
    listed = json.loads(done(served, "versions", "parcel", "--json"))["parcel"]
    assert (listed["current"], listed["latest"]) == (1, 2)
    assert [one["deployed"]["why"] for one in listed["versions"]] == ["the first prices", ""]
    assert listed["since"]["why"] == "too dear"
    assert "context.weight * 5" in done(served, "versions", "parcel@2")


def test_a_start_is_checked_against_the_version_before_it_begins(served: Project) -> None:
    done(served, "deploy", written(served, 2, "checked"))
    lacking = served.coterie("start", "checked")
    assert lacking.returncode == ExitCode.CALL_WRONG
    assert "weight is missing: a number" in sentence(lacking)
    unknown = served.coterie("start", "checked@7", "--set", "weight=1")
    assert "there is no checked@7; the registry keeps checked@1" in sentence(unknown)


def test_of_two_deployments_at_once_one_is_refused(served: Project) -> None:
    first, second = served.folder / "first", served.folder / "second"
    for number, folder in enumerate((first, second)):
        folder.mkdir()
        (folder / "raced.yml").write_text(PARCEL.format(factor=number + 2))
    ended = together(served, ("deploy", "first/raced.yml"), ("deploy", "second/raced.yml"))
    codes = sorted(one.returncode for one in ended)
    current = json.loads(done(served, "versions", "raced", "--json"))["raced"]["current"]
    if codes == [ExitCode.DONE, ExitCode.RUN_FAILED]:
        refused = next(one for one in ended if one.returncode)
        assert "made raced@1 the current version at" in sentence(refused)
        assert "after no version" in refused.stderr
        assert current == 1
    else:  # the second had not looked before the first was done
        assert (codes, current) == ([0, 0], 2)


def test_a_document_that_decides_for_the_worker_is_refused(served: Project) -> None:
    file = served.folder / "shipping" / "own.yml"
    file.parent.mkdir(exist_ok=True)
    provider = "llm_config: {providers: {mine: {type: openai_compatible, base_url: 'http://x'}}}\n"
    file.write_text(provider + PARCEL.format(factor=2))
    refused = served.coterie("deploy", "shipping/own.yml")
    assert refused.returncode == ExitCode.CALL_WRONG
    assert "shipping/own.yml:1:" in sentence(refused)
    assert "[E601]" in refused.stderr


def test_a_removed_team_starts_nothing_and_its_next_version_has_a_new_number(
    served: Project, tmp_path: Path
) -> None:
    file = written(served, 2, "removed")
    done(served, "deploy", file)
    done(served, "deploy", "--remove", "removed")
    again = served.coterie("start", "removed", "--set", "weight=1")
    assert "removed is neither a file nor a team" in sentence(again)
    assert price(served, "removed@1") == 6
    assert "removed@2 deployed" in done(served, "deploy", file)
    export = tmp_path / "gateway.audit"
    done(served, "audit", "export", "--gateway", "-o", str(export))
    entries = map(entry_of, checked_export(export.read_bytes(), []).lines)
    records = [
        one for entry in entries if isinstance(entry, GatewayNoted) for one in entry.batch.records
    ]
    acts = [(one.act, one.about) for one in records if one.about.startswith("removed")]
    assert acts == [("deployed", "removed@1"), ("removed", "removed@0"), ("deployed", "removed@2")]


async def test_a_version_keeps_its_personas_whatever_the_worker_has_by_now(
    served: Project,
) -> None:
    config = served.folder / "config"
    task = "{name: pack, agent_type: generic_single_shot, persona_key: packer}"
    team = f"orchestration: {{entry_team: only, teams: {{only: {{tasks: [{task}]}}}}}}\n"
    (config / "teams" / "packing.yml").write_text(team)
    persona = config / "personas" / "packer.yml"
    persona.write_text("prompts: {user: Pack it.}\n")
    await asyncio.to_thread(done, served, "deploy", "packing")
    persona.write_text("prompts: {system: Wrap it., user: Throw it.}\n")
    settings = load(served.environment, served.folder)
    trusted = trusted_catalog(settings, Catalog(settings), None)
    compiler = CompileActivities(settings, trusted, client=await served.client())
    request = CompileRequest(team="packing")
    result = await ActivityEnvironment().run(compiler.compile_team, request)
    assert result.plan is not None, result.refused
    assert result.version == "packing@1"
    assert result.plan.personas["packer"].prompts == {"user": "Pack it."}
    plan = await asyncio.to_thread(done, served, "deploy", "packing", "--plan")
    assert "+prompts: {system: Wrap it., user: Throw it.}" in plan
