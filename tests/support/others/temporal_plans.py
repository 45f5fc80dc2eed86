"""Plans that call what already runs on Temporal, with the configuration that allows it."""

from typing import Any

import yaml

from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.sections.temporal_document import TemporalEntry
from coterie.dsl.model.sections.worker_document import WorkerSection
from tests.support.engine import CAPABILITIES, HEAD

WORKER = """
activities:
  charge:
    task_queue: theirs
    description: Charges a card.
    input_schema:
      type: object
      properties: { amount: { type: integer }, fails: { type: string } }
      required: [amount]
      additionalProperties: false
    output_schema: { type: object }
    failures_without_effect: [CardDeclined]
  try: { type: charge, task_queue: theirs, effect: idempotent, retries: 0, labels: [private] }
  sum: { type: add, task_queue: theirs, arguments: ["{left}", "{right}"], effect: read,
         input_schema: { left: { type: integer }, right: { type: integer } } }
  secret: { task_queue: theirs }
  readable: { type: secret, task_queue: theirs, effect: read, retries: 0 }
  large: { task_queue: theirs, effect: idempotent }
  slow: { task_queue: theirs, effect: read, heartbeat_timeout: 5s }
  nowhere: { task_queue: nobody, schedule_to_start_timeout: 1s, may_lack_worker: true }
  unpolled: { task_queue: nobody }
workflows:
  fulfil: { type: Fulfil, task_queue: theirs, timeout: 1m }
  order:
    type: Fulfil
    task_queue: theirs
    id: order-{order}
    timeout: 1m
    effect: idempotent
    input_schema: &order
      type: object
      properties: { order: { type: string }, waits: { type: boolean } }
      required: [order]
  begin: { type: Fulfil, task_queue: theirs, id: "begun-{order}", wait: false,
           input_schema: *order }
  missing: { type: Missing, task_queue: theirs, timeout: 2s }
  pay: { signal: pay, id: "begun-{order}", arguments: [{ by: "{by}" }] }
  outcome: { id: "begun-{order}", timeout: 30s }
nexus:
  quote: { endpoint: pay, service: Pay, effect: read }
  settle: { endpoint: pay, service: Pay, timeout: 30s }
  lost: { endpoint: nowhere, service: Pay, operation: quote }
"""


def worker_section(text: str = WORKER) -> WorkerSection:
    """The configuration of a worker."""
    return WorkerSection.model_validate(yaml.safe_load(text))


def on_temporal(text: str = WORKER) -> dict[str, TemporalEntry]:
    """What the worker allows."""
    return worker_section(text).on_temporal


def tools_of(*names: str) -> dict[str, Any]:
    """A document's tools of these names."""
    section = worker_section()
    kinds = {
        **dict.fromkeys(section.activities, "activity"),
        **dict.fromkeys(section.workflows, "workflow"),
        **dict.fromkeys(section.nexus, "nexus"),
    }
    return {name: {kinds[name]: name} for name in names}


def plan_calling(tasks: list[dict[str, Any]], **document: Any) -> Plan:
    """A plan of one team with these tasks; its tools are those that they name."""
    names = dict.fromkeys(str(task["tool"]) for task in tasks if "tool" in task)
    written = {
        **yaml.safe_load(HEAD),
        "tools": tools_of(*names),
        "orchestration": {"entry_team": "work", "teams": {"work": {"tasks": tasks}}},
        **document,
    }
    sources = [
        SourceText("test.yml", yaml.safe_dump(written)),
        SourceText("coterie.yml", yaml.safe_dump({"worker": yaml.safe_load(WORKER)})),
    ]
    return compile_sources(sources, CAPABILITIES, name="test").plan
