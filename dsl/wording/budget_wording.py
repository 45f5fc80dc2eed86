"""Problems of budgets, in words."""

from coterie.dsl.problem_details import ProblemText, rule


def question_of_budget(kind: str) -> str:
    return f"the question of the budget `{kind}`"


@rule("W502")
def no_deadline_of_budget(kind: str) -> ProblemText:
    return ProblemText(
        f"the question of the budget {kind!r} has no deadline: it may wait forever",
        fix="write `on_exceeded: {ask: {deadline: 3d}}`",
    )


@rule("E102")
def budget_route_missing() -> ProblemText:
    return ProblemText(
        "the key 'next_team' is missing: `on_exceeded: route` goes to a team",
        fix="add `next_team:`",
    )


@rule("E107")
def budget_route_to_itself() -> ProblemText:
    return ProblemText(
        "the run leaves this team when the budget is used up, and this route leads back into it",
        fix="name another team",
    )


@rule("E107")
def budget_route_unused() -> ProblemText:
    return ProblemText(
        "`next_team` belongs to `on_exceeded: route`",
        fix="add `on_exceeded: route`, or remove `next_team`",
    )


@rule("W511")
def budget_blind_to_legacy(budget: str, agent: str) -> ProblemText:
    return ProblemText(
        f"{budget} does not see what {agent!r} uses: legacy agents report no usage",
        fix="bound `model_calls` or `working_time` too",
    )


@rule("W511")
def budget_without_price(budget: str, provider: str, model: str) -> ProblemText:
    return ProblemText(
        f"{budget} cannot be enforced: {provider}/{model} has no price here, so its first call is "
        "also its last",
        fix=f"set its price in llm_config.providers.{provider}.prices of the worker's "
        "configuration, or bound `tokens` instead",
    )
