"""`Python.run` against CPython: the differences are those that the documentation lists."""

import base64
import collections
import datetime
import decimal
import functools
import hashlib
import itertools
import json
import math
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue

from coterie.activities.tool_functions.compute.python_code import (
    MODULES,
    CodeLimits,
    as_plain_json,
    run_code,
)
from coterie.activities.workspace.function_base import Workspace
from coterie.dsl.values import Json
from tests.law.sources import ROOT
from tests.support.tool_functions import call, refusal

NUMBER = 500
HOST = (base64, collections, datetime, decimal, functools, hashlib, itertools, json, math, random)
NAMES = {module.__name__: module for module in (*HOST, re)}


class Writer:
    """Writes expressions as people write them about money, texts, dates and lists."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def money(self) -> str:
        return f"{self.whole(0, 9999)}.{self.one('005', '015', '125', '675', '995', '105', '5')}"

    def number(self) -> str:
        return self.one(str(self.whole(-50, 50)), self.money(), f"{self.whole(1, 9)}e-3")

    def text(self) -> str:
        return repr("".join(self._random.choices("aAbBzZ 019-_éß.,\t", k=self.whole(0, 8))))

    def items(self) -> str:
        return str([self.whole(-9, 9) for _ in range(self.whole(1, 6))])

    def day(self) -> str:
        return f"datetime.date({self.whole(2000, 2030)}, {self.whole(1, 12)}, {self.whole(1, 28)})"

    def whole(self, least: int, most: int) -> int:
        return self._random.randint(least, most)

    def one(self, *choices: str) -> str:
        return self._random.choice(choices)


def half_cent(writer: Writer) -> str:
    return f"round({writer.whole(0, 99)}.{writer.whole(10, 99)}5, 2)"


FORMS: tuple[Callable[[Writer], str], ...] = (
    lambda w: f"round({w.money()}, {w.whole(0, 2)})",
    *[half_cent] * 4,
    lambda w: f"round({w.whole(-40, 40)}.5)",
    lambda w: f"'{{:.{w.whole(0, 3)}f}}'.format({w.money()})",
    lambda w: f"f'{{{w.money()}:,.2f}}' + '%.2f' % {w.money()}",
    lambda w: f"decimal.Decimal('{w.money()}').quantize(decimal.Decimal('0.01'))",
    lambda w: f"decimal.Decimal('{w.money()}') * decimal.Decimal('1.19')",
    lambda w: f"{w.number()} {w.one('+', '-', '*')} {w.number()}",
    lambda w: f"{w.whole(-99, 99)} {w.one('//', '%', '/')} {w.one('-7', '-3', '2', '0.5')}",
    lambda w: f"{w.whole(-9, 9)} ** {w.whole(0, 30)}",
    lambda w: f"sum({w.items()}) / len({w.items()})",
    lambda w: f"sorted({w.items()}, reverse=True)[{w.whole(-3, 3)}:] + {w.items()}[::-1]",
    lambda w: f"{w.text()}.{w.one('upper', 'title', 'strip', 'split', 'casefold', 'isalpha')}()",
    lambda w: f"{w.text()}.replace('a', {w.text()}).count('a')",
    lambda w: f"repr({w.text()}) + repr({w.number()})",
    lambda w: f"json.dumps({{'a': {w.number()}, 'b': {w.text()}}})",
    lambda w: f"{w.day()} + datetime.timedelta(days={w.whole(-400, 400)})",
    lambda w: f"{w.day()}.strftime('{w.one('%Y-%m-%d', '%A %d %B', '%j')}')",
    lambda w: f"math.{w.one('floor', 'ceil', 'trunc', 'sqrt', 'log')}({w.money()} + 1)",
    lambda w: f"re.findall(r'\\d|[A-Z]', re.sub('[a-z]+', '#', {w.text()}))",
    lambda w: f"{{k: v for k, v in enumerate({w.items()}) if v > 0}}",
    lambda w: f"list(range({w.whole(-5, 5)}, {w.whole(-5, 9)}, {w.one('1', '2', '-1')}))",
    lambda w: f"divmod({w.whole(-50, 50)}, {w.one('-7', '3', '0.5')})",
    lambda w: f"int('{w.whole(0, 99)}', {w.one('10', '16', '36')}) + float('{w.number()}')",
    lambda w: f"{w.one('any', 'all', 'max', 'min', 'len')}({w.items()})",
    lambda w: f"hashlib.sha256({w.text()}.encode()).hexdigest()",
    lambda w: f"collections.Counter({w.text()}).most_common(2)",
    lambda w: f"functools.reduce(lambda a, b: a * 2 + b, [*itertools.accumulate({w.items()})])",
    lambda w: f"base64.b64encode({w.text()}.encode()).decode()",
    lambda w: f"'{{:>5}}|{{:^7}}'.format({w.whole(0, 999)}, 'b') + f'{{0.{w.whole(1, 99)}:.1%}}'",
)
LISTED = {"round("}
"""How the expressions begin whose results the documentation lists as different."""


def test_expressions_differ_from_cpython_only_where_the_documentation_says() -> None:
    assert set(MODULES) == set(NAMES)
    writer = Writer(27)
    written = [FORMS[number % len(FORMS)](writer) for number in range(NUMBER)]
    code = "".join(f"found.append({one})\n" for one in written)
    ran = cast("list[JsonValue]", run_code(f"found = []\n{code}found", {}, LIMITS).value)
    expected = [as_plain_json(eval(one, dict(NAMES))) for one in written]
    different = [
        one for one, ours, theirs in zip(written, ran, expected, strict=True) if ours != theirs
    ]
    assert {form for form in LISTED for one in different if one.startswith(form)} == LISTED
    assert [one for one in different if not one.startswith(tuple(LISTED))] == []


LIMITS = CodeLimits(30.0, 128 << 20)
ROWS = re.findall(
    r"^\| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \|", (ROOT / "docs/agent-steps.md").read_text(), re.M
)


def test_the_documentation_lists_real_differences() -> None:
    assert "round(2.675, 2)" in [code for code, _, _ in ROWS]
    for code, theirs, ours in ROWS:
        assert str(eval(code, dict(NAMES))) == theirs
        assert str(run_code(code, {}, LIMITS).value) == ours


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("range(3)", "the value is a range"),
        ("x = {'a': {'b': 1}}\nx['a'].keys()  # views", "the value is a dict_keys"),
        ("[{'a': {}.values()}]", "the value[0].a is a dict_values"),
        ("{}.items()", "the value is a dict_items"),
        ("lambda x: x", "the value is a function"),
        ("def f(): return 1\n[1, f]", "the value[1] is a function"),
        ("len", "the value is a function"),
        ("int", "the value is a type"),
        ("math", "the value is a module"),
        ("iter([1])", "the value is a list_iterator"),
        ("re.match('a', 'a')", "the value is a Match"),
        ("slice(1)", "the value is a slice"),
        ("float('nan')", "the value is nan"),
        ("[decimal.Decimal('Infinity')]", "the value[0] is Infinity"),
        ("1 + 2j", "the value is a complex"),
        ("...", "the value is a ellipsis"),
        ("b'ab'", "the value is a bytes"),
        ("ValueError('x')", "the value is a ValueError"),
        ("{(1, 2): 3}", "the value has the key (1, 2), which is a tuple"),
    ],
)
async def test_a_value_that_is_not_json_is_a_failure(tmp_path: Path, code: str, what: str) -> None:
    error = await refusal(Workspace(tmp_path), "Python.run", {"code": code})
    assert (error.type, error.non_retryable) == ("FunctionFailed", True)
    assert f"the value is not JSON: {what}" in error.message


async def test_a_text_that_looks_like_a_range_stays_a_text(tmp_path: Path) -> None:
    given: Json = {"code": "[str(range(3)), '<p>']"}
    result = cast("Json", await call(Workspace(tmp_path), "Python.run", given))
    assert result["value"] == ["range(0, 3)", "<p>"]
