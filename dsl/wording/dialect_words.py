"""The words of other systems, and what they are here; docs/comparison.md shows the same."""

from collections.abc import Mapping
from typing import Final

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
