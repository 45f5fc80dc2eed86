"""No connection is opened but to the Temporal server and to the model that the file names."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.project import project
from tests.support.servers.model_server import ModelServer

LISTENING = Path(__file__).parents[1] / "support" / "listening"
LOOPBACK = ("0100007F:", "00000000000000000000000001000000:", "0000000000000000FFFF00000100007F:")
"""As the system's tables write 127.0.0.1 and ::1."""
TEAM = """
llm_config:
  default_provider: openai
  providers:
    openai: {{ kind: openai, api_base: "{openai}", default_model: stand-in }}
    anthropic: {{ kind: anthropic, api_base: "{anthropic}", default_model: stand-in }}
  personas:
    one: {{ provider: openai, prompts: {{ user: Say something. }} }}
    two: {{ provider: anthropic, prompts: {{ user: Say something. }} }}
orchestration:
  entry_team: speak
  teams:
    speak:
      tasks:
        - {{ name: first, agent_type: generic_single_shot, persona_key: one }}
        - {{ name: second, agent_type: generic_single_shot, persona_key: two }}
"""


def spoken_to(log: Path) -> tuple[set[str], set[int]]:
    """Whoever is not on this machine, and the ports that are."""
    others, ports = set[str](), set[int]()
    for line in log.read_text().splitlines():
        kind, _, whom = line.partition("\t")
        local = re.fullmatch(r"\('(?:127\.0\.0\.1|::1)', (\d+).*\)", whom)
        if kind == "table" and whom.startswith(LOOPBACK):
            ports.add(int(whom.rpartition(":")[2]))
        elif local:
            ports.add(int(local[1]))
        elif whom not in ("127.0.0.1", "b'127.0.0.1'", "localhost", "::1"):
            others.add(line)
    return others, ports


@pytest.fixture
def heard(tmp_path: Path) -> Path:
    return tmp_path / "heard.log"


def test_a_run_speaks_to_its_server_and_its_models_and_to_nobody_else(
    tmp_path: Path, model_server: ModelServer, heard: Path
) -> None:
    keys = {"OPENAI_API_KEY": "sk-stand-in", "ANTHROPIC_API_KEY": "sk-stand-in"}
    listening = {"PYTHONPATH": str(LISTENING), "LISTENING_LOG": str(heard)}
    model_server.answer("Something.")
    with project(tmp_path / "shop", {**keys, **listening}) as shop:
        team = TEAM.format(openai=model_server.openai_url, anthropic=model_server.anthropic_url)
        (shop.folder / "speak.yml").write_text(team)
        done = shop.coterie("run", "speak.yml", "--id", "speaks")
        assert done.returncode == 0, done.stderr
        for command in (("status", "speaks"), ("why", "speaks")):
            assert shop.coterie(*command).returncode == 0
        others, ports = spoken_to(heard)
        assert others == set()
        server = int(str(shop.server["port"]))
        model = int(model_server.openai_url.split(":")[2].split("/")[0])
        assert {server, int(str(shop.server["ui_port"])), model} == ports
        assert f"table\t0100007F:{server}" in heard.read_text()  # compiled libraries are heard
        environment = Path(f"/proc/{shop.server['pid']}/environ").read_bytes().split(b"\0")
        assert b"TEMPORAL_VERSION_CHECK_DISABLED=1" in environment  # else it looks for news


def test_connection_to_another_address_is_detected(tmp_path: Path, heard: Path) -> None:
    code = "import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.connect(('192.0.2.1', 9))"
    listening = {"PYTHONPATH": str(LISTENING), "LISTENING_LOG": str(heard)}
    subprocess.run([sys.executable, "-c", code], env=listening, cwd=tmp_path, check=False)
    assert spoken_to(heard)[0] >= {"socket.connect\t('192.0.2.1', 9)"}
