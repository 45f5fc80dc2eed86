"""The registry of all skills by name."""

from collections.abc import Mapping
from typing import Any

from coterie.activities.skills.asset_manager import APPLY_CHANGES, PROCESS_ACTION
from coterie.activities.skills.command_runner import RUN, RUN_ONCE
from coterie.activities.skills.compute.calculator import EVALUATE
from coterie.activities.skills.compute.python_code import RUN_PYTHON
from coterie.activities.skills.discovery import COLLECT
from coterie.activities.skills.files.file_editing import EDIT
from coterie.activities.skills.files.file_listing import LIST
from coterie.activities.skills.files.file_reading import READ
from coterie.activities.skills.files.file_search import SEARCH
from coterie.activities.skills.files.file_view import VIEW
from coterie.activities.skills.files.file_writing import WRITE
from coterie.activities.skills.functions.function_skills import FunctionSkill
from coterie.activities.skills.knowledge.long_term_memory import SEARCH_MEMORY, STORE_MEMORY
from coterie.activities.skills.knowledge.result_cache import GET_CACHED, PUT_CACHED
from coterie.activities.skills.knowledge.retriever import RETRIEVE
from coterie.activities.skills.people.ask_person import ASK
from coterie.activities.skills.repository.git_commit import COMMIT
from coterie.activities.skills.repository.git_diff import DIFF
from coterie.activities.skills.repository.git_log import LOG
from coterie.activities.skills.repository.git_status import STATUS
from coterie.activities.skills.semantic_iterator import INITIALIZE
from coterie.activities.skills.web.arxiv_search import SEARCH_PAPERS
from coterie.activities.skills.web.web_fetch import FETCH
from coterie.activities.skills.web.web_search import SEARCH_WEB
from coterie.activities.workspace.skill_base import Skill
from coterie.activities.workspace.skill_failures import SkillRefusal
from coterie.dsl.errors import listed, nearest
from coterie.dsl.model.capabilities import SkillContract

AnySkill = Skill[Any, Any] | FunctionSkill
"""A skill with any input and output types, or a user's function: callers pass JSON."""

SKILLS: dict[str, AnySkill] = {
    "Arxiv.search": SEARCH_PAPERS,
    "AssetManager.apply_changes": APPLY_CHANGES,
    "AssetManager.process_action": PROCESS_ACTION,
    "Cache.get": GET_CACHED,
    "Cache.put": PUT_CACHED,
    "Calculator.evaluate": EVALUATE,
    "CommandRunner.run": RUN,
    "CommandRunner.run_once": RUN_ONCE,
    "Discovery.collect": COLLECT,
    "Files.edit": EDIT,
    "Files.list": LIST,
    "Files.read": READ,
    "Files.search": SEARCH,
    "Files.view": VIEW,
    "Files.write": WRITE,
    "Git.commit": COMMIT,
    "Git.diff": DIFF,
    "Git.log": LOG,
    "Git.status": STATUS,
    "Memory.search": SEARCH_MEMORY,
    "Memory.store": STORE_MEMORY,
    "Person.ask": ASK,
    "Python.run": RUN_PYTHON,
    "Retriever.search": RETRIEVE,
    "SemanticIterator.initialize": INITIALIZE,
    "Web.fetch": FETCH,
    "Web.search": SEARCH_WEB,
}


def contracts(skills: Mapping[str, AnySkill] = SKILLS) -> dict[str, SkillContract]:
    """Return the contracts of skills, for the compiler."""
    return {name: skill.contract() for name, skill in skills.items()}


def find_skill(name: str, skills: Mapping[str, AnySkill] = SKILLS) -> AnySkill:
    """Return the skill of that name.

    Raises:
        SkillRefusal: It does not exist; the message lists the known ones.
    """
    skill = skills.get(name)
    if skill is None:
        hint = nearest(name, skills)
        raise SkillRefusal(
            f"unknown skill {name!r}; known skills: {listed(skills)}"
            + (f"; {hint}" if hint else "")
        )
    return skill
