"""Files of other systems, recognised by their keys, so that nobody gets advice for Coterie on them.

One table. A row matches a file that has all its keys at the top and, if it names some, all keys of
each entry, or of one. The first row that matches counts. `dsl/wording/dialect_words.py` has the
words of each.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from coterie.dsl.source.nodes import Node


class Dialect(NamedTuple):
    """What a file of another system looks like, and what its words are here."""

    system: str
    """As its users call it."""
    top: frozenset[str]
    """Keys that the file has at its top."""
    below: str | None
    """The key whose value, or each of whose entries, has `keys`; None: each entry at the top."""
    keys: frozenset[str]
    """The keys that are there; none: only the top counts."""
    some: bool
    """Whether it is enough that one entry has them, of all that the file has at its top."""

    def matches(self, tree: Node) -> bool:
        """Return whether a file looks like this system's."""
        found = tree.entries()
        if not self.top <= found.keys():
            return False
        if not self.keys:
            return True
        part = tree if self.below is None else found[self.below]
        if self.below is not None and self.keys <= part.entries().keys():
            return True
        each = (*part.entries().values(), *part.items())
        fitting = [self.keys <= one.entries().keys() for one in each]
        return any(fitting) if self.some else bool(each) and all(fitting)


def _row(
    system: str,
    top: Sequence[str] = (),
    *,
    below: str | None = None,
    keys: Sequence[str] = (),
    some: bool = False,
) -> Dialect:
    return Dialect(system, frozenset(top), below, frozenset(keys), some)


DIALECTS: Final[tuple[Dialect, ...]] = (
    _row("Zigflow", ("do", "document"), below="document", keys=("taskQueue", "workflowType")),
    _row(
        "CNCF Serverless Workflow", ("do", "document"), below="document", keys=("dsl", "namespace")
    ),
    _row("CNCF Serverless Workflow", ("specVersion", "states")),
    _row("CrewAI", keys=("backstory", "goal", "role")),
    _row("CrewAI", keys=("description", "expected_output")),
    _row("docker-agent", ("agents",), below="agents", keys=("instruction",)),
    _row("AutoGen Studio", ("component_type", "provider")),
    _row("AutoGen Studio", ("component_type", "participants")),
    _row("dify", ("app", "kind")),
    _row("n8n", ("connections", "nodes")),
    _row("promptflow", ("inputs", "nodes", "outputs")),
    _row("GitHub Actions", ("jobs", "on")),
    _row("GitLab CI", keys=("script",), some=True),
    _row("GitLab CI", keys=("stage",), some=True),
    _row("GitLab CI", ("include", "stages")),
    _row("Argo Workflows", ("apiVersion", "kind", "spec"), below="spec", keys=("templates",)),
    _row("Argo Workflows", ("apiVersion", "spec"), below="spec", keys=("workflowTemplateRef",)),
    _row("Argo Workflows", ("apiVersion", "spec"), below="spec", keys=("workflowSpec",)),
    _row("Ansible", keys=("hosts",), some=True),
    _row("LangGraph", ("dependencies", "graphs")),
    _row("LangGraph", ("graphs", "node_version")),
    _row("julep", ("main", "name")),
    _row("Docker Compose", ("services",)),
)
_OWN_KEYS: Final = frozenset({"llm_config", "orchestration", "worker", "personas"})
"""Keys that only our documents have: a file with one of them is ours, whatever else it has."""


def dialect_of(tree: Node) -> Dialect | None:
    """Return the system whose file this is, judged by its keys; None for one of ours."""
    if _OWN_KEYS & tree.entries().keys():
        return None
    return next((one for one in DIALECTS if one.matches(tree)), None)
