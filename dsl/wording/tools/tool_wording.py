"""Problems of tools, and of the agents that use them."""

from collections.abc import Sequence

from coterie.dsl.errors import listed
from coterie.dsl.problem_details import ProblemText, Remove, rule
from coterie.dsl.wording.step_names import called

_ARTICLES = {"skill": "a skill", "agent": "an agent", "team": "a team", "mcp": "an MCP tool"}
_KINDS = ", ".join(_ARTICLES)


def key_of_other_tools(key: str, kinds: Sequence[str]) -> str:
    """Return the fix for a key that only other kinds of tool have."""
    owners = " or ".join(_ARTICLES[kind] for kind in kinds)
    return f"remove `{key}`, which belongs to a tool made of {owners}"


@rule("E102")
def tool_of_nothing(name: str) -> ProblemText:
    return ProblemText(
        f"nothing says what the tool {name!r} is made of", _KINDS, "add one of these keys"
    )


@rule("E107")
def tool_of_several(name: str, kinds: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"the tool {name!r} is made of several things: {', '.join(kinds)}",
        _KINDS,
        "keep one of these keys, and write another tool for each of the others",
    )


@rule("E107")
def cached_effect(name: str, effect: str) -> ProblemText:
    return ProblemText(
        f"`cache: run` would leave out calls of {name!r}, and they have an effect ({effect!r})",
        "a tool whose effect is 'read'",
        "remove `cache`",
        edit=Remove("cache"),
    )


@rule("E107")
def unfit_for_local(name: str, reasons: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"the tool {name!r} cannot run as a local activity: {', '.join(reasons)}",
        "a tool whose effect is 'read', with `timeout: 2s` or less, `retries: 0` and no approval",
        "change these, or write `local_activity: false`",
    )


@rule("E106")
def call_too_long(name: str, seconds: float, maximum: float) -> ProblemText:
    return ProblemText(
        f"a call of {name!r} may take {seconds:g} s, and this kind of tool at most {maximum:g} s: "
        "only commands and Python tools continue longer, in a process of their own",
        fix="shorten `timeout`; an MCP server continues a long call as a task, which takes as long "
        "as it needs",
    )


@rule("E107")
def once_retried(name: str) -> ProblemText:
    return ProblemText(
        f"a call of {name!r} must not happen twice, so it is never retried",
        fix="remove `retries`",
        edit=Remove("retries"),
    )


@rule("E107")
def retries_without_retry(name: str) -> ProblemText:
    return ProblemText(
        f"`retries` of {name!r} has no effect: its failures are surfaced at once",
        fix="add `on_error: retry`",
    )


@rule("E107")
def retry_without_retries(name: str) -> ProblemText:
    return ProblemText(
        f"`on_error: retry` of {name!r} does not say how often", fix="add `retries: 2`"
    )


@rule("E102")
def description_missing(name: str) -> ProblemText:
    return ProblemText(
        f"the key 'description' is missing: a model chooses the tool {name!r} by it",
        fix="add `description:`",
    )


@rule("E505")
def unusable_tool_schema(name: str, key: str, reason: str) -> ProblemText:
    return ProblemText(f"the {key} of the tool {name!r} cannot be used: {reason}")


@rule("E213")
def fixed_unknown(name: str, argument: str, known: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"`fixed` sets {argument!r}, which the tool {name!r} does not take",
        listed(known),
        "add it to `input_schema`, or remove it",
    )


@rule("E105")
def tool_name_refused(name: str) -> ProblemText:
    return ProblemText(
        f"model providers refuse the tool name {name!r}",
        "1 to 64 letters, digits, '_' and '-'",
        "rename the tool",
    )


@rule("E208")
def subagent_named_like_tool(name: str) -> ProblemText:
    return ProblemText(
        f"the subagent {name!r} would be a tool of that name, and the document has another one",
        fix=f"rename the tool {name!r} of the document, or offer the agent by a tool of its own",
    )


@rule("E208")
def tool_named_twice(name: str, key: str) -> ProblemText:
    return ProblemText(f"`{key}` names {name!r} twice", fix="remove one of them")


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


@rule("W517")
def exclusion_without_effect(name: str) -> ProblemText:
    return ProblemText(
        f"`exclude_tools` has no effect on {name!r}, which is not offered anyway",
        fix=f"remove {name!r}",
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


@rule("W520")
def unused_tool(name: str) -> ProblemText:
    return ProblemText(
        f"nothing calls the tool {name!r}",
        fix="add it to the `tools` of a persona, call it with a step, or remove it",
    )


@rule("W524")
def stateful_in_parallel(step: str, tool: str) -> ProblemText:
    return ProblemText(
        f"concurrent parts of {called(step)} call the stateful tool {tool!r}, which works on one "
        "call at a time",
        fix="remove `stateful: true`, or run these parts one after another",
    )


_CALL = "a mapping with `tool` and `arguments`, or a template for one"


@rule("E103")
def not_a_call(kind: str) -> ProblemText:
    return ProblemText(
        f"an item of `calls` is {kind}", _CALL, "write `{tool: NAME, arguments: {...}}`"
    )


@rule("E102")
def call_without_tool() -> ProblemText:
    return ProblemText("an item of `calls` has no `tool`", _CALL, "add `tool:` with a tool's name")
