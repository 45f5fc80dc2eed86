"""`coterie explain` as people read it."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from coterie.cli import main
from tests.support.documents.layered import layered

Ask = Callable[..., str]


@pytest.fixture
def explain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Ask:
    monkeypatch.chdir(layered(tmp_path))

    def asked(*arguments: str) -> str:
        assert main(["explain", "report", *arguments]) == 0
        return capsys.readouterr().out

    return asked


@pytest.mark.parametrize("command", [["plan"], ["graph", "--format", "svg"]])
def test_every_view_of_a_document_shows_the_digest_of_the_plan_that_runs(
    explain: Ask, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    found = re.search(r"digest ([0-9a-f]{16})", explain())
    assert found is not None
    assert main([command[0], "report", *command[1:]]) == 0
    assert f"digest {found[1]}" in capsys.readouterr().out


def test_without_a_path_there_is_an_overview(explain: Ask) -> None:
    shown = explain().splitlines(keepends=True)
    assert re.fullmatch(r"report  \(digest [0-9a-f]{16}\)\n", shown[0])
    assert "".join(shown[1:]) == snapshot("""\

Files, later ones override earlier ones
  config/system_config.yml
  config/personas: 2 personas
  config/teams/report.yml
  coterie.yml

llm_config
  default_provider  "scripted"    config/system_config.yml:2
  default_model     "never-used"  config/system_config.yml:3

orchestration
  enabled                  true      default
  entry_team               "draft"   config/teams/report.yml:2
  max_total_teams          12        coterie.yml:5
  max_recursion_depth      7         config/teams/report.yml:3
  no_progress              "ignore"  default
  on_failure               "stop"    default
  max_concurrent_branches  200       default
  cancel_timeout           60        default

worker
  workspace          "."     default
  sandbox            "auto"  default
  search_attributes  false   default
  event_groups       false   default

Agents
  draft/first              writer   scripted/of-the-provider  config/system_config.yml:5 (llm_config.providers.scripted.default_model)
  draft/plan               planner  by its plan
  draft/plan/rounds/write  writer   scripted/of-the-plan      config/personas/planner.yml:13 (the task's config)

174 values in all; to see a part: coterie explain report teams.draft
""")  # noqa: E501


def test_a_task_is_reported_line_by_line(explain: Ask) -> None:
    assert explain("orchestration.teams.draft.tasks.first") == snapshot("""\
orchestration.teams.draft.tasks.first
  name                   "first"                             config/teams/report.yml:8
  timeout                120                                 config/teams/report.yml:14
  retry.retries          1                                   config/teams/report.yml:15
  retry.interval         0                                   default
  retry.backoff          2                                   default
  type                   "agent"                             config/teams/report.yml:8
  requires_approval      false                               default
  agent_type             "generic_single_shot"               config/teams/report.yml:9
  persona_key            "writer"                            config/teams/report.yml:10
  config.max_tokens      50                                  config/teams/report.yml:12
  config.prompts.system  "You write briefly."                config/teams/report.yml:13
  agent.provider         "scripted"                          config/system_config.yml:2 (llm_config.default_provider)
  agent.model            "of-the-provider"                   config/system_config.yml:5 (llm_config.providers.scripted.default_model)
  agent.temperature      0.2                                 config/personas/writer.yml:1 (persona writer)
  agent.max_tokens       50                                  config/teams/report.yml:12 (the task's config)
  agent.prompts.system   "You write briefly."                config/teams/report.yml:13 (the task's config)
  agent.prompts.user     "Write about {{ context.topic }}."  config/personas/writer.yml:7 (persona writer)
  agent.prompt_syntax    "template"                          default
  agent.output_schema    2 values                            config/personas/writer.yml:9 (persona writer)
  agent.max_reasks       2                                   default
  agent.reasoning        "auto"                              default
  agent.prompt_cache     "auto"                              default
  agent.timeout          600                                 default
  agent.retries          9                                   coterie.yml:3 (persona writer)
  agent.stream           false                               default
  agent.batch            false                               default
""")  # noqa: E501


def test_some_parts_of_a_path_in_their_order_are_enough(explain: Ask) -> None:
    whole = explain("orchestration.teams.draft.tasks.first.agent.model")
    assert explain("draft.first.model") == whole
    assert "of-the-provider" in whole


def test_a_schema_opens_when_it_is_asked_for(explain: Ask) -> None:
    assert "properties" not in explain("draft.first")
    assert "properties.text.type" in explain("first.agent.output_schema")


def test_a_name_that_is_not_there_is_reported_with_its_neighbour(
    explain: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "report", "teams.darft"]) == 2
    assert capsys.readouterr().err == (
        "coterie: in report nothing is called 'darft': did you mean 'draft'?\n"
    )


def test_names_that_are_there_in_another_order_are_reported(
    explain: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "report", "first.draft"]) == 2
    assert "nothing exists at first.draft" in capsys.readouterr().err


def test_explain_prints_the_chapter_of_an_error_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "e202"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("E202 unknown persona\n")
    assert "Fix: " in shown
    assert "E203" not in shown


def test_explain_refuses_an_unknown_error_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "E999"]) == 2
    assert "there is no error code 'E999'" in capsys.readouterr().err
