"""Refused forms of older files and of other systems, and their replacements.

Tables by key, used where a key is unknown, before similar spellings. `AT_PLACES` applies to one
part of a document, and comes before `REPLACEMENTS`.
"""

from collections.abc import Sequence

from coterie.dsl.problem_details import Edit, MoveBelow, Remove
from coterie.dsl.problem_texts import Advice, Suggestion, WriteKey

_AS_CONTEXT = (
    "give it with the start, by `--context` or `--set`: templates read `{{{{ context.{0} }}}}`"
)
_UNDER_LLM = "write it under `llm_config:`"
_UNDER_ORCHESTRATION = "write it under `orchestration:`"

AT_PLACES: dict[str, dict[str, str]] = {
    "SystemDocument": {
        "agents": "write each as a persona under `llm_config.personas:`, and its work as a task "
        "under "
        "`orchestration.teams.<team>.tasks:`",
        "workorder": _AS_CONTEXT.format("workorder"),
        "work_order": _AS_CONTEXT.format("work_order"),
        "intent": _AS_CONTEXT.format("intent"),
        "request": _AS_CONTEXT.format("request"),
        "input": _AS_CONTEXT.format("input"),
        "inputs": _AS_CONTEXT.format("inputs"),
        "context": "declare it under `orchestration.context:`, or give it at the start with "
        "`--context` or `--set`",
        "project": "name the folder with `--workspace`, or as `worker: {workspace: ...}` in "
        "coterie.yml; "
        "give other facts with `--context`",
        "runtime": "write limits under `orchestration:`, and what the worker may do under "
        "`worker:`; a run "
        "is durable without a setting",
        "backup": "remove it: `AssetManager` keeps a backup of each file that it changes in "
        "`.coterie`",
        "logging": "remove it: `coterie show` and `coterie why` report what a run did, and logs of "
        "a worker "
        "stand in `.coterie`",
        "tartxt_config": "call the tool function `Discovery.collect` in an `execution_plan:`; its "
        "`include`, "
        "`exclude` and `max_bytes` say what is read",
        "merge_config": "call the tool function `AssetManager.apply_changes` in an "
        "`execution_plan:`; it applies "
        "diffs and asks no model to merge",
        "providers": _UNDER_LLM,
        "personas": _UNDER_LLM,
        "default_provider": _UNDER_LLM,
        "default_model": _UNDER_LLM,
        "llm": "write `llm_config:`",
        "teams": _UNDER_ORCHESTRATION,
        "entry_team": _UNDER_ORCHESTRATION,
        "max_total_teams": _UNDER_ORCHESTRATION,
        "max_recursion_depth": _UNDER_ORCHESTRATION,
        "budgets": _UNDER_ORCHESTRATION,
        "groups": _UNDER_ORCHESTRATION,
        "workflow": "write its steps as tasks of teams, under `orchestration.teams:`",
        "tasks": "write it in a team, under `orchestration.teams.<team>:`",
        "steps": "write them as `tasks:` of a team, under `orchestration.teams.<team>:`",
        "routing": "write it in a team, under `orchestration.teams.<team>:`",
        "commands": "write it under `worker:`, in coterie.yml",
        "workspace": "write it under `worker:`, in coterie.yml",
        "agent_packages": "write it under `worker:`, in coterie.yml",
        "version": "remove it: a document has no version; the plan's digest distinguishes versions",
        "metadata": "write `name:` and `description:`",
        "retry": "write `retry:` on the steps to retry",
        "output": "write it under `orchestration:`, as a template of what the run returns",
    },
    "Budgets": {
        key: f"write it under an amount: `tokens: {{limit: 100000, {key}: ...}}`"
        for key in ("limit", "warn_at", "on_exceeded", "next_team", "ask")
    },
    "Orchestration": {
        "personas": "write it under `llm_config:`, beside `orchestration:`",
        "providers": "write it under `llm_config:`, beside `orchestration:`",
        "routing": "write it in each team",
        "agents": "write each as a task of a team, under `teams.<team>.tasks:`",
        "tasks": "write it in a team, under `teams.<team>:`",
    },
    "PersonaStep": {
        key: f"write it under `config:`, which is laid over the persona: `config: {{{key}: ...}}`"
        for key in (
            "provider",
            "model",
            "temperature",
            "top_p",
            "max_tokens",
            "prompts",
            "stream",
            "batch",
            "flags",
            "prompt_syntax",
            "output_schema",
            "max_reasks",
            "retries",
            "execution_plan",
        )
    },
}
"""`{part of a document: {key that it does not have: what to write instead}}`."""

EXPLAINED = {
    "SystemDocument": "remove it, or give it with the start by `--context`: templates then read "
    "`{{{{ context.{0} }}}}`",
    "PersonaDocument": "remove it, or write it under `flags:`: prompts then read `{{{{ flags.{0} "
    "}}}}`",
    "TeamDocument": "remove it, or say it to people in `description:`; what routing decides by "
    "stands "
    "under `routing:`",
    "PersonaStep": "remove it, or write it under `input:`: prompts then read `{{{{ input.{0} }}}}`",
    "FunctionStep": "remove it, or write it under `input:`, if the tool function takes it",
    "ToolStep": "remove it, or write it under `arguments:`, if the tool takes it",
}
"""`{part of a document: the likely intent of an unknown key there}`."""


def explained(part: str | None, name: str) -> str:
    """Return the fix for a key without a similar known key."""
    fix = EXPLAINED.get(part or "")
    if fix is not None:
        return fix.format(name)
    return f"remove it: nothing reads `{name}` here, and the keys above are all that there are"


def rest_of_text(key: str) -> str:
    """Return the fix for a key that is the end of a text with a comma, within `{ }`."""
    return (
        f"if `, {key}` belongs to the text before it, quote the whole text: within `{{ }}` a comma "
        "ends it"
    )


def of_other_kinds(key: str, kinds: Sequence[str]) -> str:
    """Return the fix for a key that only other kinds of step have."""
    types = " or ".join(f"`type: {kind}`" for kind in kinds)
    return f"write {types}, which has `{key}`, or remove the key"


RENAMED = {
    "condition": "when",
    "if": "when",
    "next": "next_team",
    "timeout_seconds": "timeout",
    "agents": "tasks",
    "stop_on_error": "stop_on_failure",
    "agent_config": "config",
    "input_params": "input",
}
"""`{key of an older form: the present key of the same mapping}`."""

KEYS_MEANT = RENAMED | {
    "max_retries": "retry",
    "retry_count": "retry",
    "retry_config": "retry",
    "error_handling": "retry",
    "conditions": "condition",
    "api_key": "api_key_env",
    "tokens_per_minute": "requests_per_minute",
    "skill_params": "input",
}
"""The same, including keys whose values are written in another way."""

REPLACEMENTS = {
    **{old: f"write `{new}:`" for old, new in RENAMED.items()},
    "depends_on": "tasks run in written order: put this one after the other, or use `when`",
    "max_retries": "write `retry: {retries: ...}`",
    "retry_count": "write `retry: {retries: ...}`",
    "retry_config": "write `retry: {retries: ..., interval: ...}`",
    "conditions": "write one `condition:`; a list of conditions means AND",
    "parallel": "use a step of `type: parallel`, or fan out with `next_team: [a, b]`",
    "on_success": "write a rule under `routing.rules`",
    "on_error": "write `routing.default:`, or a step of `type: try`",
    "api_key": "write `api_key_env:` with the NAME of the environment variable",
    "tokens_per_minute": "write `requests_per_minute:`; tokens are known only after the call",
    "litellm_params": "remove it: retries and timeouts are the persona's own",
    "stop_on_failure": "write `on_failure: continue` on the step that may fail",
    "error_handling": "write `retry:` on the tasks, and `routing.default:` for what still fails",
    "error_handler": "use a step of `type: try`, or `retry:` on the steps",
    "target": "write the steps of this branch under `steps:`; a plan cannot jump",
    "rules": "use a step of `type: branch`, `return` or `fail`; a loop has `break_when:`",
    "iterate_on": "write it under `loop:`, the section of a team of `type: loop`",
    "loop_variable": "write it under `loop:`, the section of a team of `type: loop`",
    "body": "write `tasks:`; a team of `type: loop` has its list or condition under `loop:`",
    "break_on_failure": "remove it: a failed round ends the loop; `try` handles the failure",
    "recursion_strategy": "remove it: `max_recursion_depth` and `no_progress` bound a loop",
    "skill_params": "write `input:` on the step that calls the tool function",
    "allow_llm_fallback": "write `fallback:` on the persona, or use a step of `type: try`",
    "skills": (
        "remove it: tool functions are the worker's own; a plan calls them by `skill: Name.method`"
    ),
    "config_locations": "remove it: personas are in `personas/`, beside the system file",
    "model_params": "write `temperature:`, `top_p:` or `max_tokens:` on the persona",
    "extended_thinking": "write `thinking:` on the persona",
    "context_length": "write `context_window:` on the provider or the persona, or remove it",
    "persona_key": "remove it: a persona's key is the name of its file, or the key above it",
    "agent_type": "write it on the task: a persona does not set its agent type",
}
"""Refused forms, and what to write instead."""

REPLACED_OPERATORS = {
    "not_null": "write `operator: is_null` with `value: false`",
    "not_empty": "write `operator: is_empty` with `value: false`",
    "not_exists": "write `operator: exists` with `value: false`",
    "not_in": "put the condition under `not:`, with `operator: in`",
    "not_contains": "put the condition under `not:`, with `operator: contains`",
}
"""Operators that negate another one."""


def replacement(part: str | None, key: str, *, anywhere: bool) -> Suggestion | None:
    """Return what to write instead of an unknown key; None if there is no advice.

    Args:
        part: the name of the part of the document that contains it.
        key: as written.
        anywhere: whether the part is in a document of teams, where `REPLACEMENTS` apply everywhere.
    """
    at_place = AT_PLACES.get(part or "", {}).get(key)
    if at_place is not None:
        return Advice(at_place, edit=_edit(part, key))
    if not anywhere or key not in REPLACEMENTS:
        return None
    if key in RENAMED:
        return WriteKey(RENAMED[key])
    return Advice(REPLACEMENTS[key], KEYS_MEANT.get(key), _edit(part, key))


def _edit(part: str | None, key: str) -> Edit | None:
    """Return the advice for a refused key as an edit, if no value must be written anew."""
    if key in _WITHOUT_SUCCESSOR:
        return Remove(key)
    if key in _MOVED.get(part or "", {}):
        return MoveBelow(key, _MOVED[part or ""][key], key)
    return MoveBelow(key, "retry", "retries") if key in ("max_retries", "retry_count") else None


_WITHOUT_SUCCESSOR = frozenset(
    {
        "backup",
        "break_on_failure",
        "config_locations",
        "litellm_params",
        "logging",
        "recursion_strategy",
        "version",
    }
)
"""Keys whose only advice is to remove them."""

_MOVED: dict[str, dict[str, str]] = {
    "SystemDocument": {
        **dict.fromkeys(
            ("providers", "personas", "default_provider", "default_model"), "llm_config"
        ),
        **dict.fromkeys(
            ("teams", "entry_team", "max_total_teams", "max_recursion_depth", "budgets", "groups"),
            "orchestration",
        ),
    },
    "PersonaStep": dict.fromkeys(AT_PLACES["PersonaStep"], "config"),
}
"""`{part of a document: {key that it does not have: the key to write it below}}`."""
