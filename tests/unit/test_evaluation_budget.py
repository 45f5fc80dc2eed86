"""The budget of an evaluation: what would take a worker's time or memory is never begun."""

import pytest

from dsl.errors import EvaluationLimitExceeded
from dsl.evaluation import EvaluationBudget, EvaluationMeter, Names
from dsl.facts import Facts
from dsl.templates import fill, fill_text
from dsl.values import Json

STEPS, BYTES, INTEGER, FORMAT = "steps", "bytes", "integer", "format"

REFUSED: list[tuple[str, str]] = [
    ("([[1]*10000]*100000)|sum(start=[])|length", STEPS),
    ("([range(99999)]*1000000)|map('sum')|sum", STEPS),
    ("'%(a)700000000s'|format(a=1)", FORMAT),
    ("'%(a).900000000f'|format(a=1)", FORMAT),
    ("'%(a.b(c))700000000s' % 1", FORMAT),
    ("[[[[1]*1000]*1000]*1000]*1000", STEPS),
    ("([[[[1]*1000]*1000]*1000]*1000)|string|length", STEPS),
    ("([[[[1]*1000]*1000]*1000]*1000)|upper", STEPS),
    ("[['a', [[[[1]*1000]*1000]*1000]*1000]]|urlencode", STEPS),
    ("([[[[1]*1000]*1000]*1000]*1000) == ([[[[1]*1000]*1000]*1000]*1000)", STEPS),
    ("([[1]*1000]*1000) in [[[1]*1000]*1000]", STEPS),
    ("[[[[1]*1000]*1000]*1000]|sort", STEPS),
    ("{((((1,)*999,)*999,)*999,)*999: 1}", STEPS),
    ("[(((1,)*999,)*999,)*999]|unique", STEPS),
    ("('a'*10000000)|wordwrap(1)", STEPS),
    ("('a '*4000000)|title", STEPS),
    ("('a '*4000000)|wordcount", STEPS),
    ("('a '*4000000).split()|length", STEPS),
    ("('a\\v'*4000000).splitlines()|length", STEPS),
    ("('<'*1000000)|striptags", STEPS),
    ("('a'*1000000).strip('b'*1000000 ~ 'a')", STEPS),
    ("('a'*1000000)|trim('b'*1000000)", STEPS),
    ("('a'*4000000).count('a'*90 ~ 'b')", STEPS),
    ("('é'*4000000)|urlencode", STEPS),
    ("('a'*4000000)|list", STEPS),
    ("range(99999)|map('string')|map('length')|sum", STEPS),
    ("range(9999)|map(attribute='a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t.u.v')|list", STEPS),
    ("'a' * 99999999", BYTES),
    ("99999999 * [1]", STEPS),
    ("'%99999999d' | format(1)", FORMAT),
    ("'%*d' | format(99999999, 1)", FORMAT),
    ("'%099999999d' % 1", FORMAT),
    ("('a' * 999999).replace('a', 'b' * 999999)", BYTES),
    ("('a' * 999999) | replace('a', 'b' * 999999)", BYTES),
    ("('a' * 999999) | replace('a', 'b' * 999999, -1)", BYTES),
    ("('a' * 999999).replace('a', 'b' * 999999, -1)", BYTES),
    ("('a' * 999999) | replace('', 'b' * 999999, -7)", BYTES),
    ("('b' * 999999).join(range(9999))", BYTES),
    ("range(9999) | join('b' * 999999)", BYTES),
    ("('a' * 9999999) ~ ('a' * 9999999)", BYTES),
    ("('a' * 9999999) + ('a' * 9999999)", BYTES),
    ("'a\nb' | indent(99999999)", BYTES),
    ("[[1]] | tojson(9999999999) | length + ([[[[[1]*9]*9]*9]*9]|tojson(16)|length)*0 "
     "+ ('a'*99999999)|length", BYTES),
    ("('9'*1000000)|int", INTEGER),
    ("('f'*1000000)|int(0, 16)", INTEGER),
    ("1|round(-900000000)", INTEGER),
    ("1.5|round(900000000, 'ceil')", INTEGER),
    ("('9'*4000)|int * ('9'*4000)|int", INTEGER),
    ("([('9'*4000)|int]*9)|sum * ('9'*4000)|int", INTEGER),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "bound"), REFUSED)
def test_an_expression_that_would_take_a_worker_is_refused_by_its_bound(
    expression: str, bound: str
) -> None:
    with pytest.raises(EvaluationLimitExceeded) as raised:
        fill("{{ " + expression + " }}", {})
    assert raised.value.bound == bound
    assert expression.split()[0][:20] in str(raised.value)  # the place


PROMPTS: list[tuple[str, str, int]] = [
    ("{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}"
     "{% endfor %}{% endfor %}{% endfor %}", STEPS, 1),
    ("one\n{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}",
     STEPS, 2),
    ("{% set x = 3 %}" + "{% set x = x*x %}\n" * 30 + "{{ x }}", INTEGER, 14),
    ("{% set x = 'aa' %}" + "{% set x = x ~ x %}\n" * 40 + "{{ x|length }}", BYTES, 23),
    ("{% macro m(n) %}{{ m(n) }}{{ m(n) }}{% endmacro %}{{ m(1) }}", "", 1),
    ("{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
     STEPS, 1),
    ("{% set x %}{% for a in range(99) %}" + "y" * 100_000 + "{% endfor %}{% endset %}{{ x }}",
     "", 1),
    ("{% for a in range(9999) %}" + "y" * 10_000 + "{% endfor %}", BYTES, 1),
    ("{% for a in range(9) recursive %}{{ loop(range(9)) }}{% endfor %}", "", 1),
    ("{% for a in range(9999) if [1]*9999 %}{{ a }}{% endfor %}", STEPS, 1),
    ("{% macro m() %}{{ varargs|length }}{% endmacro %}"
     "{% for a in range(999) %}{{ m(*range(9999)) }}{% endfor %}", STEPS, 1),
    ("{% for a in range(99) %}{% for b in range(9999) %}{{ loop.changed([1]*9999) }}{% endfor %}"
     "{% endfor %}", STEPS, 1),
]  # fmt: skip


@pytest.mark.parametrize(("prompt", "bound", "line"), PROMPTS)
def test_a_prompt_that_would_take_a_worker_fails_by_name(
    prompt: str, bound: str, line: int
) -> None:
    from dsl.errors import TemplateFailed

    with pytest.raises(TemplateFailed) as raised:
        print(str(fill_text(prompt, {}))[:100])
    print(raised.value)
    if bound:
        assert isinstance(raised.value, EvaluationLimitExceeded)
        assert raised.value.bound == bound
    if "\n" in prompt:
        assert f" in line {line}:" in str(raised.value)
