"""Code in the sandbox: values in and out, hard limits, and no way to the host."""

from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue

from coterie.activities.contracts import FailureType
from coterie.activities.workspace.function_base import Workspace
from coterie.dsl.values import Json
from tests.support.tool_functions import call, refusal


async def run(tmp_path: Path, code: str, **given: JsonValue) -> Json:
    return cast("Json", await call(Workspace(tmp_path), "Python.run", {"code": code, **given}))


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("1 + 1", 2),
        ("sum(numbers) / len(numbers)", 2.5),
        ("'{:.2f}'.format(math.pi)", "3.14"),
        ("json.loads('[1, null]')", [1, None]),
        ("sorted({3, 1})", [1, 3]),
        ("(1, {2: datetime.date(2026, 1, 2)})", [1, {"2": "2026-01-02"}]),
        ("decimal.Decimal('0.1') + decimal.Decimal('0.2')", "0.3"),
        ("'<b>' + str(range(3))", "<b>range(0, 3)"),
        ("x = str(range(3)); x  # text", "range(0, 3)"),
        ("[{1.5: True}, {None: '<p>'}]", [{"1.5": True}, {"None": "<p>"}]),
        ("x = 1", None),
        ("def f(n):\n    return 1 if n < 2 else n * f(n - 1)\nf(20)", 2432902008176640000),
    ],
)
async def test_the_last_expression_is_the_value_as_json(
    tmp_path: Path, code: str, value: JsonValue
) -> None:
    result = await run(tmp_path, code, inputs={"numbers": [1, 4]})
    assert result["value"] == value


async def test_what_the_code_prints_is_returned_and_bounded(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    result = await run(tmp_path, "print('a', 1)\nprint('b')")
    assert (result["printed"], result["cut"], result["value"]) == ("a 1\nb\n", False, None)
    result = await run(tmp_path, "for i in range(2000):\n    print(i, 'x' * 100)\n'end'")
    assert (result["cut"], result["value"]) == (True, "end")
    assert len(str(result["printed"])) < 33_000
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("def f():\n    raise ValueError('no')\nf()", "line 3, in <module>"),
        ("1 +", "syntax error"),
        ("while True:\n    pass", "time limit exceeded"),
        (
            "while True:\n    try:\n        x = 1\n    except BaseException:\n        pass",
            "time limit",
        ),
        ("'x' * 500_000_000", "memory limit exceeded"),
        ("x = []\nwhile True:\n    x.append('y' * 100_000)", "memory limit exceeded"),
        ("def f(n):\n    return f(n + 1)\nf(0)", "recursion depth exceeded"),
        ("9 ** 9 ** 9", "the code failed"),
        ("unknown_tool(1)", "name 'unknown_tool' is not defined"),
    ],
)
async def test_code_that_fails_or_exceeds_a_limit_reports_why(
    tmp_path: Path, code: str, why: str
) -> None:
    wanted: JsonValue = {"code": code, "max_seconds": 1, "max_memory_mb": 50}
    error = await refusal(Workspace(tmp_path), "Python.run", wanted)
    assert (error.type, error.non_retryable) == (FailureType.FUNCTION_FAILED, True)
    assert why in error.message
    assert len(error.message) < 5_000


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import os\nos.environ", "'import os' imports a module"),
        ("from subprocess import run", "'from subprocess import' imports a module"),
        ("open('/etc/passwd').read()", "'open' reaches files"),
        ("eval('1')", "'eval' reaches"),
        ("__import__('os')", "'__import__' reaches"),
        ("().__class__.__bases__", "'__bases__' reaches Python's internals"),
    ],
)
async def test_code_that_reaches_out_is_refused_before_it_runs(
    tmp_path: Path, code: str, found: str
) -> None:
    error = await refusal(Workspace(tmp_path), "Python.run", {"code": f"print('ran')\n{code}"})
    assert (error.type, error.non_retryable) == (FailureType.FUNCTION_REFUSED, True)
    assert f"blocked input for Python.run: code: {found}" in error.message


@pytest.mark.parametrize(
    "code",
    [
        "json.codecs.open('/etc/passwd')",
        "re.sys.modules",
        "hashlib.os.environ",
        "datetime.sys.exit(1)",
        "random.SystemRandom.__init__.__name__ and random._os.system('id')",
        "g = getattr(json, 'dec' + 'oder')\ng.scanner.re.sys",
        "getattr(getattr((), '__cl' + 'ass__'), '__mr' + 'o__')[1]",
        "'{0.__init__.__globals__}'.format(json)",
    ],
)
async def test_code_that_passes_the_check_still_finds_no_host(tmp_path: Path, code: str) -> None:
    error = await refusal(Workspace(tmp_path), "Python.run", {"code": code})
    assert error.type in (FailureType.FUNCTION_FAILED, FailureType.FUNCTION_REFUSED)


async def test_sleeping_does_not_hold_the_worker(tmp_path: Path) -> None:
    error = await refusal(Workspace(tmp_path), "Python.run", {"code": "import time\ntime.sleep(9)"})
    assert error.type == FailureType.FUNCTION_REFUSED


@pytest.mark.parametrize("name", ["a b", "__x__", "1"])
async def test_an_input_needs_the_name_of_a_variable(tmp_path: Path, name: str) -> None:
    wanted: JsonValue = {"code": "1", "inputs": {name: 1}}
    error = await refusal(Workspace(tmp_path), "Python.run", wanted)
    assert f"the input {name!r} is not a name of a variable" in error.message
