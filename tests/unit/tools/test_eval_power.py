"""The planted regression, through baselines and reports; `python -m bench.eval_power` is larger."""

import pytest

from bench.eval_power import lines, main, measure


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_a_planted_regression_is_found_and_a_planted_nothing_is_not(noise: float) -> None:
    [power] = measure(60, 100, 7, [noise])
    assert power.falls.total() == power.others.total() == 30
    assert (power.found >= 27, power.false <= 3, power.promised) == (True, True, True)


def test_independent_trials_keep_no_promise() -> None:
    [power] = measure(80, 100, 7, [1.0])
    assert not power.promised
    assert "noise 100%" in lines([power], 100)[1]


def test_the_command_fails_if_a_promise_is_broken(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--pairs", "10", "--trials", "10", "--seed", "1"]) == 1
    assert capsys.readouterr().out.startswith("10 trials  fall from 70% to 55%")
