"""What the bench measures without a server, and what it says of pairs of runs."""

from bench.interpreter import figures
from bench.long import comparison
from bench.report import Ratio
from bench.systems import COTERIE, HANDWRITTEN
from coterie.dsl.values import Json


def row(system: str, cpu: float) -> Json:
    return {
        "system": system,
        "case": "long",
        "n": 10,
        "worker_cpu_ms_per_step": cpu,
        "bytes_per_step": 3000.0,
        "wall_ms_per_step": 20.0,
    }


def test_a_ratio_is_the_median_of_the_pairs_when_the_machine_slows_one_pair_down() -> None:
    ratio = Ratio.of([5.0, 50.0, 6.0], [5.0, 55.0, 4.0])
    assert ratio == Ratio(1.0, 50 / 55, 1.5)
    assert str(ratio) == "1.000 [0.91 1.50]"


def test_a_comparison_names_its_baseline_and_holds_runs_of_one_pair_together() -> None:
    rows = [
        row("coterie", 6.0),
        row("handwritten", 5.0),
        row("handwritten", 10.0),
        row("coterie", 9.0),
        row("coterie", 4.0),
        row("handwritten", 4.0),
    ]
    shown = comparison(rows, HANDWRITTEN)
    assert shown["baseline"] == "handwritten"
    assert shown["runner"] == "SandboxedWorkflowRunner of the SDK"
    assert (
        shown["sandbox"]
        == COTERIE.sandbox
        == "restrictions() of coterie/runtime/workflow_sandbox.py"
    )
    assert shown["pairs"] == 3
    assert shown["worker_cpu_ms_per_step"] == 1.0
    assert shown["worker_cpu_ms_per_step_least"] == 0.9
    assert shown["worker_cpu_ms_per_step_most"] == 1.2
    assert shown["bytes_per_step"] == 1.0


def test_the_interpreter_of_the_bench_measures_every_size_of_context() -> None:
    measured = figures(steps=2, repeats=1)
    assert {one.n for one in measured if one.case == "interpreter"} == {10, 200, 1000}
    assert all(one.microseconds > 0 for one in measured)
