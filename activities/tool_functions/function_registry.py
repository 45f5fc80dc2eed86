"""The registry of all tool functions by name."""

from collections.abc import Mapping
from typing import Any

from coterie.activities.tool_functions.asset_manager import APPLY_CHANGES, PROCESS_ACTION
from coterie.activities.tool_functions.command_runner import RUN, RUN_ONCE
from coterie.activities.tool_functions.compute.calculator import EVALUATE
from coterie.activities.tool_functions.compute.python_function import RUN_PYTHON
from coterie.activities.tool_functions.discovery import COLLECT
from coterie.activities.tool_functions.files.file_editing import EDIT
from coterie.activities.tool_functions.files.file_listing import LIST
from coterie.activities.tool_functions.files.file_reading import READ
from coterie.activities.tool_functions.files.file_search import SEARCH
from coterie.activities.tool_functions.files.file_view import VIEW
from coterie.activities.tool_functions.files.file_writing import WRITE
from coterie.activities.tool_functions.functions.python_functions import PythonFunction
from coterie.activities.tool_functions.knowledge.long_term_memory import SEARCH_MEMORY, STORE_MEMORY
from coterie.activities.tool_functions.knowledge.result_cache import GET_CACHED, PUT_CACHED
from coterie.activities.tool_functions.knowledge.retriever import RETRIEVE
from coterie.activities.tool_functions.knowledge.skill_use import USE
from coterie.activities.tool_functions.people.ask_person import ASK
from coterie.activities.tool_functions.repository.git_commit import COMMIT
from coterie.activities.tool_functions.repository.git_diff import DIFF
from coterie.activities.tool_functions.repository.git_log import LOG
from coterie.activities.tool_functions.repository.git_status import STATUS
from coterie.activities.tool_functions.semantic_iterator import INITIALIZE
from coterie.activities.tool_functions.web.arxiv_search import SEARCH_PAPERS
from coterie.activities.tool_functions.web.web_fetch import FETCH
from coterie.activities.tool_functions.web.web_search import SEARCH_WEB
from coterie.activities.workspace.function_base import ToolFunction
from coterie.activities.workspace.function_failures import FunctionRefusal
from coterie.dsl.errors import listed, nearest
from coterie.dsl.model.agent_skills import SKILL_FUNCTION
from coterie.dsl.model.capabilities import FunctionContract

AnyFunction = ToolFunction[Any, Any] | PythonFunction
"""A tool function with any input and output types, or a user's function: callers pass JSON."""

TOOL_FUNCTIONS: dict[str, AnyFunction] = {
    SKILL_FUNCTION: USE,
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


def contracts(functions: Mapping[str, AnyFunction] = TOOL_FUNCTIONS) -> dict[str, FunctionContract]:
    """Return the contracts of tool functions, for the compiler."""
    return {name: function.contract() for name, function in functions.items()}


def find_function(name: str, functions: Mapping[str, AnyFunction] = TOOL_FUNCTIONS) -> AnyFunction:
    """Return the tool function of that name.

    Raises:
        FunctionRefusal: It does not exist; the message lists the known ones.
    """
    function = functions.get(name)
    if function is None:
        hint = nearest(name, functions)
        raise FunctionRefusal(
            f"unknown tool function {name!r}; known tool functions: {listed(functions)}"
            + (f"; {hint}" if hint else "")
        )
    return function
