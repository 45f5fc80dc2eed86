"""Forms of older files, and of other systems, that are refused: what to write instead.

A table by key: it speaks where a key is not known, whatever is near to it.
"""

REPLACEMENTS = {
    "depends_on": "tasks run in written order: put this one after the other, or use `when`",
    "condition": "write `when:`",
    "if": "write `when:`",
    "next": "write `next_team:`",
    "max_retries": "write `retry: {retries: ...}`",
    "retry_count": "write `retry: {retries: ...}`",
    "retry_config": "write `retry: {retries: ..., interval: ...}`",
    "timeout_seconds": "write `timeout:`",
    "conditions": "write one `condition:`; a list of conditions means AND",
    "agents": "write `tasks:`",
    "parallel": "use a step of `type: parallel`, or fan out with `next_team: [a, b]`",
    "on_success": "write a rule under `routing.rules`",
    "on_error": "write `routing.default:`, or a step of `type: try`",
    "api_key": "write `api_key_env:` with the NAME of the environment variable",
    "tokens_per_minute": "write `requests_per_minute:`; tokens are known only after the call",
    "litellm_params": "leave it out: retries and timeouts are the persona's own",
    "stop_on_error": "write `stop_on_failure:`",
    "stop_on_failure": "write `on_failure: continue` on the step whose failure is passed over",
    "error_handling": "write `retry:` on the tasks, and `routing.default:` for what still fails",
    "error_handler": "use a step of `type: try`, or `retry:` on the steps",
    "target": "write the steps of this way under `steps:`; a plan does not jump",
    "rules": "use a step of `type: branch`, `return` or `fail`; a loop has `break_when:`",
    "iterate_on": "write it under `loop:`, the section of a team of `type: loop`",
    "loop_variable": "write it under `loop:`, the section of a team of `type: loop`",
    "body": "write `tasks:`; what a team of `type: loop` goes over stands under `loop:`",
    "break_on_failure": "leave it out: a loop ends with a failed round; `try` passes it over",
    "recursion_strategy": "leave it out: `max_recursion_depth` and `no_progress` bound a loop",
    "agent_config": "write `config:`",
    "input_params": "write `input:`",
    "skill_params": "write `input:` on the step that calls the skill",
    "allow_llm_fallback": "use a step of `type: try`, with an agent step under `catch:`",
    "skills": "leave it out: skills are the worker's own",
    "config_locations": "leave it out: personas stand in `personas/`, beside the system file",
    "model_params": "write `temperature:`, `top_p:` or `max_tokens:` on the persona",
    "extended_thinking": "leave it out: how a model thinks is the provider's own",
    "context_length": "leave it out: the provider knows it",
    "persona_key": "leave it out: a persona's key is the name of its file, or the key above it",
    "agent_type": "write it on the task: a persona does not say what is made of it",
}
"""Forms that are refused, and what to write instead."""

OPERATORS = {
    "not_null": "write `operator: is_null` with `value: false`",
    "not_empty": "write `operator: is_empty` with `value: false`",
    "not_exists": "write `operator: exists` with `value: false`",
    "not_in": "put the condition under `not:`, with `operator: in`",
    "not_contains": "put the condition under `not:`, with `operator: contains`",
}
"""Operators that turn another one round."""
