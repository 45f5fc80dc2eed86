"""Check the section `triggers` of a document."""

from collections.abc import Collection
from typing import assert_never

from coterie.dsl.checks.triggers.schedule_checks import check_schedule
from coterie.dsl.checks.triggers.trigger_scope import TriggerScope
from coterie.dsl.checks.triggers.webhook_checks import check_webhook
from coterie.dsl.model.capabilities import Capabilities
from coterie.dsl.model.context.declarations import Declarations
from coterie.dsl.model.document import Orchestration, SystemDocument
from coterie.dsl.model.sections.schedule_trigger import ScheduleSection
from coterie.dsl.model.sections.webhook_trigger import WebhookSection
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node


def check_triggers(
    document: SystemDocument,
    declared: Declarations,
    tree: Node,
    problems: Problems,
    capabilities: Capabilities,
) -> None:
    """Note every problem of the triggers.

    Args:
        document: As written.
        declared: The context that it declares.
        tree: Of the document, with positions.
        problems: Collects them.
        capabilities: Of the worker.
    """
    if not document.triggers or document.orchestration is None:
        return
    awaited = _awaited_signals(document, document.orchestration)
    scope = TriggerScope(tree, problems, capabilities, declared, awaited)
    for name, trigger in document.triggers.items():
        match trigger.source:
            case WebhookSection() as webhook:
                check_webhook(scope, webhook, ("triggers", name, "webhook"))
            case ScheduleSection() as schedule:
                check_schedule(scope, schedule, ("triggers", name, "schedule"))
            case _ as never:
                assert_never(never)


def _awaited_signals(document: SystemDocument, orchestration: Orchestration) -> Collection[str]:
    """Return the names of the signals for which a step or a concentrator waits."""
    of_steps = (step.awaited_signal for step, _ in document.steps)
    of_teams = (
        team.collects.signal for team in orchestration.teams.values() if team.collects is not None
    )
    return {name for name in (*of_steps, *of_teams) if name is not None}
