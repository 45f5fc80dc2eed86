"""Templates that try to take the worker fail by name, while the worker answers other runs."""

import resource
from pathlib import Path
from typing import Any, cast

import yaml
from temporalio.testing import WorkflowEnvironment

from tests.support.engine import engine

EXPRESSIONS = (
    "([[1]*10000]*100000)|sum(start=[])|length",
    "([range(99999)]*1000000)|map('sum')|sum",
    "'%(a)700000000s'|format(a=1)",
    "'%(a).900000000f'|format(a=1)",
    "[[[[1]*1000]*1000]*1000]*1000",
    "('a'*10000000)|wordwrap(1)",
    "('a '*4000000)|title",
    "('a' * 999999) | replace('a', 'b' * 999999, -1)",
)
MEGABYTES_MORE = 100
"""The worker lives in this process, beside the tests: its growth is bounded, not its size."""


def team(*templates: str) -> str:
    """A team of one step for each template; its last step collects how the others failed."""
    tasks: list[dict[str, Any]] = [
        {"name": f"t{n}", "type": "set", "values": {"x": text}, "on_failure": "continue"}
        for n, text in enumerate(templates)
    ]
    named = ", ".join(f"tasks.t{n}.error.type" for n in range(len(templates)))
    tasks.append({"name": "end", "type": "return", "value": "{{ [" + named + "] }}"})
    teams = {"work": {"tasks": tasks}}
    return yaml.safe_dump({"orchestration": {"entry_team": "work", "teams": teams}})


async def test_a_worker_answers_other_runs_while_one_has_hostile_templates(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    hostile = team(*("{{ " + expression + " }}" for expression in EXPRESSIONS))
    async with engine(env, tmp_path, []) as here:
        await here.result(team())
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        bad = await here.start(hostile)
        await here.result(team())
        result: Any = await bad.result()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < MEGABYTES_MORE
    assert ["EvaluationLimitExceeded"] * len(EXPRESSIONS) in find(result)


def find(value: Any) -> list[Any]:
    """Every list within the value."""
    inner: list[Any] = []
    if isinstance(value, dict):
        inner = list(cast("dict[str, Any]", value).values())
    elif isinstance(value, list):
        inner = cast("list[Any]", value)
    return [inner, *(found for item in inner for found in find(item))] if inner else []
