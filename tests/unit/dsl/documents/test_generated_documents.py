"""Random documents compile and run to an end within their limits, or are refused with problems."""

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.errors import InvalidDocument, Problem
from coterie.dsl.evaluate.limits import depth_allowed
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from coterie.explaining.code_pages import known_codes
from tests.support.documents.generated import CONTEXT, documents, written
from tests.support.documents.mistakes import broken
from tests.support.engine import CAPABILITIES
from tests.support.simulation.skipping import skipped_run

many = settings(
    max_examples=2 * settings().max_examples,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
CODES = known_codes()


def compiled(text: str) -> Plan | tuple[Problem, ...]:
    """The plan, or the problems of a document that is refused."""
    try:
        return compile_sources([SourceText("made.yml", text)], CAPABILITIES, name="made").plan
    except InvalidDocument as error:
        return error.problems


def holds(text: str) -> None:
    """The promise about a document, whatever is in it."""
    made = compiled(text)
    if isinstance(made, Plan):
        runs_to_an_end(made)
    else:
        is_reported(made, text)


def is_reported(problems: tuple[Problem, ...], text: str) -> None:
    assert problems
    for problem in problems:
        assert problem.code in CODES
        assert problem.message
        assert 1 <= problem.line <= max(1, len(text.splitlines()))
        assert problem.column >= 1
    event(f"refused: {problems[0].code}")


def runs_to_an_end(plan: Plan) -> None:
    assert Plan.model_validate_json(plan.model_dump_json(by_alias=True)) == plan
    run = skipped_run(plan, CONTEXT)
    event(f"ran: {run.error or 'completed'}")
    result = run.result
    assert run.error != "InvalidPlan", result.because
    assert result.teams_run <= plan.limits.max_total_teams
    for team, visits in result.visits.items():
        assert visits <= depth_allowed(plan.limits, plan.teams[team])
    result.model_dump_json()
    if not run.error:  # nothing is remembered that is over
        assert not run.state.frames
        assert not any(run.state.progress.kinds())
        assert not run.state.pending


@many
@given(documents())
def test_a_document_runs_to_an_end_within_its_limits_or_is_refused(document: Json) -> None:
    holds(written(document))


@many
@given(broken())
def test_a_broken_document_is_refused_or_runs_to_an_end(document: Json) -> None:
    holds(written(document))


@many
@given(documents(), st.data())
def test_a_text_with_something_typed_into_it_is_read_or_refused(
    document: Json, data: st.DataObject
) -> None:
    text = written(document)
    at = data.draw(st.integers(0, len(text)))
    typed = data.draw(
        st.sampled_from([*"{}[]:-&*!|>'\"#%@`,?\t\n", "{{", "}}", "{%", "<<: ", "\0"])
    )
    cut = data.draw(st.integers(0, 3))
    holds(text[:at] + typed + text[at + cut :])


def test_the_documents_are_of_all_sorts() -> None:
    """Many of them must run, or the property would prove little: of a hundred, 39 to 69 do.

    Which are tried depends on the modules that are loaded, whose constants Hypothesis takes over.
    """
    ran: list[bool] = []

    @settings(max_examples=100, database=None, derandomize=True)
    @given(documents())
    def collect(document: Json) -> None:
        ran.append(isinstance(compiled(written(document)), Plan))

    collect()
    assert sum(ran) > len(ran) / 5
    assert sum(ran) < len(ran)
