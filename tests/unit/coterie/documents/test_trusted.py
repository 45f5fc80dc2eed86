"""What a worker may touch and reach comes from its own files; their paths mean what they say."""

from dataclasses import replace
from pathlib import Path

import pytest

from coterie.documents.catalog import Catalog, shipped_root
from coterie.documents.compilation import compile_target
from coterie.documents.trusted_catalog import scope_providers, trusted_catalog, trusted_document
from coterie.documents.worker_trust import key_names, missing_keys
from coterie.dsl.compile.compiler import SourceText
from coterie.dsl.errors import InvalidDocument
from coterie.failures import CommandError
from coterie.settings import Settings, load
from coterie.worker.surroundings import provider_settings, user_code_of, workspace_of

TEAM = """
llm_config:
  personas: {p: {provider: PROVIDER, model: m, prompts: {user: hello}}}
orchestration:
  entry_team: t
  teams: {t: {tasks: [{name: a, agent_type: generic_single_shot, persona_key: p}]}}
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "config" / "teams").mkdir(parents=True)
    (tmp_path / "coterie.yml").write_text("")
    return load({"ANTHROPIC_API_KEY": "of-anthropic"}, tmp_path)


def write(settings: Settings, name: str, text: str) -> None:
    file = settings.project / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_a_path_is_relative_to_the_file_that_says_it(settings: Settings) -> None:
    system = (
        "worker: {workspace: ../work}\n"
        "llm_config: {providers: {s: {kind: scripted, answers: a.yml}}}\n"
    )
    write(settings, "config/system_config.yml", system)
    write(settings, "config/teams/x.yml", TEAM.replace("PROVIDER", "s"))
    (settings.project / "work").mkdir()
    trusted = compile_target(settings, "x").trusted
    assert trusted.workspace == str(settings.project / "work")
    assert trusted.providers["s"].answers == str(settings.project / "config" / "a.yml")
    write(settings, "coterie.yml", "llm_config: {providers: {s: {answers: b.yml}}}\n")
    trusted = compile_target(settings, "x").trusted
    assert trusted.providers["s"].answers == str(settings.project / "b.yml")


def test_a_shipped_team_works_on_the_project_not_on_the_installation(settings: Settings) -> None:
    trusted = compile_target(settings, "requirements").trusted
    assert trusted.workspace == str(settings.project)
    answers = Path(str(trusted.providers["scripted"].answers))
    assert answers.resolve().is_relative_to(shipped_root().resolve())


def test_a_workspace_of_the_call_is_stronger_and_must_be_there(settings: Settings) -> None:
    (settings.cwd / "here").mkdir()
    assert compile_target(settings, "requirements", workspace="here").trusted.workspace.endswith(
        "/here"
    )
    with pytest.raises(CommandError, match="is not a folder"):
        compile_target(settings, "requirements", workspace="nowhere")


def test_a_key_goes_only_to_the_address_that_it_is_named_for(settings: Settings) -> None:
    text = (
        "llm_config: {providers: {anthropic: {api_base: 'http://127.0.0.1:1'}, "
        "mine: {kind: anthropic, api_base: 'http://127.0.0.1:1', api_key_env: ANTHROPIC_API_KEY}}}"
    )
    write(settings, "coterie.yml", text)
    write(settings, "config/teams/x.yml", TEAM.replace("PROVIDER", "mine"))
    trusted = compile_target(settings, "x").trusted
    providers = provider_settings(trusted, settings)
    assert providers["anthropic"].api_key is None, "a server of its own gets no vendor's key"
    assert providers["mine"].api_key == "of-anthropic"
    assert "of-anthropic" not in repr(providers)
    assert "of-anthropic" not in trusted.model_dump_json()


def test_a_cloud_gets_no_vendor_s_key(settings: Settings) -> None:
    text = (
        "llm_config: {providers: {anthropic: {cloud: bedrock, region: eu-west-1}, "
        "mine: {kind: anthropic, cloud: vertex, region: eu, project: my-project}}}"
    )
    write(settings, "coterie.yml", text)
    document = compile_target(settings, "requirements", model="anthropic/claude-sonnet-5-5")
    providers = provider_settings(document.trusted, settings)
    found = {
        name: (one.cloud, one.region, one.project, one.api_key) for name, one in providers.items()
    }
    assert found["anthropic"] == ("bedrock", "eu-west-1", None, None)
    assert found["mine"] == ("vertex", "eu", "my-project", None)
    assert missing_keys(key_names(document.compiled.plan, document.trusted), settings) == []


def test_headers_come_from_the_environment_of_the_worker(settings: Settings) -> None:
    section = "{organization: org-1, project: proj_1, headers: {X-Team: TEAM, X-Other: OTHER}}"
    write(settings, "coterie.yml", f"llm_config: {{providers: {{openai: {section}}}}}")
    document = compile_target(settings, "requirements", model="openai/gpt-5.2")
    known = replace(settings, environment={**settings.environment, "TEAM": "ours"})
    found = provider_settings(document.trusted, known)["openai"]
    assert (found.organization, found.project) == ("org-1", "proj_1")
    assert (found.headers, found.missing_env) == ({"X-Team": "ours"}, "OTHER")
    assert "ours" not in repr(found)


@pytest.mark.parametrize(
    ("section", "wanted"),
    [
        ("{cloud: bedrock}", "`cloud: bedrock` needs a `region`"),
        ("{cloud: bedrock, region: us-east-1, project: p}", "no `project`"),
        ("{cloud: vertex, region: eu}", "`cloud: vertex` needs a `region`"),
        ("{cloud: foundry, api_base: 'https://x.example'}", "an `api_key_env`"),
        ("{region: eu-west-1}", "belong to a `cloud`"),
        ("{cloud: bedrock, region: 'evil.example/x'}", "lowercase letters"),
        ("{cloud: azure}", "bedrock, vertex, foundry"),
    ],
)
def test_what_a_cloud_needs_is_reported_before_a_run(
    settings: Settings, section: str, wanted: str
) -> None:
    write(settings, "coterie.yml", f"llm_config: {{providers: {{anthropic: {section}}}}}")
    with pytest.raises(InvalidDocument) as caught:
        compile_target(settings, "requirements")
    (problem,) = caught.value.problems
    assert wanted in (problem.allowed or "")


@pytest.mark.parametrize(
    ("models", "missing"),
    [
        ("provider: anthropic", 0),
        ("provider: openai", 1),
        ("provider: anthropic, fallback: [anthropic/n, openai/m]", 1),
        ("provider: anthropic, compaction: {model: openai/m}", 1),
        ("provider: openai, fallback: [openai/n], compaction: {model: openai/n}", 1),
    ],
)
def test_built_in_providers_of_every_model_need_their_key(
    settings: Settings, models: str, missing: int
) -> None:
    text = TEAM.replace("provider: PROVIDER", models).replace(
        "name: a,", "name: a, conversation: c,"
    )
    write(settings, "config/teams/x.yml", text)
    document = compile_target(settings, "x")
    shown = missing_keys(key_names(document.compiled.plan, document.trusted), settings)
    assert len(shown) == missing
    assert all("OPENAI_API_KEY" in sentence for sentence in shown)


def test_commands_keep_their_names_and_get_the_environment(settings: Settings) -> None:
    write(settings, "coterie.yml", "worker: {commands: {test: {run: [pytest, -q], timeout: 2m}}}")
    trusted = compile_target(settings, "requirements").trusted
    workspace = workspace_of(trusted, settings)
    command = workspace.commands["test"]
    assert (command.run, command.timeout) == (("pytest", "-q"), 120.0)
    assert workspace.environment["ANTHROPIC_API_KEY"] == "of-anthropic"


def test_equal_configurations_have_one_digest_and_others_another(settings: Settings) -> None:
    first = compile_target(settings, "requirements").trusted
    assert compile_target(settings, "requirements").trusted.digest == first.digest
    assert compile_target(settings, "development").trusted.digest != first.digest
    write(settings, "coterie.yml", "worker: {commands: {test: {run: [pytest]}}}")
    assert compile_target(settings, "requirements").trusted.digest != first.digest


def test_documents_of_a_catalog_keep_their_own_way_to_a_provider(settings: Settings) -> None:
    """Two shipped teams have a script each; a worker of both must not confuse them."""
    trusted = trusted_catalog(settings, Catalog(settings), None)
    scripts = {name: str(section.answers) for name, section in trusted.scoped.items()}
    assert scripts["scripted@development"].endswith("development.yml")
    assert scripts["scripted@requirements"].endswith("requirements.yml")
    document = compile_target(settings, "development")
    plan = scope_providers(
        document.compiled.plan, "development", document.trusted.providers, trusted
    )
    assert plan.providers == ("scripted@development",)
    assert plan.with_digest().digest == plan.digest
    kinds = {name: one.kind for name, one in provider_settings(trusted, settings).items()}
    assert kinds["scripted@development"] == "scripted"


def test_the_projects_word_ends_every_difference(settings: Settings) -> None:
    write(settings, "coterie.yml", "llm_config: {providers: {scripted: {answers: mine.yml}}}")
    trusted = trusted_catalog(settings, Catalog(settings), None)
    assert trusted.scoped == {}
    assert trusted.providers["scripted"].answers == str(settings.project / "mine.yml")


def test_a_document_cannot_widen_what_the_shared_worker_may_touch(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    team = TEAM.replace("PROVIDER", "scripted")
    write(settings, "config/teams/x.yml", "worker: {commands: {sh: {run: [sh]}}}" + team)
    trusted = trusted_catalog(settings, Catalog(settings), None)
    assert "sh" not in trusted.commands
    assert "config/teams/x.yml has a `worker` section" in capsys.readouterr().err


def test_only_an_unused_worker_section_of_a_document_is_reported(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    write(settings, "config/system_config.yml", "worker: {commands: {ls: {run: [ls]}}}\n")
    write(settings, "config/teams/x.yml", TEAM.replace("PROVIDER", "scripted"))
    assert "ls" in trusted_catalog(settings, Catalog(settings), None).commands
    assert "`worker` section" not in capsys.readouterr().err


def test_only_the_document_itself_says_what_its_worker_may_touch(settings: Settings) -> None:
    def asking(name: str) -> str:
        return f"worker: {{commands: {{{name}: {{run: [{name}]}}}}}}"

    sources = [
        SourceText("x.yml", asking("own")),
        SourceText("i.yml", asking("included"), included=True),
        SourceText("p.yml", asking("persona"), persona="p"),
    ]
    assert set(trusted_document(settings, sources, None).commands) == {"own"}


@pytest.mark.parametrize(
    ("section", "sets"),
    [
        ("{}", False),
        ("{search_attributes: true}", True),
        ("{event_groups: true}", True),
    ],
)
def test_a_worker_sets_visibility_when_it_has_anything_to_show(
    settings: Settings, section: str, sets: bool
) -> None:
    trusted = trusted_document(settings, [SourceText("x.yml", f"worker: {section}")], None)
    assert trusted.sets_visibility is sets


def test_one_broken_document_does_not_keep_the_others_from_being_served(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    write(settings, "config/teams/broken.yml", "llm_config: [\n")
    trusted = trusted_catalog(settings, Catalog(settings), None)
    assert "scripted@development" in trusted.scoped
    assert "broken cannot be served" in capsys.readouterr().err


def test_an_agent_class_sees_the_variables_that_the_worker_names(tmp_path: Path) -> None:
    (tmp_path / "coterie.yml").write_text("worker: {agent_env: [OWN_KEY]}\n")
    environ = {"PATH": "/bin", "LC_ALL": "C", "OWN_KEY": "own", "ANTHROPIC_API_KEY": "secret"}
    settings = load(environ, tmp_path)
    trusted = trusted_catalog(settings, Catalog(settings), None)
    seen = dict(user_code_of(trusted, settings).environment)
    assert seen == {"PATH": "/bin", "LC_ALL": "C", "OWN_KEY": "own"}
