"""An example project runs as its README says, with its real server."""

import asyncio
import json
import socket
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
from temporalio.client import (
    ScheduleActionExecutionStartWorkflow,
    ScheduleBackfill,
    ScheduleHandle,
)

from tests.support.places import ROOT
from tests.support.project import Project, project, until

QUESTION = "May I visit the lighthouse keeper, and then sleep on the island in December?"


def test_the_research_desk_asks_its_server_and_is_recorded_as_a_test(tmp_path: Path) -> None:
    with project(tmp_path / "desk", sample=ROOT / "examples" / "research_desk") as desk:
        listed = desk.coterie("tools", "refresh")
        assert listed.stdout.splitlines() == ["library: 2 tools, unchanged"]
        ran = desk.coterie("run", "research.yml", "--id", "one", "--set", f"question={QUESTION}")
        assert ran.returncode == 0, ran.stderr
        assert "closed in December [island]" in ran.stdout
        (desk.folder / "research.test.yml").unlink()
        recorded = desk.coterie("record", "one", "-o", "research.test.yml")
        assert recorded.returncode == 0, recorded.stderr
        tested = desk.coterie("test", "research.test.yml")
        assert tested.returncode == 0, tested.stdout + tested.stderr


def test_the_bookshop_is_called_by_its_document_and_by_a_declared_call(tmp_path: Path) -> None:
    port = free_port()
    sample, key = ROOT / "examples" / "bookshop", {"SHOP_KEY": "the-key-of-the-shop"}
    with project(tmp_path / "shop", key, sample) as shop:
        settings = shop.folder / "coterie.yml"
        settings.write_text(settings.read_text().replace("8765", str(port)))
        refused = shop.coterie("validate", "order.yml")
        assert "its `server`, `openapi` or `include` has changed" in refused.stdout + refused.stderr
        listed = shop.coterie("tools", "refresh")
        assert listed.stdout.splitlines() == ["shop: 3 operations, unchanged"]
        server = subprocess.Popen(
            [sys.executable, str(shop.folder / "shop_server.py"), str(port)],
            env=key,
            stderr=subprocess.DEVNULL,
        )
        try:
            until(lambda: _answers(port), "the server of the shop")
            wish = "wish=Two copies of a book on lighthouses"
            ran = shop.coterie("run", "order.yml", "--set", wish)
            assert ran.returncode == 0, ran.stderr
            assert "total: 29.0" in ran.stdout
        finally:
            server.kill()
            server.wait()


def test_the_grand_hotel_is_served_by_operations_that_a_search_finds(tmp_path: Path) -> None:
    port = free_port()
    with project(tmp_path / "hotel", sample=ROOT / "examples" / "grand_hotel") as hotel:
        settings = hotel.folder / "coterie.yml"
        settings.write_text(settings.read_text().replace("8767", str(port)))
        listed = hotel.coterie("tools", "refresh")
        assert listed.stdout.splitlines() == ["hotel: 300 operations, unchanged"]
        server = subprocess.Popen(
            [sys.executable, str(hotel.folder / "hotel_server.py"), str(port)],
            stderr=subprocess.DEVNULL,
        )
        try:
            until(lambda: _answers(port), "the server of the hotel")
            wish = "wish=Room 204 stays until the 14th, and needs a taxi at six"
            ran = hotel.coterie("run", "reception.yml", "--id", "one", "--set", wish)
            assert ran.returncode == 0, ran.stderr
            assert "A taxi waits at six." in ran.stdout
        finally:
            server.kill()
            server.wait()
        why = hotel.coterie("why", "one").stdout
        assert "searched for 'order a taxi' and found hotel_callTaxi" in why
        calls = hotel.coterie("show", "one", "reception/serve").stdout
        assert "tools      hotel_listReservations, tool_search, call_found" in calls
        assert 'calls      hotel_callTaxi {"body"' in calls


def test_the_review_desk_reviews_what_a_forge_delivers_and_posts_back(tmp_path: Path) -> None:
    forge, gateway = free_port(), free_port()
    secrets = {"FORGE_TOKEN": "a-token-of-the-forge", "FORGE_WEBHOOK_SECRET": "a-secret-of-both"}
    with project(tmp_path / "desk", secrets, ROOT / "examples" / "review_desk") as desk:
        settings = desk.folder / "coterie.yml"
        settings.write_text(settings.read_text().replace("8766", str(forge)))
        server = subprocess.Popen(
            [sys.executable, str(desk.folder / "forge_server.py"), str(forge)],
            env=secrets,
            stderr=subprocess.DEVNULL,
        )
        try:
            until(lambda: _answers(forge), "the forge")
            desk.begin("serve", "--port", str(gateway), "--no-browser")
            until(lambda: _answers(gateway), "the gateway")
            url = f"http://127.0.0.1:{gateway}/hooks/review/pull_request"
            outcomes = [_delivered(desk, url, secrets)["outcome"] for _ in range(2)]
            assert outcomes == ["started", "known"]
            ended = desk.coterie("result", "hook/review/pull_request/4711-3f1c2a", "--json")
            assert ended.returncode == 0, ended.stderr
            assert json.loads(ended.stdout)["output"] == {"verdict": "change", "comment": 1}
            (comment,) = _comments(forge, secrets["FORGE_TOKEN"])
            assert "loses the centimetres" in comment["body"]
        finally:
            server.kill()
            server.wait()


def free_port() -> int:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _delivered(desk: Project, url: str, secrets: dict[str, str]) -> dict[str, str]:
    """Deliver the pull request as the forge does."""
    done = subprocess.run(
        [sys.executable, str(desk.folder / "deliver.py"), url],
        env=secrets,
        text=True,
        capture_output=True,
        check=True,
        timeout=60,
    )
    return json.loads(done.stdout)


def _comments(port: int, token: str) -> list[dict[str, str]]:
    url = f"http://127.0.0.1:{port}/repos/ada/tides/issues/7/comments"
    answer = httpx2.get(url, headers={"Authorization": f"Bearer {token}"}, trust_env=False)
    return answer.json()


async def test_the_night_report_is_written_for_a_night_that_has_passed(tmp_path: Path) -> None:
    sample = ROOT / "examples" / "night_report"
    with project(tmp_path / "plant", sample=sample) as plant:
        deployed = await asyncio.to_thread(plant.coterie, "deploy", "report.yml")
        assert deployed.stdout == "report@1 deployed\n  schedule every_night created\n"
        plant.begin("worker")
        client = await plant.client()
        handle = client.get_schedule_handle("schedule/coterie/report/every_night")
        described = (await handle.describe()).info
        hours = {f"{time:%H}" for time in described.next_action_times}
        assert hours <= {"02", "03"}, "half past four in Berlin, in summer or in winter"
        morning = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        night = ScheduleBackfill(morning - timedelta(days=1), morning)
        await handle.backfill(night)
        run = await _first_run(handle)
        assert run.startswith(f"schedule/coterie/report/every_night-{night.start_at:%Y-%m-%d}T0")
        ended = await asyncio.to_thread(plant.coterie, "result", run)
        assert ended.returncode == 0, ended.stderr
        assert "Pump 3 ran hot" in (plant.folder / "report.md").read_text()


async def _first_run(handle: ScheduleHandle) -> str:
    async with asyncio.timeout(60):
        while True:
            for one in (await handle.describe()).info.recent_actions:
                assert isinstance(one.action, ScheduleActionExecutionStartWorkflow)
                return one.action.workflow_id
            await asyncio.sleep(0.1)  # between two looks


def test_a_temporal_project_calls_a_team_and_is_called_by_it(tmp_path: Path) -> None:
    sample = ROOT / "examples" / "temporal_project"
    with project(tmp_path / "shop", sample=sample) as shop:
        shop.begin("worker")
        until(lambda: "serving the task queue 'coterie'" in shop.log("worker"), "the worker")
        here = {**shop.environment, "TEMPORAL_ADDRESS": shop.address}
        program = [sys.executable, str(shop.folder / "shop.py")]
        with subprocess.Popen(
            [*program, "worker"], cwd=shop.folder, env=here, stdout=subprocess.PIPE, text=True
        ) as serving:
            try:
                assert serving.stdout is not None
                assert serving.stdout.readline() == "the shop is open\n"
                ordered = subprocess.run(
                    [*program, "order", "7", "A lamp"],
                    cwd=shop.folder,
                    env=here,
                    capture_output=True,
                    text=True,
                    timeout=60,
                    check=False,
                )
                assert ordered.stdout == "sold a lamp for 4500 cents in parcel P-7\n", (
                    ordered.stderr + shop.logs()
                )
                assert ordered.returncode == 0, ordered.stderr
            finally:
                serving.kill()
        why = shop.coterie("why", "sale-7", "sale#1")
        assert "sale#1/send: started, because calls the tool deliver" in why.stdout
        (shop.folder / "sale.test.yml").unlink()
        recorded = shop.coterie("record", "sale-7", "-o", "sale.test.yml", "--team", "sale.yml")
        assert recorded.returncode == 0, recorded.stderr
        tested = shop.coterie("test", "sale.test.yml")
        assert tested.returncode == 0, tested.stdout + tested.stderr


def _answers(port: int) -> bool:
    with closing(socket.socket()) as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
