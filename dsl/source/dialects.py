"""Files of other systems, recognised by their keys, so that nobody gets advice for Coterie on them.

One table. A row matches a file that has all its keys at the top and, if it names some, all keys of
each entry, or of one. The first row that matches counts. `WORDS` has the words of each.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from coterie.dsl.problem_details import ProblemText, rule
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
        entries = tree.entries()
        if not self.top <= entries.keys():
            return False
        if not self.keys:
            return True
        part = tree if self.below is None else entries[self.below]
        if self.below is not None and self.keys <= part.entries().keys():
            return True
        each = (*part.entries().values(), *part.items())
        fitting = [self.keys <= node.entries().keys() for node in each]
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
    return next((dialect for dialect in DIALECTS if dialect.matches(tree)), None)


_SHOWN = 3


@rule("E111")
def other_system(system: str) -> ProblemText:
    words = "; ".join(f"{theirs} -> {ours}" for theirs, ours in WORDS[system][:_SHOWN])
    return ProblemText(
        f"this looks like a file of {system}, which Coterie does not read",
        fix=f"write a document with `llm_config:` and `orchestration:`: {words}; the table of "
        f"{system} in docs/other-systems.md has the other words",
    )


Words = tuple[tuple[str, str], ...]

_SERVERLESS: Words = (
    ("`do`", "`tasks` of a team"),
    ("`set`", "a step with `values`"),
    ("`call`", "a step with `skill` or `tool`"),
    ("`switch`", "`routing.rules`, or a step with `branches`"),
    ("`for`", "a step with `iterate_on`"),
    ("`fork`", "a step of type `parallel`"),
    ("`wait`, `listen`", "a step with `duration` or `signal`"),
    ("`try`, `catch`", "a step with `catch`"),
    ("`${ .x }`", "`{{ context.x }}`"),
)

WORDS: Final[Mapping[str, Words]] = {
    "Zigflow": _SERVERLESS,
    "CNCF Serverless Workflow": _SERVERLESS,
    "CrewAI": (
        (
            "an agent: `role`, `goal`, `backstory`",
            "a persona, with `prompts.system`",
        ),
        (
            "a task: `description`, `expected_output`",
            "a step of `tasks`, with `input`",
        ),
        ("`agent` of a task", "`persona_key`"),
        ("`context` of a task", "`{{ tasks.NAME.data }}` in `input`"),
        ("`output_json`, `output_pydantic`", "`output_schema` of the persona"),
        ("`human_input`", "`requires_approval`"),
        ("`max_iter`", "`max_turns`"),
        ("`allow_delegation`", "`subagents`, `handoffs`"),
        ("a crew with `process`", "a team with `tasks` and `routing`"),
    ),
    "docker-agent": (
        ("`agents`", "`llm_config.personas`"),
        ("`instruction`", "`prompts.system`"),
        ("`models`", "`llm_config.providers`, and `model` of a persona"),
        ("`toolsets`", "`tools`, `worker.mcp_servers`"),
        ("`sub_agents`", "`subagents`"),
        ("`handoffs`", "`handoffs`, which name teams"),
        ("the agent `root`", "`orchestration.entry_team`"),
    ),
    "AutoGen Studio": (
        ("`participants`", "personas, and a step for each turn"),
        ("`system_message`", "`prompts.system` of a persona"),
        ("`model_client`", "`provider` and `model` of a persona"),
        ("`termination_condition`", "`routing.rules` with `next_team: null`, and limits"),
        ("`max_turns`", "`max_iterations` of a loop, `max_turns` of a persona"),
        ("`workbench`, `tools`", "`tools`, `worker.mcp_servers`"),
    ),
    "dify": (
        ("`workflow.graph.nodes`", "`tasks` of a team"),
        ("`workflow.graph.edges`", "the order of steps, and `routing`"),
        ("a node `llm` or `agent`", "a step with `persona_key`"),
        ("a node `if-else`", "a step with `branches`, or `routing.rules`"),
        ("a node `iteration`", "a step with `iterate_on`"),
        ("a node `code`", "a step with `skill: Python.run`"),
        ("`conversation_variables`", "`orchestration.context`"),
        ("`{{#node.field#}}`", "`{{ tasks.NAME.data.field }}`"),
    ),
    "n8n": (
        ("`nodes`", "`tasks` of a team"),
        ("`connections`", "the order of steps, and `routing`"),
        ("a trigger node", "`coterie start`, or a Temporal schedule"),
        ("`credentials`", "`api_key_env`, and other keys that end in `_env`"),
        ("`={{ $json.x }}`", "`{{ tasks.NAME.data.x }}`"),
    ),
    "promptflow": (
        ("`nodes`", "`tasks` of a team"),
        ("`inputs`", "`orchestration.context`"),
        ("`outputs`", "`orchestration.output`"),
        ("a node of type `llm`", "a step with `persona_key`"),
        ("a node of type `python`", "a step with `skill` or `tool`"),
        ("`activate`", "`when`"),
        ("`${node.output}`", "`{{ tasks.NAME.data }}`"),
    ),
    "GitHub Actions": (
        ("`jobs`", "`orchestration.teams`"),
        ("`needs`", "`routing`"),
        ("`steps`", "`tasks`"),
        ("`run`", "a command of `worker.commands`, and a step with `skill: CommandRunner.run`"),
        ("`if`", "`when`"),
        ("`strategy.matrix`", "a step with `iterate_on`"),
        ("`env`, `secrets`", "keys that end in `_env`"),
        ("`${{ steps.x.outputs.y }}`", "`{{ tasks.x.data.y }}`"),
    ),
    "GitLab CI": (
        ("a job", "a team, or a step of `tasks`"),
        ("`stages`, `needs`", "the order of steps, and `routing`"),
        ("`script`", "a command of `worker.commands`, and a step with `skill: CommandRunner.run`"),
        ("`rules`, `only`, `except`", "`when`"),
        ("`parallel.matrix`", "a step with `iterate_on`"),
        ("`when: manual`", "`requires_approval`, or a step of type `approval`"),
        ("`retry`", "`retry`"),
        ("`variables`", "`orchestration.context`; secrets in keys that end in `_env`"),
        ("`extends`, `include`", "`include`"),
    ),
    "Argo Workflows": (
        ("`spec.templates`", "`orchestration.teams`"),
        ("`spec.entrypoint`", "`orchestration.entry_team`"),
        ("`steps`", "`tasks` of a team"),
        ("`dag`", "a step of type `parallel` or `task_graph`"),
        ("`container`, `script`", "a command of `worker.commands`; Coterie starts no containers"),
        ("`withItems`, `withParam`", "a step with `iterate_on`"),
        ("`suspend`", "a step of type `approval`, or one with `duration`"),
        ("`when`", "`when`"),
        ("`retryStrategy`", "`retry`"),
        ("`onExit`", "`finally`"),
        ("`{{steps.x.outputs.result}}`", "`{{ tasks.x.data }}`"),
    ),
    "Ansible": (
        ("a play", "a team"),
        ("`hosts`", "nothing: a step runs on a worker"),
        ("`tasks`", "`tasks`"),
        ("a module", "a step with `skill` or `tool`"),
        ("`register`", "`{{ tasks.NAME.data }}`"),
        ("`when`", "`when`"),
        ("`loop`, `with_items`", "a step with `iterate_on`"),
        ("`block`, `rescue`, `always`", "a step with `steps`, `catch` and `finally`"),
        ("`vars`", "`orchestration.context`"),
        ("`import_tasks`, `roles`", "`include`, or a step with `team`"),
    ),
    "LangGraph": (
        ("`graphs`", "`orchestration.teams`; a graph in Python has no counterpart in a file"),
        ("a node of the graph", "a step of `tasks`"),
        ("a conditional edge", "`routing.rules`"),
        ("the state", "`orchestration.context`"),
        ("`interrupt`", "a step of type `approval`"),
        ("`dependencies`", "`worker.tool_packages`, for functions of yours"),
        ("`env`", "keys that end in `_env`"),
        ("the checkpointer, `store`", "nothing: the history of a run keeps its state"),
    ),
    "julep": (
        ("`main`", "`tasks` of a team"),
        ("`prompt`", "a step with `persona_key`; the text in `prompts` of the persona"),
        ("`evaluate`", "a step with `values`"),
        ("`tool`", "a step with `tool`"),
        ("`switch`, `if`", "a step with `branches`"),
        ("`over`, `map`", "a step with `iterate_on`"),
        ("`input_schema`", "`orchestration.context`"),
        ("`$ _.x`", "`{{ tasks.NAME.data.x }}`"),
    ),
    "Docker Compose": (
        ("`services`", "nothing: Coterie starts no containers"),
        ("`environment`, `${NAME}`", "keys that end in `_env`; nothing expands `${NAME}`"),
        ("`extends`, `include`", "`include`"),
        ("`command`", "a command of `worker.commands`"),
    ),
}
"""`{system: (their word, our word)}`, the most important first."""
