"""The journeys that a newcomer reads first can be measured."""

from bench.journeys import ROOT, Journey, compilation, journeys


def test_a_journey_counts_files_stays_and_returns() -> None:
    journey = Journey("there and back", ("a.py", "b.py", "a.py", "c.py"))
    assert journey.entered == ("a.py", "b.py", "c.py")
    assert str(journey) == "there and back: files 3, stays 4, returns 1"


def test_the_journey_of_a_compilation_begins_in_the_compiler() -> None:
    journey = compilation(ROOT, "development")
    assert "dsl/compile/compiler.py" in journey.files[:4]
    assert "dsl/source/yaml_reader.py" in journey.entered
    assert all(file.startswith("dsl/") for file in journey.files)


async def test_the_journey_of_a_decision_reaches_the_step_that_asked() -> None:
    (decision,) = [one for one in await journeys() if one.name == "decision -> outcome"]
    assert decision.entered[0] == "workflows/handlers/message_handlers.py"
    for file in ("approvals/approval_wait", "steps/approval"):
        assert f"workflows/{file}.py" in decision.entered
