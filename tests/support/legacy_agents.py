"""Agents as older configurations have them: found by their import path, made with a config."""

import asyncio
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

NOW = datetime(2025, 4, 29, tzinfo=UTC)


@dataclass
class Response:
    """The family's own AgentResponse: more fields than cross to a run."""

    success: bool
    data: dict[str, Any]
    error: str | None = None
    metrics: dict[str, Any] = field(default_factory=dict[str, Any])


class Discovery:
    """The oldest shape: one `config`, its section found by its own name."""

    def __init__(self, config: dict[str, Any] | None = None) -> None:
        self.section = (config or {})["llm_config"]["agents"]["discovery"]

    def process(self, context: dict[str, Any]) -> Response:
        found = {"model": self.section["model"], "path": context["project"]["path"]}
        context["project"]["path"] = "rewritten"  # they write to what they are given
        self.section["model"] = "rewritten"
        return Response(success=True, data=found, metrics={"at": NOW})


class Designer:
    """A later shape: the whole configuration and a name; its process is async."""

    def __init__(self, full_effective_config: dict[str, Any], unique_name: str) -> None:
        self.unique_name = unique_name
        self.agents = full_effective_config["llm_config"]["agents"]

    async def process(self, context: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"success": True, "data": {"name": self.unique_name, "given": context}}


class Inheriting(Designer):
    """Hands its arguments on, so that its signature does not tell what it takes."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(kwargs["config"], "from kwargs")


class Failing:
    """Says itself that it failed."""

    def process(self, context: dict[str, Any]) -> Response:
        return Response(success=False, data={"tried": 3}, error="no solution found")


class Raising:
    """Raises what `raises` in its context names."""

    def process(self, context: dict[str, Any]) -> Response:
        match context["raises"]:
            case "exit":
                sys.exit("stop the worker")
            case "stop":
                raise StopIteration
            case _:
                raise ValueError("cannot\nread the plan")


class RaisingLater:
    """The same, awaited."""

    async def process(self, context: dict[str, Any]) -> Response:
        return Raising().process(context)


class Deferring:
    """Is not async itself, but what it returns is to be awaited."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.later = Designer(config, "deferred")

    def process(self, context: dict[str, Any]) -> object:
        return self.later.process(context) if context else RaisingLater().process({"raises": ""})


class Unserialisable:
    """Answers with something that no run can keep."""

    def process(self, context: dict[str, Any]) -> Response:
        return Response(success=True, data={"files": [{"at": "now"}, {"at": NOW}]})


class Silent:
    """Answers with nothing."""

    def process(self, context: dict[str, Any]) -> None:
        return None


class Demanding:
    """Its constructor needs what nobody can give it."""

    def __init__(self, config: dict[str, Any], database: object) -> None:
        self.database = database

    def process(self, context: dict[str, Any]) -> None:
        return None


class NotAnAgent:
    """Has no process()."""
