"""Problems of fallbacks."""

from coterie.dsl.problem_details import ProblemText, rule


@rule("E105")
def fallback_not_a_model(name: str) -> ProblemText:
    return ProblemText(
        f"`fallback` names models as `provider/model`, and {name!r} has no provider or no model",
        fix="write both, such as `openai/gpt-5.2`",
    )


@rule("E208")
def fallback_named_twice(name: str) -> ProblemText:
    return ProblemText(
        f"the agent asks {name!r} already before this fallback", fix="remove the entry"
    )
