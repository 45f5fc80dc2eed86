"""Problems of agents: types, personas, prompts, plans, models."""

from collections.abc import Collection, Sequence

from coterie.dsl.errors import listed
from coterie.dsl.problem_details import ProblemText, Remove, rule
from coterie.dsl.wording.step_names import called


@rule("E102")
def persona_key_missing() -> ProblemText:
    return ProblemText("the key 'persona_key' is missing", fix="add `persona_key:`")


@rule("E105")
def persona_name_refused(name: str) -> ProblemText:
    return ProblemText(
        f"no persona can be called {name!r}",
        "a name without @, which separates a persona from the task whose `config` it has",
        f"write {name.replace('@', '_')!r}, also where it is used",
    )


@rule("E102")
def personas_missing(step: str) -> ProblemText:
    return ProblemText(
        f"the persona of {called(step, 'the task')} is a template, so nothing can be checked",
        fix="list the personas that it may choose: `personas: [...]`",
    )


@rule("E107")
def personas_without_template(step: str, key: str) -> ProblemText:
    return ProblemText(
        f"{called(step, 'the task')} lists `personas`, but its persona_key {key!r} is not a "
        "template",
        fix="write a template in `persona_key`, or remove `personas`",
    )


@rule("E105")
def persona_listed_twice(name: str) -> ProblemText:
    return ProblemText(f"the persona {name!r} is listed twice", fix="remove one of them")


@rule("E203")
def skill_as_agent(name: str, agent_types: Collection[str]) -> ProblemText:
    return ProblemText(
        f"{name!r} is a skill, and a task needs an agent type",
        listed(agent_types),
        "call the skill from an execution plan",
    )


@rule("E107")
def two_forms_of_agent(step: str) -> ProblemText:
    return ProblemText(
        f"{called(step, 'the task')} has both agent_class and agent_type or persona_key",
        fix="keep `agent_type` and `persona_key`; `agent_class` is the older form",
    )


@rule("E108")
def config_of_legacy(step: str) -> ProblemText:
    return ProblemText(
        "`config` overrides a persona, and a legacy agent has none",
        fix=f"write it under llm_config.agents.{step}",
    )


@rule("E501")
def skill_as_task(name: str) -> ProblemText:
    return ProblemText(
        f"{name!r} is a skill, and a team's task calls an agent or a tool",
        fix="declare a tool for it under `tools:`, or call it from the execution_plan of a "
        "generic_orchestrating persona",
    )


@rule("E503")
def plan_not_followed(persona: str) -> ProblemText:
    return ProblemText(
        f"the persona {persona!r} has an execution_plan, and a generic_single_shot agent never "
        "follows one",
        fix="use `agent_type: generic_orchestrating`",
    )


@rule("E503")
def plan_missing(persona: str, step: str) -> ProblemText:
    return ProblemText(
        f"the persona {persona!r} has no execution_plan, and {called(step, 'the task')} needs one",
        fix="add `execution_plan:`, or use `agent_type: generic_single_shot`",
    )


@rule("E503")
def plan_within_itself(persona: str) -> ProblemText:
    return ProblemText(
        f"the execution_plan of {persona!r} contains itself",
        fix="let its agent steps use other personas",
    )


@rule("E505")
def unsound_schema(reason: str) -> ProblemText:
    return ProblemText(f"the output_schema cannot be used: {reason}")


@rule("E502")
def prompt_not_chosen(persona: str, prompts: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"the persona {persona!r} has several prompts, and the task selects none",
        listed(prompts),
        f"add `prompt: {prompts[0]}`",
    )


@rule("E502")
def nothing_to_ask(persona: str) -> ProblemText:
    return ProblemText(
        f"the agent has no question for the model: persona {persona!r} has no prompt beside "
        "`system`, and the task no `input`",
        fix="add a prompt to the persona, or `input:` to the task",
    )


@rule("E102")
def provider_missing(persona: str) -> ProblemText:
    return ProblemText(
        f"the persona {persona!r} has no provider and there is no default",
        fix="add `provider:`, or `default_provider:` under llm_config",
    )


@rule("E102")
def model_missing(persona: str, provider: str) -> ProblemText:
    return ProblemText(
        f"the persona {persona!r} has no model and provider {provider!r} no default one",
        fix="add `model:`, or `default_model:` under llm_config",
    )


@rule("E503")
def stream_not_supported(persona: str, agent_type: str) -> ProblemText:
    return ProblemText(
        f"the persona {persona!r} streams its answer, and a {agent_type} agent shows nothing "
        "before its end",
        fix="remove `stream`, or set `stream: false` in the task's `config`",
    )


@rule("E503")
def batch_not_supported(persona: str, agent_type: str) -> ProblemText:
    return ProblemText(
        f"the persona {persona!r} has `batch: true`, and the model calls of a {agent_type} agent "
        "cannot wait for a batch",
        fix="remove `batch`, or set `batch: false` in the task's `config`",
    )


@rule("E506")
def batch_streamed(persona: str) -> ProblemText:
    return ProblemText(
        f"the persona {persona!r} has `batch: true` and `stream: true`: the answer of a batch "
        "arrives in one piece",
        fix="remove one of the two",
    )


@rule("E503")
def provider_without_batches(provider: str) -> ProblemText:
    return ProblemText(
        f"the provider {provider!r} has no batch API: only OpenAI's own servers and "
        "scripted answers take batches",
        fix="remove `batch`, or choose another provider",
    )


@rule("E506")
def streamed_before_reask(reasks: int) -> ProblemText:
    return ProblemText(
        "`stream` would show an answer that may still be rejected: the model is asked again for "
        f"an answer that does not match `output_schema` (`max_reasks: {reasks}`)",
        fix="set `max_reasks: 0`, or remove `stream` or `output_schema`",
    )


@rule("E506")
def streamed_before_approval(step: str) -> ProblemText:
    return ProblemText(
        f"`stream` would show an answer of {called(step, 'the task')} that a person may still "
        "reject: its `requires_approval` asks after the answer",
        fix="ask before the task starts, or set `stream: false` in the task's `config`",
    )


@rule("E506")
def streamed_before_decision(step: str, approval: str) -> ProblemText:
    return ProblemText(
        f"{approval!r} lets a person reject the answer of {called(step, 'the task')}, which "
        "`stream` has already shown to the person who wrote to the session",
        fix="set `stream: false` in the task's `config`, or ask before the task starts",
    )


@rule("E506")
def streamed_before_check(step: str) -> ProblemText:
    return ProblemText(
        f"`stream` would show an answer of {called(step, 'the task')} that its `fail_when` may "
        "still reject",
        fix="remove `fail_when`, or set `stream: false` in the task's `config`",
    )


CHOSEN_FOR_ALL = " given for every persona instead of its own:"


@rule("E503")
def without_effect(key: str, *, is_legacy: bool) -> ProblemText:
    if is_legacy:
        return ProblemText(
            f"`{key}` has no effect here: it belongs to a persona, and a legacy agent has none",
            fix="pass it in the task's `input`",
        )
    return ProblemText(
        f"`{key}` has no effect here: an agent that follows a plan asks no model itself", fix=_MOVE
    )


@rule("W513")
def persona_key_without_effect(key: str, persona: str) -> ProblemText:
    return ProblemText(
        f"`{key}` has no effect: the persona {persona!r} only follows its plan here, and asks no "
        "model itself",
        fix=_MOVE,
    )


_MOVE = "move it to the persona of an agent step of the plan"


@rule("W517")
def key_of_another_kind(key: str, provider: str, kind: str, reader: str) -> ProblemText:
    return ProblemText(
        f"`{key}` has no effect: only a provider of kind {reader!r} reads it, and {provider!r} is "
        f"of kind {kind!r}",
        fix=f"write it under a provider with `kind: {reader}`",
    )


@rule("W517")
def options_unread(provider: str, kind: str) -> ProblemText:
    return ProblemText(
        f"`options` has no effect: {provider!r} is of kind {kind!r}, and only kinds of packages "
        "read it",
        fix="remove it, or name the package's kind in `kind`",
        edit=Remove("options"),
    )


@rule("W517")
def unread_section(name: str) -> ProblemText:
    return ProblemText(
        f"no task with an `agent_class` is called {name!r}, so no agent reads this section",
        fix="rename it to the task that needs it, or remove it",
    )
