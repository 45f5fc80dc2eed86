"""Words of problems with settings that a vendor refuses; the rules bring their own."""

from coterie.dsl.problem_details import ProblemText, rule


@rule("E511")
def refused_by_vendor(model: str, rule: str, fix: str) -> ProblemText:
    return ProblemText(f"{model} would refuse each call: {rule}", fix=fix)
