"""Problems of a document as a whole: its sections, its forms, and unexpanded templates."""

from collections.abc import Collection

from pydantic import JsonValue

from coterie.dsl.errors import listed
from coterie.dsl.problem_details import ProblemText, Remove, Replace, rule


def problem_not_described(limit: int) -> ProblemText:
    """Return the text of every problem of one code after so many that are described."""
    return ProblemText(
        f"one more problem of this kind, not described: {limit:,} of them are",
        fix="correct those first, then validate again",
    )


@rule("E601")
def decided_by_worker(section: str) -> ProblemText:
    return ProblemText(
        f"only the worker decides {section}: a run may name a provider or a command, and cannot "
        "say how to reach it",
        fix="move the section to the worker's own configuration",
    )


@rule("E602")
def plain_secret() -> ProblemText:
    return ProblemText(
        "this text is a secret, and the file stores it in plain text",
        "the NAME of an environment variable of the worker",
        "revoke the key where it was issued, and write `api_key_env: NAME`",
    )


@rule("E108")
def no_form_of_plans(key: str, fix: str | None) -> ProblemText:
    return ProblemText(
        f"{key!r} is not a form of this language",
        fix=fix or f"remove `{key}`: a plan is the list of its steps",
        edit=None if fix else Remove(key),
    )


@rule("E103")
def not_enabled(value: JsonValue) -> ProblemText:
    return ProblemText(f"'enabled' is {value!r}", "true or false")


@rule("E108")
def compiled_kind() -> ProblemText:
    return ProblemText(
        "'kind' is not a form of this language", fix="write `type:`", edit=Replace("kind", "type")
    )


@rule("E101")
def compiled_terms() -> ProblemText:
    return ProblemText(
        "unknown key 'terms'", fix="remove it: the skill's contract says it", edit=Remove("terms")
    )


@rule("E102")
def section_missing(kind: str) -> ProblemText:
    return ProblemText(
        f"the key {kind!r} is missing: the team is of type {kind!r}",
        fix=f"add `{kind}:`, or remove `type`",
    )


@rule("E102")
def orchestration_missing() -> ProblemText:
    return ProblemText(
        "the key 'orchestration' is missing",
        fix="add `orchestration:` with `entry_team` and `teams`",
    )


@rule("E504")
def orchestration_disabled() -> ProblemText:
    return ProblemText("orchestration is disabled", fix="set `enabled: true` to run it")


@rule("E303")
def unexpanded_template(field: str) -> ProblemText:
    return ProblemText(
        f"templates are not expanded here: {field!r} is read literally",
        fix=_INSTEAD.get(field, "write the value itself"),
    )


@rule("E303")
def unexpanded_variable(field: str, name: str) -> ProblemText:
    if field.endswith("_env"):
        fix = f"write the name alone: `{field}: {name}`"
    else:
        fix = f"write the value itself; only keys like `api_key_env: {name}` name a variable"
    return ProblemText(
        f"`${{...}}` is not expanded here: {field!r} is read literally",
        fix=fix,
        edit=Replace(f"${{{name}}}", name) if field.endswith("_env") else None,
    )


@rule("E214")
def control_character(name: str, character: str, *, is_key: bool) -> ProblemText:
    subject = f"the name {name!r}" if is_key else f"{name!r}"
    return ProblemText(
        f"{subject} holds the control character U+{ord(character):04X}",
        "a text on one line, without control characters",
        "write the name without it",
    )


@rule("W515")
def unchecked_formats(names: Collection[str]) -> ProblemText:
    return ProblemText(
        f"`format` is not checked: {', '.join(names)}; any text passes",
        fix="write a `pattern`, or leave `format` as a remark to the model",
    )


@rule("W514")
def unimportable_class(name: str, allowed: Collection[str]) -> ProblemText:
    return ProblemText(
        f"the agent class {name!r} is in no package that this project's worker allows",
        listed(allowed),
        f"add `agent_packages: [{name.split('.')[0]}]` to `worker:` in coterie.yml",
    )


@rule("W514")
def unimportable(
    what: str, name: str, module: str, key: str, allowed: Collection[str]
) -> ProblemText:
    return ProblemText(
        f"the {what} {name!r} comes from {module!r}, which is in no package that this project's "
        "worker allows",
        listed(allowed),
        f"add `{key}: [{module.split('.')[0]}]` to `worker:` in coterie.yml",
    )


_INSTEAD = {
    **dict.fromkeys(
        ("team", "next_team", "default", "entry_team", "on_timeout", "concentrator"),
        "write a team's id, and let routing rules or a step of `type: branch` choose",
    ),
    **dict.fromkeys(
        ("persona_key", "agent_type", "prompt"),
        "write it out, and let a step of `type: branch` choose between tasks",
    ),
    "skill": "write the skill's name; the `tool` of a step may be a template",
    **dict.fromkeys(
        ("model", "provider"),
        "write it out; `config:` on a task may name another one, and so may `--model`",
    ),
    **dict.fromkeys(
        ("approvers", "to", "groups", "notify"),
        "write the names out, and let a step of `type: branch` choose between approvals",
    ),
    "signal": "write the signal's name; what differs from run to run belongs in its payload",
    "error": "write the type of failure; what differs belongs in `message:`",
    **dict.fromkeys(
        ("context_field", "output_field", "task", "value"),
        'write the condition as one expression: `condition: "{{ ... }}"`',
    ),
    "flags": "write it into the prompt, or give it as the task's `input`",
    "fixed": "give it with the step's `arguments`, or write it out",
    "api_key_env": "write the NAME of the environment variable",
}
