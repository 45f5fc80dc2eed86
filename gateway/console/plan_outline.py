"""A plan as pages show it: its teams and steps, its limits, and where each value was written."""

from collections.abc import Sequence
from dataclasses import dataclass

from coterie.documents.catalog import Catalog
from coterie.documents.compilation import compile_located
from coterie.documents.tool_packages import known_functions
from coterie.documents.trusted_catalog import plan_of_worker
from coterie.dsl.analysis.findings import with_needs
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.model.plan import Plan
from coterie.explaining.effective_values import explained
from coterie.explaining.origins import Effective
from coterie.failures import CommandError
from coterie.gateway.console.page_values import ShownValue, shown_brief
from coterie.graph.picture import TeamBox, picture
from coterie.settings import Settings


@dataclass(frozen=True, slots=True)
class OriginRow:
    """One effective value of a plan."""

    path: str
    value: ShownValue
    origin: str
    """`teams/review.yml:12`, `default`."""


@dataclass(frozen=True, slots=True)
class PlanOutline:
    """A plan."""

    name: str
    digest: str
    limits: tuple[str, ...]
    teams: tuple[TeamBox, ...]
    models: tuple[str, ...]
    """`persona: provider/model`."""
    values: tuple[OriginRow, ...] | None
    """None: no document here compiles to this plan."""


def outline_of(plan: Plan, values: Sequence[Effective] | None = None) -> PlanOutline:
    """Return a plan, with the origins of its values if they are known."""
    drawn = picture(plan)
    rows = None
    if values is not None:
        rows = tuple(
            OriginRow(value.dotted, shown_brief(value.value), value.origin.text())
            for value in values
        )
    return PlanOutline(
        name=plan.name,
        digest=plan.digest,
        limits=drawn.limits,
        teams=drawn.boxes,
        models=tuple(
            f"{key}: {persona.provider}/{persona.model}"
            for key, persona in plan.personas.items()
            if persona.model
        ),
        values=rows,
    )


def values_of_document(settings: Settings, plan: Plan) -> tuple[Effective, ...] | None:
    """Return the values of the project's document that compiles to a plan; None without one."""
    catalog = Catalog(settings)
    located = catalog.named(plan.name)
    if located is None:
        return None
    try:
        compiled = with_needs(compile_located(catalog, located, only_shown=True))
        by_name = plan_of_worker(compiled, located.name, settings, catalog)
        if plan.digest not in (compiled.plan.digest, by_name.digest):
            return None
        return explained(compiled, known_functions(settings, compiled.worker.tool_packages), None)
    except (InvalidDocument, CommandError):
        return None
