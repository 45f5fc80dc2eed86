"""A worker of the OpenAI Agents plugin, in its own environment.

    python -m bench.openai_agents.worker KIND ADDRESS TASK_QUEUE SCRIPT

It plays as many turns with calls as the script of the others has. `bench/worker_process.py` lists
the questions that it answers.
"""

import asyncio
import json
import sys
from pathlib import Path

from temporalio.client import Client
from temporalio.openai_agents import OpenAIAgentsPlugin
from temporalio.worker import Worker

from bench.openai_agents.library import ACTIVITIES, MODEL_PARAMETERS, AgentsLoop, ScriptedModels
from bench.worker_process import answer_questions

IDENTITY = BUILD_ID = "bench"


def _turns(script: Path) -> int:
    return len(json.loads(script.read_text())["answers"]) - 1


async def main(address: str, queue: str, turns: int) -> None:
    sys.dont_write_bytecode = False
    plugin = OpenAIAgentsPlugin(
        model_params=MODEL_PARAMETERS,
        model_provider=ScriptedModels(turns),
        add_temporal_spans=False,
    )
    client = await Client.connect(address, identity=IDENTITY, plugins=[plugin])
    async with Worker(
        client, task_queue=queue, workflows=[AgentsLoop], activities=ACTIVITIES, build_id=BUILD_ID
    ):
        await answer_questions()


if __name__ == "__main__":
    _, _, address, queue, script = sys.argv
    asyncio.run(main(address, queue, _turns(Path(script))))
