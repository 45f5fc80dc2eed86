"""What belongs to no run is in the audit run: refusals, previews, tokens, exports."""

import asyncio
import re
import time
from collections import Counter
from pathlib import Path

import httpx2
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner

from coterie.audit.audit_chain import checked_export, entry_of
from coterie.audit.audit_entries import GatewayNoted
from coterie.audit.sent_records import audit_run
from coterie.dsl.model.sections.access_document import RoleName
from coterie.failures import ExitCode
from coterie.gateway.identity.program_tokens import create_token
from coterie.runs.run_client import Run
from coterie.settings import Settings, load
from coterie.storage.wire import data_converter
from coterie.workflows.audit_log import AuditLogWorkflow
from coterie.workflows.core.audit_messages import AuditRecord
from tests.e2e.gateway.conftest import said
from tests.support.gateway import begun, described
from tests.support.project import Project


def records_in(file: Path) -> list[AuditRecord]:
    """What an export of the audit run holds."""
    lines = checked_export(file.read_bytes(), []).lines
    entries = [entry_of(line) for line in lines]
    batches = [entry.batch for entry in entries if isinstance(entry, GatewayNoted)]
    return [record for batch in batches for record in batch.records]


async def exported(served: Project, *words: str) -> None:
    done = await asyncio.to_thread(served.coterie, "audit", "export", *words)
    assert done.returncode == ExitCode.DONE, done.stderr


async def test_the_audit_run_has_what_belongs_to_no_run(served: Project, app: object) -> None:
    port = int(re.findall(r"http://127\.0\.0\.1:(\d+)", said(served))[0])
    roles: list[RoleName] = ["operator"]
    file = served.folder / ".coterie/tokens.json"
    token = create_token(file, "watcher", roles, ["*"], time.time(), 600)
    url = f"http://127.0.0.1:{port}"
    async with httpx2.AsyncClient(base_url=url, trust_env=False, timeout=60) as http:
        for _ in range(3):
            await http.get("/v1/runs", headers={"Authorization": "Bearer coterie_wrong"})
        http.headers["Authorization"] = f"Bearer {token}"
        for _ in range(2):
            assert (await http.post("/v1/runs", json={"team": "chore"})).status_code == 403
        assert (await http.get("/v1/bulk", params={"action": "cancel"})).status_code == 200
    revoked = await asyncio.to_thread(served.coterie, "tokens", "revoke", "watcher")
    assert revoked.returncode == ExitCode.DONE, revoked.stderr
    run = await begun(app, "chore")
    await described(app, run, "completed")
    await exported(served, run, "-o", "run.audit")
    target = served.folder / "gateway.audit"
    async with asyncio.timeout(60):
        while not target.exists() or "previewed" not in {one.act for one in records_in(target)}:
            await exported(served, "--gateway", "-o", target.name)
            await asyncio.sleep(0.5)  # until the gateway has sent its batch
    counts = Counter[tuple[str, ...]]()
    for one in records_in(target):
        counts[one.act, one.subject, one.method, one.door, one.about, one.code] += one.count
    assert counts["refused", "", "", "", "request", "token_invalid"] >= 3
    assert counts["refused", "watcher", "token", "api", "start", "not_allowed"] == 2
    assert counts["previewed", "watcher", "token", "api", "preview_bulk", ""] == 1
    others = {(act, about) for act, _, _, _, about, _ in counts}
    assert {("revoked a token", "watcher"), ("exported", run)} <= others
    await replays(served)
    wrong = await asyncio.to_thread(
        served.coterie, "audit", "export", audit_run(settings_of(served)), "-o", "x"
    )
    assert wrong.returncode == ExitCode.CALL_WRONG
    assert "--gateway" in wrong.stderr


def settings_of(served: Project) -> Settings:
    return load(served.environment, served.folder)


async def replays(served: Project) -> None:
    history = await Run(await served.client(), audit_run(settings_of(served))).history()
    replayer = Replayer(
        workflows=[AuditLogWorkflow],
        data_converter=data_converter,
        workflow_runner=UnsandboxedWorkflowRunner(),
    )
    await replayer.replay_workflow(history)
