"""`coterie check`: findings, inputs, the worst case and its price, held against bounds."""

import json
from pathlib import Path
from typing import Any

import pytest

from coterie.cli import main
from coterie.dsl.model.vendors.vendors import VENDORS

DOCUMENT = """\
llm_config:
  default_provider: {provider}
  default_model: {model}
  providers: {{ scripted: {{ answers: answers.yml }} }}
  personas:
    writer:
      max_tokens: 1000
      max_reasks: 1
      prompts: {{ user: "Write about {{{{ context.topic }}}}." }}
orchestration:
  entry_team: draft
  max_recursion_depth: 3
  teams:
    draft:
      tasks: [{{ name: write, agent_type: generic_single_shot, persona_key: writer }}]
      routing:
        rules:
          - condition: {{ task: write, output_field: text, operator: contains, value: again }}
            next_team: draft
{more}        default: null
"""
DEAD = "          - { next_team: null }\n          - { next_team: draft }\n"
EACH = """\
          - condition: all_success
            next_team: each
    each:
      tasks:
        - name: every_topic
          iterate_on: "{{ context.topics }}"
          loop_variable: one
          body: [{ name: note, agent_type: generic_single_shot, persona_key: writer }]
      routing:
"""


class Desk:
    """A folder with a document, and what `check` says of it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.capsys = capsys

    def write(self, provider: str = "scripted", model: str = "demo", more: str = "") -> None:
        text = DOCUMENT.format(provider=provider, model=model, more=more)
        (self.folder / "team.yml").write_text(text)

    def check(self, *arguments: str) -> tuple[int, str, str]:
        code = main(["check", "team.yml", *arguments])
        output = self.capsys.readouterr()
        return code, output.out, output.err

    def report(self, *arguments: str) -> dict[str, Any]:
        _, out, _ = self.check("--json", *arguments)
        return json.loads(out)


@pytest.fixture
def desk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Desk:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "coterie.yml").touch()
    return Desk(tmp_path, capsys)


def test_the_inputs_and_the_worst_case_are_shown(desk: Desk) -> None:
    desk.write()
    code, out, err = desk.check()
    assert code == 0
    assert "topic  to start  team.yml:9  read first by draft" in out
    assert [line.split() for line in out.splitlines() if line.startswith("  draft")] == [
        ["draft", "3", "6", "0", "0", "6,000", "0.00"]
    ]
    assert [line.split()[-6:] for line in out.splitlines() if "the whole run" in line] == [
        ["3", "6", "0", "0", "6,000", "0.00"]
    ]
    assert "scripted/demo: at most 6 calls" in out
    assert "20,000 input tokens per call" in out
    assert err == "team.yml: no problems\n"


def test_check_says_what_it_leaves_out(desk: Desk) -> None:
    desk.write()
    assert "left out" not in desk.check()[1]
    file = desk.folder / "team.yml"
    budgets = "orchestration:\n  budgets: { tokens: 5000 }"
    file.write_text(file.read_text().replace("orchestration:", budgets))
    assert (
        "not counted: budgets, which end or redirect a run earlier: the token budget of the run, "
        "5,000 tokens"
    ) in desk.check()[1]


def test_a_bound_that_is_kept_is_kept_and_one_that_is_not_fails(desk: Desk) -> None:
    desk.write()
    assert desk.check("--max-model-calls", "6")[0] == 0
    code, _, err = desk.check("--max-model-calls", "5")
    assert code == 1
    assert "a run may make 6 model calls, more than --max-model-calls 5" in err


def test_the_cost_is_made_of_prices_calls_and_the_assumed_length(desk: Desk) -> None:
    desk.write("anthropic", "mine")
    (desk.folder / "prices.yml").write_text("anthropic/mine: { input: 2, output: 10 }\n")
    priced = ("--prices", "prices.yml")
    cost = 6 * (20_000 * 2 + 1_000 * 10) / 1_000_000
    total = desk.report(*priced)["worst_case"]["total"]
    assert total["cost_usd"] == pytest.approx(cost) == 0.3
    shorter = desk.report(*priced, "--input-tokens-per-call", "0")["worst_case"]
    assert shorter["total"]["cost_usd"] == pytest.approx(0.06)
    assert shorter["assumed_input_tokens_per_call"] == 0
    assert desk.check(*priced, "--max-cost", "0.30")[0] == 0
    code, out, err = desk.check(*priced, "--max-cost", "0.29")
    assert code == 1
    assert "2.00 USD in and 10.00 USD out per million tokens (prices.yml)" in out
    assert "a run may cost 0.30 USD, more than --max-cost 0.29" in err


def test_public_prices_come_along(desk: Desk) -> None:
    desk.write("anthropic", "claude-sonnet-4-5")
    (model,) = desk.report()["worst_case"]["models"].values()
    assert model == {"calls": 6, "price": {"input": 3.0, "output": 15.0}}
    assert "(genai-prices " in desk.check()[1]
    assert desk.report("--model", "openai/gpt-5")["worst_case"]["models"].keys() == {"openai/gpt-5"}


def test_a_model_without_a_price_is_reported_and_keeps_no_bound(desk: Desk) -> None:
    desk.write("anthropic", "of-tomorrow")
    code, out, _ = desk.check()
    assert code == 0
    assert "anthropic/of-tomorrow: at most 6 calls, UNPRICED" in out
    assert [line.split()[-1] for line in out.splitlines() if "the whole run" in line] == [
        "unpriced"
    ]
    total = desk.report()["worst_case"]["total"]
    assert (total["cost_usd"], total["unpriced"]) == (None, ["anthropic/of-tomorrow"])
    code, _, err = desk.check("--max-cost", "1000")
    assert code == 1
    assert "the cost has no upper limit: anthropic/of-tomorrow is unpriced" in err


def test_a_server_of_ones_own_has_no_public_price(desk: Desk) -> None:
    desk.write("local", "gpt-5")
    (desk.folder / "coterie.yml").write_text(
        "llm_config: { providers: { local: { kind: openai, api_base: 'http://localhost:1' } } }\n"
    )
    assert desk.report()["worst_case"]["total"]["unpriced"] == ["local/gpt-5"]


def test_unbounded_calls_are_reported_with_their_loop(desk: Desk) -> None:
    desk.write(more=EACH)
    code, out, _ = desk.check()
    assert code == 0
    assert "unbounded: the loop 'every_topic' iterates over {{ context.topics }}" in out
    worst = desk.report()["worst_case"]
    assert worst["total"]["model_calls"] is None
    assert [loop["step"] for loop in worst["unbounded"]] == ["every_topic"]
    code, _, err = desk.check("--max-model-calls", "1000")
    assert code == 1
    assert "unbounded model calls" in err
    assert "nothing limits 'every_topic'" in err


def test_findings_are_shown_and_only_strict_fails_on_them(desk: Desk) -> None:
    desk.write(more=DEAD)
    code, out, err = desk.check()
    assert code == 0
    assert "team.yml:21:13: warning: rule 3 is never reached: rule 2 has no condition" in out
    assert "    21 |           - { next_team: draft }\n" in out
    assert "team.yml: 1 warning\n" in err
    assert desk.check("--strict")[0] == 1
    (problem,) = desk.report()["problems"]
    assert (problem["code"], problem["line"], problem["severity"]) == ("W504", 21, "warning")


def test_validate_tells_what_the_analysis_found(desk: Desk) -> None:
    desk.write(more=DEAD)
    assert main(["validate", "team.yml"]) == 0
    assert "rule 3 is never reached" in desk.capsys.readouterr().out


def test_a_document_that_does_not_compile_is_not_checked(desk: Desk) -> None:
    desk.write(more="          - { next_team: drat }\n")
    code, out, err = desk.check()
    assert (code, out) == (2, "")
    assert "unknown team 'drat'" in err


@pytest.mark.parametrize(
    ("prices", "message"),
    [
        ("a/b: { input: 1 }", "prices.yml:1:1: the price of 'a/b' must read like"),
        ("a/b: { input: cheap, output: 1 }", "prices.yml:1:1: the price of 'a/b' must read like"),
        ("a/b: { input: -1, output: 1 }", "prices.yml:1:1: the price of 'a/b' must read like"),
        ("a/b: {", "YAML"),
    ],
)
def test_a_file_of_prices_that_is_wrong_is_refused(desk: Desk, prices: str, message: str) -> None:
    desk.write()
    (desk.folder / "prices.yml").write_text(prices)
    code, _, err = desk.check("--prices", "prices.yml")
    assert code == 2
    assert message in err


@pytest.mark.parametrize(
    "arguments", [("--max-cost", "much"), ("--max-cost", "-1"), ("--max-model-calls", "1.5")]
)
def test_a_bound_that_is_no_number_is_refused(desk: Desk, arguments: tuple[str, str]) -> None:
    desk.write()
    with pytest.raises(SystemExit) as raised:
        desk.check(*arguments)
    assert raised.value.code == 2


@pytest.mark.parametrize(
    ("provider", "variable", "key"),
    [
        (kind, variable, key)
        for kind, vendor in VENDORS.items()
        for variable, key in vendor.ignored_variables.items()
    ],
)
def test_variables_that_only_an_sdk_reads_are_named_as_ignored(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, provider: str, variable: str, key: str
) -> None:
    monkeypatch.setenv(variable, "other")
    desk.write(provider, "m-1")
    _, _, said = desk.check()
    assert f"{variable} is set, and ignored: set {key} of the provider instead" in said
    assert variable in desk.report()["ignored_variables"]
    desk.write()
    assert desk.report()["ignored_variables"] == []
