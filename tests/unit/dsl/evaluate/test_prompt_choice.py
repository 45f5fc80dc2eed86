"""One rule says which prompt an agent asks; the compiler, the trail and the agent use it."""

import pytest

from coterie.dsl.evaluate.prompt_choice import (
    AmbiguousPrompt,
    ChosenPrompt,
    NoPrompt,
    PromptChoice,
    UnknownPrompt,
    asked_prompt,
    choose_prompt,
)


@pytest.mark.parametrize(
    ("prompts", "named", "chosen"),
    [
        (("system", "user"), None, ChosenPrompt("user")),
        (("system", "solution"), None, ChosenPrompt("solution")),
        (("a", "b", "user"), None, ChosenPrompt("user")),
        (("a", "b"), "b", ChosenPrompt("b")),
        (("system", "a"), "system", ChosenPrompt("system")),
        (("a", "b"), None, AmbiguousPrompt(("a", "b"))),
        (("system", "a"), "c", UnknownPrompt("c", ("a",))),
        (("system",), None, NoPrompt()),
        ((), None, NoPrompt()),
    ],
)
def test_the_prompt_to_ask_is_the_named_one_else_user_else_the_only_one(
    prompts: tuple[str, ...], named: str | None, chosen: PromptChoice
) -> None:
    assert choose_prompt(prompts, named) == chosen
    expected = chosen.name if isinstance(chosen, ChosenPrompt) else None
    assert asked_prompt(prompts, named) == expected
