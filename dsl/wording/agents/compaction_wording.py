"""Problems of compaction."""

from coterie.dsl.problem_details import ProblemText, rule


@rule("E105")
def compaction_not_a_model(name: str) -> ProblemText:
    return ProblemText(
        f"`compaction.model` names a model as `provider/model`, and {name!r} has no provider or no "
        "model",
        fix="write both, such as `anthropic/claude-haiku-4-5`",
    )


@rule("E107")
def compaction_with_window(persona: str, key: str) -> ProblemText:
    return ProblemText(
        f"`{key}` leaves turns out, and persona {persona!r} has `compaction`, which sums them up",
        fix=f"remove `{key}`, or set `compaction: null` in the task's `config`",
    )
