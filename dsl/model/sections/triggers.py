"""The section `triggers`: what starts or signals runs of a document from outside.

Each kind stands in a file of its own; its key in a trigger has its name.
"""

from typing import Annotated, Self

from pydantic import Field, model_validator

from coterie.dsl.model.sections.schedule_trigger import ScheduleSection
from coterie.dsl.model.sections.webhook_trigger import WebhookSection
from coterie.dsl.values import Frozen, form_mismatch

TRIGGER_NAME = r"^[a-zA-Z0-9_-]{1,40}$"
TriggerName = Annotated[str, Field(pattern=TRIGGER_NAME)]

TriggerSource = WebhookSection | ScheduleSection
"""The kinds of triggers."""


class Trigger(Frozen):
    """One trigger: the key says what triggers it."""

    webhook: WebhookSection | None = None
    """A signed request of another system."""
    schedule: ScheduleSection | None = None
    """Times at which runs start; `coterie deploy` puts them on the server."""

    @model_validator(mode="after")
    def _has_one_kind(self) -> Self:
        if sum(getattr(self, key) is not None for key in type(self).model_fields) != 1:
            kinds = ", ".join(f"`{key}`" for key in type(self).model_fields)
            raise form_mismatch("trigger", f"a trigger has exactly one of: {kinds}")
        return self

    @property
    def source(self) -> TriggerSource:
        """What triggers it."""
        source = self.webhook or self.schedule
        assert source is not None
        return source
