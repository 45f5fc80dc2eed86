"""Records the histories that every later version must replay: `python -m tests.replay.record`.

Each case is a team file with answers and decisions beside it. A history is never edited and never
recorded again for a version that was released; new ones are added.
"""

import asyncio
import tempfile
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import yaml
from temporalio.client import WorkflowFailureError
from temporalio.testing import WorkflowEnvironment

from coterie.version import own_version
from dsl.values import Json
from tests.support.engine import engine, time_skipping

HERE = Path(__file__).parent
CASES = HERE / "cases"
HISTORIES = HERE / "histories"


@dataclass(frozen=True, slots=True)
class Case:
    """One run to record."""

    name: str
    team: str
    context: Json
    answers: list[Json]
    decisions: dict[str, str]
    """`{request id: approve or reject}`."""


def cases() -> list[Case]:
    """Every case, read from its files."""
    found: list[Case] = []
    for file in sorted(CASES.glob("*.script.yml")):
        script = cast("Json", yaml.safe_load(file.read_text()))
        name = file.name.removesuffix(".script.yml")
        found.append(
            Case(
                name=name,
                team=(CASES / f"{name}.yml").read_text(),
                context=cast("Json", script.get("context", {})),
                answers=cast("list[Json]", script.get("answers", [])),
                decisions=cast("dict[str, str]", script.get("decisions", {})),
            )
        )
    return found


async def record(case: Case, env: WorkflowEnvironment, folder: Path) -> str:
    """Run the case to its end; its history as JSON."""
    async with engine(env, folder, case.answers) as running:
        handle: Any = await running.start(case.team, case.context)
        left = dict(case.decisions)
        while left:
            pending = cast("list[Json]", await handle.query("pending"))
            for request in pending:
                name = str(request["id"])
                answer = {
                    "id": name,
                    "decision": left.pop(name),
                    "by": "ann",
                    "comment": "so be it",
                }
                await handle.execute_update("decide", answer)
            await env.sleep(timedelta(minutes=10))
        try:
            await handle.result()
        except WorkflowFailureError as failed:
            print(f"{case.name}: fails with: {failed.cause}")  # noqa: T201
        history = await handle.fetch_history()
        return history.to_json()


async def main() -> None:
    """Record every case that has no history of this version."""
    for case in cases():
        file = HISTORIES / f"{case.name}.{own_version()}.json"
        if file.exists():
            continue
        async with time_skipping() as env:
            with tempfile.TemporaryDirectory() as folder:
                file.write_text(await record(case, env, Path(folder)) + "\n")
        print(f"recorded {file.name}")  # noqa: T201


if __name__ == "__main__":
    asyncio.run(main())
