"""Files of other systems, in words."""

from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.wording.dialect_words import WORDS

_SHOWN = 3


@rule("E111")
def other_system(system: str) -> ProblemText:
    shown = "; ".join(f"{theirs} -> {ours}" for theirs, ours in WORDS[system][:_SHOWN])
    return ProblemText(
        f"this looks like a file of {system}, which Coterie does not read",
        fix=f"write a document with `llm_config:` and `orchestration:`: {shown}; the table of "
        f"{system} in docs/comparison.md has the other words",
    )
