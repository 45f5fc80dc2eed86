"""Problems of YAML text."""

from coterie.dsl.problem_details import ProblemText, Quote, rule


@rule("E004")
def no_document() -> ProblemText:
    return ProblemText("there is no document", fix="name a file that has one")


@rule("E004")
def not_a_mapping() -> ProblemText:
    return ProblemText(
        "the document is empty or not a mapping",
        fix="begin with `orchestration:` and `llm_config:`",
    )


@rule("E002")
def tab_as_indentation() -> ProblemText:
    return ProblemText(
        "YAML syntax: YAML is indented with spaces, and this is a tab",
        fix="write spaces instead of the tab",
    )


@rule("E002")
def odd_space(character: str) -> ProblemText:
    return _odd_space(character)


@rule("E005")
def odd_space_in_key(character: str) -> ProblemText:
    return _odd_space(character)


def _odd_space(character: str) -> ProblemText:
    return ProblemText(
        f"YAML syntax: the character U+{ord(character):04X} looks like a space and is none",
        fix="write a space, or put the key or text in quotes",
    )


@rule("E002")
def yaml_syntax(reason: str) -> ProblemText:
    return ProblemText(
        f"YAML syntax: {reason}",
        fix="check indentation, quotes and colons on this line and the one above",
    )


@rule("E002")
def character_not_allowed(character: str) -> ProblemText:
    return ProblemText(f"YAML syntax: the character U+{ord(character):04X} is not allowed")


@rule("E002")
def second_document() -> ProblemText:
    return ProblemText(
        "YAML syntax: a second document begins here", fix="write one document into one file"
    )


@rule("E002")
def unknown_anchor(name: str) -> ProblemText:
    return ProblemText(
        f"YAML syntax: no value before this has the anchor {name!r}",
        fix=f"write `&{name}` at the value",
    )


@rule("E002")
def repeated_anchor(name: str) -> ProblemText:
    return ProblemText(
        f"YAML syntax: another value already has the anchor {name!r}",
        fix="give each anchor its own name",
    )


@rule("E005")
def document_explodes() -> ProblemText:
    return ProblemText(
        "the document is too large, too deeply nested, or expands too far through aliases",
        fix="write less into one document, and each value where it is used",
    )


@rule("E005")
def key_is_no_text() -> ProblemText:
    return ProblemText("a key must be a string", fix='put a template in quotes: "{{ ... }}"')


@rule("E005")
def merge_key() -> ProblemText:
    return ProblemText(
        "the merge key `<<` is not part of YAML 1.2",
        fix="write the keys out, or use `config` on a task",
    )


@rule("E003")
def repeated_key(key: str, first_line: int) -> ProblemText:
    return ProblemText(
        f"duplicate key {key!r}; its first value is on line {first_line}",
        fix="keep one of the two",
    )


@rule("W529")
def leading_zeros(text: str) -> ProblemText:
    return ProblemText(
        f"{text} is the number {int(text[:300])}: its leading zeros are lost",
        fix="put it in quotes to write it as a string, or leave the zeros out",
        edit=Quote(),
    )


@rule("E005")
def nul_character() -> ProblemText:
    return ProblemText("the character U+0000 is not allowed", fix="write the text without it")


@rule("E005")
def tag_not_allowed(tag: str) -> ProblemText:
    return ProblemText(
        f"the tag {tag!r} is not allowed", fix="remove it: a value has the type it is written in"
    )


@rule("E005")
def unreadable_scalar(text: str, defect: str) -> ProblemText:
    fix = "put it in quotes to write it as a string"
    match defect:
        case "too_large":
            shown = f"{text[:20]}{'...' if len(text) > 20 else ''}"
            return ProblemText(f"{shown} is too large for a number", fix=fix)
        case "not_json":
            return ProblemText(f"{text} is not a JSON number", fix=fix)
        case "not_a_number":
            return ProblemText(f"{text!r} is not a number", fix=fix)
        case _:
            return ProblemText(f"{text!r} is neither true nor false", fix=fix)
