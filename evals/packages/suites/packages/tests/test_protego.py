"""What protego promises of rules in robots.txt."""

import pytest
from protego import Protego


def allowed(rule, path):
    robots = Protego.parse(f"User-agent: *\nDisallow: {rule}\n")
    return robots.can_fetch(f"https://example.org{path}", "bot")


def test_a_rule_covers_what_begins_with_it():
    assert not allowed("/private", "/private/notes")
    assert allowed("/private", "/public")


def test_an_asterisk_stands_for_any_text():
    assert not allowed("/*/draft", "/2024/draft")
    assert allowed("/*/draft", "/2024/final")


def test_a_dollar_sign_ends_the_address():
    assert not allowed("/*.php$", "/index.php")
    assert allowed("/*.php$", "/index.php?page=2")


@pytest.mark.parametrize("path", ["/aba", "/ab-ba"])
def test_what_an_asterisk_leaves_must_be_all_there(path):
    assert not allowed("/ab*a$", path)


def test_the_two_sides_of_an_asterisk_do_not_share_a_letter():
    assert allowed("/aba*aba$", "/aba")


def test_the_longest_rule_wins():
    robots = Protego.parse("User-agent: *\nDisallow: /a\nAllow: /a/b\n")
    assert robots.can_fetch("https://example.org/a/b/c", "bot")
    assert not robots.can_fetch("https://example.org/a/c", "bot")


def test_a_delay_is_read():
    assert Protego.parse("User-agent: *\nCrawl-delay: 2.5\n").crawl_delay("bot") == 2.5
