"""Say which agent reads whose work: edges of a graph without cycles.

    graph = SharedMemoryGraph().add_edge("researcher", "writer")
    factory.with_memory_graph(graph)

Each call of `writer` then sees the accepted work that `researcher` has done in the same run.
"""

import warnings
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from typing import Literal, NamedTuple, get_args

from coterie.agents.agent_arguments import TEXT, check_values
from coterie.dsl.errors import nearest

Publish = Literal["final", "tool_result"]
"""What an agent shows: its accepted answers, or also the results of its own tools."""


_PUBLISH: tuple[str, ...] = get_args(Publish)
_OF_EDGES = {"source": TEXT, "reader": TEXT}


class MemoryEdge(NamedTuple):
    """One agent reads the work of another."""

    source: str
    """`agent_id` of the one whose work is read."""
    reader: str
    """`agent_id` of the one that reads."""
    publish: Publish = "final"


class SharedMemoryGraph:
    """The edges between agents; it never has a cycle."""

    def __init__(self) -> None:
        self._edges: dict[tuple[str, str], MemoryEdge] = {}

    def add_edge(self, source: str, reader: str, publish: Publish = "final") -> "SharedMemoryGraph":
        """Let an agent read the work of another; return the graph, for chaining.

        Args:
            source: `agent_id` of the agent whose work is read.
            reader: `agent_id` of the agent that reads.
            publish: `tool_result` also shows the results of the source's own tools.

        Raises:
            TypeError: An id is not a text.
            ValueError: The edge would close a cycle, or there is no such `publish`.
        """
        check_values("add_edge()", {"source": source, "reader": reader}, _OF_EDGES)
        if publish not in _PUBLISH:
            hint = nearest(str(publish), _PUBLISH)
            raise ValueError(
                f"publish={publish!r}: write 'final' or 'tool_result'"
                + (f"; {hint}" if hint else "")
            )
        edges = {**self._edges, (source, reader): MemoryEdge(source, reader, publish)}
        order: TopologicalSorter[str] = TopologicalSorter()
        for edge in edges.values():
            order.add(edge.reader, edge.source)
        try:
            order.prepare()
        except CycleError as error:
            circle = " -> ".join(error.args[1])
            raise ValueError(
                f"agents would read each other's work in a circle: {circle}; leave out one edge"
            ) from None
        self._edges = edges
        return self

    def __iter__(self) -> Iterator[MemoryEdge]:
        return iter(self._edges.values())

    def __len__(self) -> int:
        return len(self._edges)


def warn_of_readers(graph: SharedMemoryGraph | None, registered: Iterable[str]) -> None:
    """Report the edges whose reader is not registered: nobody reads along them."""
    names = tuple(registered)
    for edge in graph or ():
        if edge.reader not in names:
            hint = nearest(edge.reader, names)
            warnings.warn(
                f"the memory graph has an edge from {edge.source!r} to {edge.reader!r}, which is "
                "not registered" + (f"; {hint}" if hint else ""),
                stacklevel=3,
            )
