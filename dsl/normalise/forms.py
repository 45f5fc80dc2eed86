"""Converts every written form of steps and conditions into the one shape of the models.

Works on the tree of nodes, so every position is kept. A form that it cannot read stays unchanged,
and the models refuse it in place.
"""

from dsl.normalise.dialects import Here
from dsl.normalise.step_forms import StepForms, budget_forms
from dsl.normalise.team_forms import TeamForms
from dsl.source.nodes import Node, Problems, change_below, each_entry, each_item


def normalised(document: Node, problems: Problems) -> Node:
    """Return the document in the models' shape; report forms that cannot be converted.

    Each part is normalised against the document with the parts before it in their new form.
    """
    names = document.find(("orchestration", "teams")).entries()
    steps = StepForms(Here(document, problems))
    document = change_below(document, ("tools",), each_item(steps.tool))
    steps = StepForms(Here(document, problems))
    document = change_below(document, ("llm_config", "personas"), each_entry(steps.persona))
    document = change_below(document, ("orchestration", "budgets"), budget_forms)
    steps = StepForms(Here(document, problems))
    document = change_below(document, ("orchestration", "hooks"), each_item(steps.hook))
    teams = TeamForms(Here(document, problems), names)
    return change_below(document, ("orchestration", "teams"), each_entry(teams.team))
