"""Random expressions over hostile values: what tries to take a worker's time or memory."""

from random import Random
from typing import Any

from coterie.dsl.templates.jinja_engine import ENVIRONMENT, TEXT_METHODS

_ROOTS = (
    "text",
    "spaces",
    "lines",
    "tags",
    "wide",
    "digits",
    "long_list",
    "nested",
    "records",
    "number",
    "odd",
    "nothing",
)
_LITERALS = (
    "1",
    "0",
    "-1",
    "3",
    "60",
    "9999",
    "99999999",
    "1.5",
    "1e308",
    "''",
    "'a'",
    "' '",
    "'a b'",
    "'<b>'",
    "'%s'",
    "'%999d'",
    "'%9999999d'",
    "'%(a)s'",
    "'{0}'",
    "[1]",
    "[[1]]",
    "['a', 'b']",
    "('a', 1)",
    "{'a': 1}",
    "true",
    "none",
    "range(99999)",
    "range(9)",
    "missing",
)
_OPERATORS = (
    "+",
    "-",
    "*",
    "*",
    "*",
    "/",
    "//",
    "%",
    "~",
    "==",
    "!=",
    "<",
    ">=",
    "in",
    "not in",
    "and",
    "or",
)
_FILTERS = tuple(sorted(name for name in ENVIRONMENT.filters if name.isidentifier()))
_TESTS = tuple(sorted(name for name in ENVIRONMENT.tests if name.isidentifier()))
_METHODS = tuple(sorted(TEXT_METHODS))
_HIGHER = ("map", "select", "reject", "selectattr", "rejectattr")
_ATTRIBUTES = ("a", "s", "a.b", "0", "s,a", ".".join("abcdefghij"))


def hostile_context() -> dict[str, Any]:
    """Values of about the size that a run can hold."""
    return {
        "text": "a" * 1_900_000,
        "spaces": "ab " * 600_000,
        "lines": "é\n" * 400_000,
        "tags": "<!-- --><b>&notx;" * 60_000,
        "wide": "𝄞" * 400_000,
        "digits": "9" * 4_300,
        "long_list": list(range(200_000)),
        "nested": [[[[["x"] * 9] * 9] * 9] * 9] * 9,
        "records": [{"a": {"b": n % 7}, "s": f"r{n}" * 20} for n in range(9_000)],
        "number": 10**4_200,
        "odd": {"items": [1], "x" * 500_000: "\x00" * 500_000},
        "nothing": None,
    }


def expression(random: Random, depth: int = 4) -> str:
    """One expression of the template language, hostile by intent."""
    if depth <= 0 or random.random() < 0.1:
        return _leaf(random)
    inner = expression(random, depth - 1)
    match random.randrange(9):
        case 0 | 1:
            other = expression(random, depth - 2)
            return f"({inner} {random.choice(_OPERATORS)} {other})"
        case 2 | 3 | 4:
            return f"({inner})|{random.choice(_FILTERS)}{_arguments(random)}"
        case 5:
            higher = random.choice(_HIGHER)
            words = _FILTERS if higher == "map" else _TESTS
            first = [repr(random.choice(_ATTRIBUTES))] if higher.endswith("attr") else []
            given = ", ".join([*first, repr(random.choice(words)), *_some(random)])
            return f"({inner})|{higher}({given})|list"
        case 6:
            return f"({inner}).{random.choice(_METHODS)}{_arguments(random) or '()'}"
        case 7:
            ends = [random.choice(("", "1", "-1", "99999")) for _ in range(2)]
            return f"({inner})[{ends[0]}:{ends[1]}]"
        case _:
            size = random.choice(("9", "999", "99999"))
            test = f"({inner}) is {random.choice(_TESTS)}{_arguments(random)}"
            many = f"[{inner}] * {size}"
            return random.choice((many, f"{{'a': {inner}}}", f"[{inner}, {inner}]", test))


def prompt(random: Random) -> str:
    """A prompt with statements around such expressions."""
    one, other = expression(random, 3), expression(random, 2)
    begin, show, end = f"{{% set x = {one} %}}", "{{ x }}", "{% endfor %}"
    return random.choice(
        (
            f"{{% for x in {one} %}}{{% for y in {other} %}}{{{{ x ~ y }}}}{end}{end}",
            begin + "{% set x = x + x %}" * 30 + show,
            begin + "{% set x = x * x %}" * 30 + show,
            begin + "{% set x = [x, x, x] %}" * 20 + f"{{{{ x == {other} }}}}" + show,
            f"{{% macro m(n) %}}{{{{ {one} }}}}{{{{ m(n) }}}}{{% endmacro %}}{{{{ m({other}) }}}}",
            f"{{% set x %}}{{% for y in range(9999) %}}{{{{ {one} }}}}{end}{{% endset %}}{show}",
            f"{{% for x in {one} recursive %}}{{{{ loop({other}) }}}}{end}",
        )
    )


def _leaf(random: Random) -> str:
    if random.random() < 0.6:
        return f"context.{random.choice(_ROOTS)}"
    return random.choice(_LITERALS)


def _some(random: Random) -> list[str]:
    return [
        random.choice((*_LITERALS, f"context.{random.choice(_ROOTS)}"))
        for _ in range(random.choice((0, 0, 1, 1, 2)))
    ]


def _arguments(random: Random) -> str:
    given = _some(random)
    if given and random.random() < 0.2:
        given[-1] = f"attribute={random.choice(_ATTRIBUTES)!r}"
    return f"({', '.join(given)})" if given else ""
