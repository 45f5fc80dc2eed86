"""Checks of an agent's tools against each other: its choice, its policy, and what has no effect."""

from collections.abc import Callable

from coterie.dsl.checks.tools.tool_names import tool_named_twice
from coterie.dsl.model.plan import Persona
from coterie.dsl.model.step_kinds.agent_types import ORCHESTRATING, TOOL_CALLING
from coterie.dsl.model.steps import PersonaStep
from coterie.dsl.model.tools.tool_use import NamedTool, ToolPolicy
from coterie.dsl.model.traversal.step_bounds import maximum_turns
from coterie.dsl.problem_details import Details, ProblemText, Remove, rule
from coterie.dsl.problem_texts import called
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.source.unknown_names import unknown
from coterie.dsl.values import NodePath

TOOL_KEYS = (
    *("max_turns", "tool_choice", "tool_calls", "tool_policy", "parallel_tool_calls"),
    *("tool_search", "always_sent", "code_mode"),
)
"""Keys of a persona that only say how its tools are used."""

Written = Callable[..., NodePath]
"""Returns where a field of the merged persona is written."""


def check_tool_use(
    step: PersonaStep,
    persona: Persona,
    path: NodePath,
    written_at: Written,
    tree: Node,
    problems: Problems,
) -> None:
    """Note what an agent's tools, and the keys about them, cannot mean together.

    Args:
        step: The agent step.
        persona: With the step's `config` merged in, and its tools resolved.
        path: Where the step is written.
        written_at: Where the persona's fields are written.
        tree: The document.
        problems: Collects the findings.
    """
    checks = _ToolUse(step, persona, path, written_at, tree, problems)
    if step.agent_type == ORCHESTRATING:
        return
    if not persona.tools and not persona.handoffs:
        if step.agent_type == TOOL_CALLING:
            checks.missing_tools()
        else:
            checks.without_tools()
        return
    if step.agent_type != TOOL_CALLING:
        checks.uncalled_tools()
        return
    checks.plan()
    checks.turns()
    checks.choice()
    checks.policies()
    checks.returned()
    checks.search()


@rule("E503")
def without_tools(key: str) -> ProblemText:
    return ProblemText(
        f"`{key}` has no effect: the agent has no tools",
        fix=f"add `tools:`, or remove `{key}`",
    )


@rule("E107")
def turns_said_twice() -> ProblemText:
    return ProblemText(
        "`max_turns` of the task replaces that of its `config`",
        fix="remove `max_turns` from `config`",
        edit=Remove("max_turns"),
    )


@rule("E503")
def tools_missing(persona: str, step: str) -> ProblemText:
    return ProblemText(
        f"the persona {persona!r} has no tools, and {called(step, 'the task')} needs some",
        fix="add `tools:` to the persona, or remove `agent_type`",
    )


@rule("E503")
def tools_not_called(persona: str, agent_type: str) -> ProblemText:
    return ProblemText(
        f"the persona {persona!r} has tools, and a {agent_type} agent never calls one",
        fix="remove `agent_type`, or write `agent_type: generic_tool_calling`",
    )


@rule("E503")
def plan_and_tools(persona: str) -> ProblemText:
    return ProblemText(
        f"the persona {persona!r} has an execution_plan, and a generic_tool_calling agent never "
        "follows one",
        fix="use `agent_type: generic_orchestrating`",
    )


@rule("E107")
def search_without_effect(why: str) -> ProblemText:
    return ProblemText(
        f"`tool_search: always` has no effect: with `{why}` no call is executed",
        fix="remove one of the two",
    )


@rule("E107")
def sent_anyway() -> ProblemText:
    return ProblemText(
        "`always_sent` has no effect: `tool_search: never` sends all tools",
        fix="remove one of the two",
    )


@rule("E107")
def choice_of_none(tool: str) -> ProblemText:
    return ProblemText(
        f"`tool_policy` demands calls of {tool!r}, and `tool_choice: none` allows none",
        fix="remove `min_calls`, or set `tool_choice: auto`",
    )


@rule("E107")
def policy_of_returned(tool: str) -> ProblemText:
    return ProblemText(
        f"`tool_policy` of {tool!r} has no effect: `tool_calls: return` executes no call",
        fix="remove `tool_policy`, or set `tool_calls: execute`",
    )


@rule("E107")
def schema_of_returned() -> ProblemText:
    return ProblemText(
        "`output_schema` has no effect: with `tool_calls: return` the calls are the data",
        fix="remove `output_schema`, or set `tool_calls: execute`",
    )


@rule("E106")
def policy_bounds(tool: str, least: int, maximum: int) -> ProblemText:
    return ProblemText(
        f"`tool_policy` demands at least {least} calls of {tool!r} and allows at most {maximum}",
        fix="set `max_calls` to at least `min_calls`",
    )


@rule("E106")
def policy_beyond_turns(tool: str, least: int, turns: int) -> ProblemText:
    return ProblemText(
        f"`tool_policy` demands {least} calls of {tool!r}, and one call in each of {turns} turns "
        "is the most there can be",
        fix="raise `max_turns`, or set `parallel_tool_calls: true`",
    )


@rule("E107")
def policy_without_effect(tool: str) -> ProblemText:
    return ProblemText(
        f"`tool_policy` demands nothing of {tool!r}",
        "min_calls, max_calls, require_success, exit_on_success",
        "add one of these keys, or remove the entry",
    )


class _ToolUse:
    """The checks of one agent that has tools."""

    def __init__(
        self,
        step: PersonaStep,
        persona: Persona,
        path: NodePath,
        written_at: Written,
        tree: Node,
        problems: Problems,
    ) -> None:
        self._step = step
        self._persona = persona
        self._path = path
        self._written_at = written_at
        self._tree = tree
        self._problems = problems

    def missing_tools(self) -> None:
        """Note that an agent that calls tools has none."""
        path = (*self._path, "agent_type")
        key_path = path if self._tree.has(path) else self._path
        self._refuse(key_path, tools_missing(self._step.persona_key, self._step.name))

    def uncalled_tools(self) -> None:
        """Note that an agent has tools, and is of a type that does not call them."""
        where = (*self._path, "agent_type")
        if not self._problems.has("E203", where):
            step = self._step
            self._refuse(where, tools_not_called(step.persona_key, str(step.agent_type)))

    def plan(self) -> None:
        """Note that an agent that calls tools has an execution plan besides."""
        if self._persona.execution_plan:
            where = (*self._path, "agent_type")
            self._refuse(where, plan_and_tools(self._step.persona_key))

    def _refuse(self, path: NodePath, details: Details) -> None:
        """Note, at its value, an agent type that does not fit the persona."""
        self._problems.report(details, self._tree.value_at(path))

    def without_tools(self) -> None:
        """Note the keys that say how tools are used, where there are none."""
        paths = [self._written_at(key) for key in TOOL_KEYS]
        for path in (*paths, (*self._path, "max_turns")):
            if self._tree.has(path):
                self._note(path, without_tools(str(path[-1])))

    def turns(self) -> None:
        """Note turns that the task's `config` says, and the task itself says otherwise."""
        config = self._step.config
        if self._step.max_turns is not None and config is not None and config.max_turns is not None:
            self._note((*self._path, "config", "max_turns"), turns_said_twice())

    def choice(self) -> None:
        """Note a `tool_choice` that names a tool which is not offered."""
        choice = self._persona.tool_choice
        if isinstance(choice, NamedTool) and choice.tool not in self._persona.tools:
            path = self._written_at("tool_choice", "tool")
            tools = self._persona.tools
            unknown(self._problems, self._tree.value_at(path), "offered tool", choice.tool, tools)

    def policies(self) -> None:
        """Note policies of tools that are not offered, and bounds that no run can meet."""
        seen_names: set[str] = set()
        for index, policy in enumerate(self._persona.tool_policy):
            path = (*self._written_at("tool_policy"), index)
            if policy.tool in seen_names:
                self._note((*path, "tool"), tool_named_twice(policy.tool, "tool_policy"))
            seen_names.add(policy.tool)
            if policy.tool not in self._persona.tools:
                where = (*path, "tool")
                tools = self._persona.tools
                if not self._problems.has("E204", where):
                    unknown(
                        self._problems,
                        self._tree.value_at(where),
                        "offered tool",
                        policy.tool,
                        tools,
                    )
            self._policy(policy, path)

    def _policy(self, policy: ToolPolicy, path: NodePath) -> None:
        persona = self._persona
        if policy == ToolPolicy(tool=policy.tool) and not any(self._problems.below(path)):
            self._note(path, policy_without_effect(policy.tool))
        if policy.max_calls is not None and policy.max_calls < policy.min_calls:
            details = policy_bounds(policy.tool, policy.min_calls, policy.max_calls)
            self._note((*path, "max_calls"), details)
        if policy.min_calls and persona.tool_choice == "none":
            self._note((*path, "min_calls"), choice_of_none(policy.tool))
        turns = maximum_turns(self._step, persona)
        one_by_one = not persona.parallel_tool_calls and not persona.code_mode
        if one_by_one and policy.min_calls > turns:
            details = policy_beyond_turns(policy.tool, policy.min_calls, turns)
            self._note((*path, "min_calls"), details)

    def search(self) -> None:
        """Note what `tool_search` and `always_sent` cannot mean."""
        persona, path = self._persona, self._written_at("tool_search")
        if persona.tool_search == "always" and persona.tool_calls == "return":
            self._note(path, search_without_effect("tool_calls: return"))
        elif persona.tool_search == "always" and persona.tool_choice == "none":
            self._note(path, search_without_effect("tool_choice: none"))
        where = self._written_at("always_sent")
        if persona.always_sent and persona.tool_search == "never":
            self._note(where, sent_anyway())
        for name in persona.always_sent:
            if name not in persona.tools and not any(self._problems.below(where)):
                tools = persona.tools
                unknown(self._problems, self._tree.value_at(where), "offered tool", name, tools)

    def returned(self) -> None:
        """Note what has no effect when calls are returned and not executed."""
        if self._persona.tool_calls != "return":
            return
        if self._persona.output_schema is not None:
            self._note(self._written_at("output_schema"), schema_of_returned())
        if self._persona.tool_policy:
            tool = self._persona.tool_policy[0].tool
            self._note(self._written_at("tool_policy"), policy_of_returned(tool))

    def _note(self, path: NodePath, details: Details) -> None:
        self._problems.report(details, self._tree.key_at(path))
