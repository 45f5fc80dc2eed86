"""Checks of webhooks: what their templates read, what they start or signal, what is signed."""

from coterie.dsl.checks.steps.signal_checks import check_signal
from coterie.dsl.checks.triggers.trigger_scope import Names, TriggerScope, roots_of
from coterie.dsl.model.sections.webhook_trigger import (
    EVENT_FACTS,
    TIMED_SCHEMES,
    WebhookSection,
    WebhookSignal,
)
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.unknown_names import unknown
from coterie.dsl.templates.template import is_template
from coterie.dsl.values import NodePath

NAMES: Names = {"payload": None, "event": EVENT_FACTS, "headers": None}


@rule("E109")
def when_without_template(text: str) -> ProblemText:
    return ProblemText(
        f"`when` is the text {text!r}, which is always true",
        "an expression over payload, event and headers",
        "write it as a template: `when: \"{{ payload.action == 'opened' }}\"`",
    )


@rule("E107")
def constant_event_id(text: str) -> ProblemText:
    return ProblemText(
        f"`event_id` is always {text!r}, so only the first delivery would start a run",
        "a template over payload, event and headers",
        'write what names the event: `event_id: "{{ payload.id }}"`',
    )


@rule("W532")
def unproved_event(scheme: str, key: str) -> ProblemText:
    whose = "GitHub" if scheme == "github" else "this sender"
    is_own = key == "event_id"
    given = "what `event_id` reads" if is_own else "the id in `X-GitHub-Delivery`"
    return ProblemText(
        f"{whose} signs no time, and {given} is not signed either: who has recorded a delivery "
        "can send it again as another event",
        fix="write `event_id` from what is signed: a template over `payload`",
    )


def check_webhook(scope: TriggerScope, section: WebhookSection, path: NodePath) -> None:
    """Note every problem of a webhook."""
    if section.when is not None:
        here = (*path, "when")
        scope.check_templates(section.when, here, NAMES)
        if not is_template(section.when):
            scope.problems.report(when_without_template(section.when), scope.tree.value_at(here))
    _check_event_id(scope, section, path)
    if section.signal is not None:
        _check_signal(scope, section.signal, (*path, "signal"))
    if section.signal is None or section.signal.start:
        scope.check_context(section.context, (*path, "context"), NAMES)


def _check_event_id(scope: TriggerScope, section: WebhookSection, path: NodePath) -> None:
    here = (*path, "event_id")
    if section.event_id is None:
        if section.verify == "github":
            details = unproved_event(section.verify, "verify")
            scope.problems.report(details, scope.tree.value_at((*path, "verify")))
        return
    templates = scope.check_templates(section.event_id, here, NAMES)
    if not is_template(section.event_id):
        scope.problems.report(constant_event_id(section.event_id), scope.tree.value_at(here))
        return
    if section.verify in TIMED_SCHEMES or not templates:
        return
    reads = list(roots_of(templates))
    if not any(named[0] == "payload" for named in reads):
        signed_id = section.verify == "hmac" and ("event", "id") in reads
        if not signed_id:
            details = unproved_event(section.verify, "event_id")
            scope.problems.report(details, scope.tree.value_at(here))


def _check_signal(scope: TriggerScope, signal: WebhookSignal, path: NodePath) -> None:
    for key, value in (("run", signal.run), ("payload", signal.payload)):
        scope.check_templates(value, (*path, key), NAMES)
    here = (*path, "name")
    check_signal(scope.tree, scope.problems, signal.name, here)
    if signal.name not in scope.signals and not any(scope.problems.below(here)):
        place = scope.tree.value_at(here)
        unknown(scope.problems, place, "signal", signal.name, scope.signals)
