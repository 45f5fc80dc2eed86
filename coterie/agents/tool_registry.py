"""A program's own tools by name.

    registry = ToolRegistry()
    registry.register(weather)                       # a function with @tool
    registry.register_simple(name="multiplier", executor=multiplied, input_schema=...)

An agent names a registered tool by its name: `tools=["multiplier"]`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from pydantic import JsonValue

from coterie.agents.tool_definitions import (
    BaseTool,
    Executor,
    InvalidTool,
    ToolSchema,
    ready_tool,
    schema_of,
)
from coterie.dsl.errors import listed, nearest
from coterie.dsl.model.capabilities import Effect, Label


class ToolRegistry:
    """Holds tools by name; two tools never have the same one."""

    def __init__(self) -> None:
        self._tools: dict[str, ToolSchema] = {}

    def register(
        self, tool: Executor | BaseTool | ToolSchema, *, name: str | None = None
    ) -> ToolSchema:
        """Add a tool, and return its definition.

        Args:
            tool: A typed function, an instance of BaseTool, or a ToolSchema.
            name: Instead of its own name.

        Raises:
            InvalidTool: It cannot be a tool, or the name is taken by another one.
        """
        schema = schema_of(tool)
        if name is not None:
            schema = replace(schema, name=name)
        ready_tool(schema)  # a tool that cannot be called fails here, not in a run
        known = self._tools.get(schema.name)
        if known is not None and known != schema:
            raise InvalidTool(f"another tool is already registered as {schema.name!r}")
        self._tools[schema.name] = schema
        return schema

    def register_simple(
        self,
        name: str,
        description: str,
        executor: Executor,
        input_schema: Mapping[str, JsonValue] | None = None,
        timeout_seconds: float | None = None,
        max_retries: int | None = None,
        *,
        effect: Effect | None = None,
        labels: tuple[Label, ...] = (),
        requires_approval: bool = False,
    ) -> ToolSchema:
        """Add a function as a tool, with its contract in arguments.

        Args:
            name: The name that a model calls.
            description: What the model reads.
            executor: The function, sync or async; called with the arguments by name.
            input_schema: `{argument: JSON Schema}`. Default: from the function's types.
            timeout_seconds: For one attempt.
            max_retries: Additional attempts after a failure.
            effect: What a repeated call does. Default: `idempotent` with retries, else `once`.
            labels: `private`, `untrusted`, `egress`.
            requires_approval: A person allows each call.

        Raises:
            InvalidTool: It cannot be a tool, or the name is taken by another one.
        """
        return self.register(
            ToolSchema(
                name=name,
                executor=executor,
                description=description,
                input_schema=input_schema,
                timeout_seconds=timeout_seconds,
                max_retries=max_retries,
                effect=effect,
                labels=labels,
                requires_approval=requires_approval,
            )
        )

    def get(self, name: str) -> ToolSchema:
        """Return the tool of this name.

        Raises:
            InvalidTool: There is none; names the nearest.
        """
        found = self._tools.get(name)
        if found is None:
            hint = nearest(name, self._tools)
            raise InvalidTool(
                f"no tool is registered as {name!r}; registered: {listed(self._tools)}"
                + (f": {hint}" if hint else "")
            )
        return found

    def list(self) -> list[str]:
        """Return the names of all tools, in the order of registration."""
        return [*self._tools]

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[ToolSchema]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)
