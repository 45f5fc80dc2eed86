"""docker-compose.yml and Dockerfile are what a fleet starts from; no engine runs here."""

import json
import re
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from typing import Any, cast

import pytest
import yaml
from jsonschema.validators import validator_for

from coterie.dsl.model.document import SystemDocument
from coterie.settings import OVERRIDE_FILE, load
from tests.law.sources import ROOT

Mapping = dict[str, Any]

COMPOSE = cast("Mapping", yaml.safe_load((ROOT / "docker-compose.yml").read_text()))
SERVICES = cast("dict[str, Mapping]", COMPOSE["services"])
DOCKERFILE = (ROOT / "Dockerfile").read_text()
SECRET = re.compile(r"KEY|PASSWORD|PWD|SECRET|TOKEN", re.IGNORECASE)
BY_NAME = re.compile(r"\$\{[A-Z_]+(:-|:\?[^}]+)?\}")
"""`${NAME}`, `${NAME:-}` or `${NAME:?what to do}`: no default, so no value."""


def texts(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for item in cast("Mapping", value).values():
                yield from texts(item)
        case list():
            for item in cast("list[object]", value):
                yield from texts(item)
        case _:
            return


def test_the_compose_file_is_valid_against_the_compose_specification() -> None:
    schemas = files("check_jsonschema") / "builtin_schemas/vendor/compose-spec.json"
    schema = json.loads(schemas.read_text())
    problems = [error.message for error in validator_for(schema)(schema).iter_errors(COMPOSE)]
    assert problems == []


def test_temporal_postgresql_ui_and_worker_are_there() -> None:
    assert {"temporal", "postgresql", "ui", "worker"} <= SERVICES.keys()


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_every_image_is_pinned_by_a_version(name: str) -> None:
    _, _, tag = SERVICES[name]["image"].rpartition(":")
    assert re.match(r"\d+\.\d+", tag), SERVICES[name]["image"]


def test_the_worker_image_has_the_projects_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert SERVICES["worker"]["image"] == f"coterie:{project['version']}"


def test_a_service_waits_for_what_it_needs_and_the_other_can_say_so() -> None:
    """A condition on health needs a health check; one on completion a service that ends."""
    for name, service in SERVICES.items():
        for other, wait in cast("dict[str, Mapping]", service.get("depends_on", {})).items():
            assert other in SERVICES, f"{name} depends on {other}"
            if wait["condition"] == "service_healthy":
                assert "healthcheck" in SERVICES[other], f"{name} waits for the health of {other}"
            else:
                assert wait["condition"] == "service_completed_successfully"
                assert SERVICES[other]["restart"].startswith("on-failure")


def test_every_service_that_stays_has_a_health_check() -> None:
    for name, service in SERVICES.items():
        if service["restart"] == "unless-stopped":
            assert service["healthcheck"]["test"], name


def test_volumes_and_configs_that_services_name_are_declared() -> None:
    for name, service in SERVICES.items():
        for volume in service.get("volumes", []):
            source = re.sub(r"\$\{\w+:-(\w+)\}", r"\1", volume).partition(":")[0]
            assert source in COMPOSE["volumes"], name
        for config in service.get("configs", []):
            assert config["source"] in COMPOSE["configs"], name


def test_compose_separates_the_workspace_from_the_configuration_of_the_worker() -> None:
    """Else a team could write the configuration that its worker starts with next time."""
    worker = SERVICES["worker"]
    (config,) = worker["configs"]
    document = yaml.safe_load((ROOT / COMPOSE["configs"][config["source"]]["file"]).read_text())
    settings = SystemDocument.model_validate(document)
    assert settings.worker is not None
    assert settings.worker.workspace == "/workspace"
    targets = [volume.rpartition(":")[2] for volume in worker["volumes"]]
    assert targets == ["/workspace", "/storage", "/home/coterie/.coterie"]
    (home,) = re.findall(r"^WORKDIR (/home/\S+)$", DOCKERFILE, re.MULTILINE)
    assert config["target"] == f"{home}/{OVERRIDE_FILE}"


def test_secrets_stand_in_the_compose_file_by_name_alone() -> None:
    for name, service in SERVICES.items():
        for key, value in service.get("environment", {}).items():
            if SECRET.search(key):
                assert BY_NAME.fullmatch(value), f"{name}: {key}"
    assert not [text for text in texts(COMPOSE) if re.search(r"sk-\w{8}|://\w+:\w+@", text)]


def test_the_worker_learns_from_the_environment_where_temporal_is() -> None:
    worker = SERVICES["worker"]["environment"]
    plain = {key: re.sub(r"\$\{\w+:-(\w*)\}", r"\1", value) for key, value in worker.items()}
    settings = load(plain, ROOT)
    assert settings.address == "temporal:7233"
    assert settings.namespace == "default"
    assert settings.task_queue == "coterie"
    known = (ROOT / "coterie/settings.py").read_text()
    assert not [key for key in worker if key.startswith("COTERIE_") and f'"{key}"' not in known]


def test_nothing_listens_beyond_this_machine() -> None:
    """Temporal itself asks nobody who they are."""
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_a_loop_is_not_slowed_to_twenty_steps_a_second_and_runs_take_turns() -> None:
    temporal = SERVICES["temporal"]
    (config,) = temporal["configs"]
    assert temporal["environment"]["DYNAMIC_CONFIG_FILE_PATH"] == config["target"]
    settings = yaml.safe_load(COMPOSE["configs"][config["source"]]["content"])
    assert settings == {
        "history.transferProcessorMaxPollRPS": [{"value": 5000}],
        "matching.enableFairness": [{"value": True}],
    }


def test_the_image_is_a_worker_run_by_an_ordinary_user_from_the_lock() -> None:
    lines = DOCKERFILE.splitlines()
    assert 'ENTRYPOINT ["coterie"]' in lines
    assert 'CMD ["worker"]' in lines
    assert [line for line in lines if line.startswith("USER")][-1] == "USER 10001"
    assert "useradd --create-home --uid 10001 coterie" in DOCKERFILE
    assert DOCKERFILE.count("uv sync --frozen --no-dev") == 2
    assert not SECRET.search(DOCKERFILE)


def test_worker_and_database_have_a_user_without_root_and_a_read_only_root() -> None:
    for name in ("worker", "postgresql"):
        service = SERVICES[name]
        assert service["user"] not in ("root", "0", "0:0"), name
        assert service["read_only"] is True, name
        assert service["tmpfs"], name


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_no_process_of_a_container_can_get_more_rights(name: str) -> None:
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not {"privileged", "cap_add", "pid", "network_mode", "devices"} & service.keys()


def test_no_inline_text_is_put_into_a_container_with_a_read_only_root() -> None:
    """Compose copies it there, which the engine refuses; a file is mounted."""
    for name, service in SERVICES.items():
        for config in service.get("configs", []):
            inline = "content" in COMPOSE["configs"][config["source"]]
            assert not (inline and service.get("read_only")), name


def test_the_folders_that_the_image_writes_belong_to_its_user_and_are_volumes() -> None:
    (volumes,) = re.findall(r"^VOLUME (.+)$", DOCKERFILE, re.MULTILINE)
    (owned,) = re.findall(r"--owner coterie (.+)$", DOCKERFILE, re.MULTILINE)
    mounted = [volume.rpartition(":")[2] for volume in SERVICES["worker"]["volumes"]]
    assert json.loads(volumes) == owned.split() == mounted


def test_image_and_makefile_use_the_same_uv() -> None:
    (makefile,) = re.findall(r"UV_VERSION := (\S+)", (ROOT / "Makefile").read_text())
    assert re.findall(r"uv==(\S+)", DOCKERFILE) == [makefile]


def test_the_image_is_built_from_everything_that_the_package_needs() -> None:
    """`.dockerignore` lets in a list; a room that is missing there is missing in the image."""
    allowed = {
        line[1:]
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    }
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packed = set(pyproject["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"])
    project = pyproject["project"]
    assert allowed == {
        *packed,
        *project["license-files"],
        project["readme"],
        "pyproject.toml",
        "uv.lock",
    }
