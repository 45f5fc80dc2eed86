"""Converts every written form of steps and conditions into the one shape of the models.

Works on the tree of nodes, so every position is kept. A form that it cannot read stays unchanged,
and the models refuse it in place.
"""

from functools import partial

from coterie.dsl.normalise.here import Here, WholeDocument
from coterie.dsl.normalise.step_forms import approval_form, budget_forms, hook_form, persona_form
from coterie.dsl.normalise.team_forms import TeamForms
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, change_below, change_entries, each_entry, each_item


def normalised(document: Node, problems: Problems) -> Node:
    """Return the document in the models' shape; report forms that cannot be converted.

    Each part is normalised against the document with the parts before it in their new form.
    """
    names = document.find(("orchestration", "teams")).entries()
    approval = partial(approval_form, here=Here(WholeDocument(document), problems))
    tool = partial(change_entries, changes={"requires_approval": approval})
    document = change_below(document, ("tools",), each_item(tool))
    persona = partial(persona_form, here=Here(WholeDocument(document), problems))
    document = change_below(document, ("llm_config", "personas"), each_entry(persona))
    document = change_below(document, ("orchestration", "budgets"), budget_forms)
    hook = partial(hook_form, here=Here(WholeDocument(document), problems))
    document = change_below(document, ("orchestration", "hooks"), each_item(hook))
    teams = TeamForms(Here(WholeDocument(document), problems), names)
    return change_below(document, ("orchestration", "teams"), each_entry(teams.team))
