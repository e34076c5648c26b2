"""Every code block of the documents that the project grew from runs and prints what they say."""

import re
import sys

import pytest

import daskvars.v1 as tf
from tests import seeds
from tests.seeds.page import PLACE, Section, Step, read

PAGES = dict(re.findall(r"^``(\w+\.md)`` +(\d+) ", seeds.__doc__, re.MULTILINE))
SECTIONS = [section for page in PAGES for section in read(page)]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda s: f"{s.page[:-3]}: {s.title}")
def test_the_blocks_do_what_they_say(section, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", tf)
    monkeypatch.chdir(tmp_path)
    section.run(tf, tmp_path)


def test_no_page_and_no_block_is_missing():
    assert sorted(PAGES) == sorted(path.name for path in PLACE.glob("*.md"))
    blocks = {page: sum(len(s.blocks) for s in SECTIONS if s.page == page) for page in PAGES}
    assert blocks == {page: int(count) for page, count in PAGES.items()}
    assert f"{sum(blocks.values())} code blocks" in seeds.__doc__


def test_nothing_is_left_out_of_a_block():
    for section in SECTIONS:
        for block in section.blocks:
            bare = [line for line in block.code.splitlines() if line.strip() in ("...", "# ...")]
            assert not bare, f"{block.page}, line {block.line}: {bare}"


@pytest.mark.parametrize(
    ("step", "complaint"),
    [
        (Step("page.md", 3, None, "print(1)", printed="2\n"), "page.md, line 3"),
        (Step("page.md", 3, None, "print(1)"), "found:\n1"),
        (Step("page.md", 3, None, "1 + 1", error="ValueError: ...\n"), "wanted:\nValueError"),
        (Step("page.md", 3, None, "int('x')", error="TypeError: ...\n"), "found:\nValueError"),
        (Step("page.md", 3, None, "int('x')", error="ValueError: y...\n"), "invalid literal"),
    ],
)
def test_a_page_that_says_something_else_fails(step, complaint, tmp_path):
    with pytest.raises(AssertionError, match=complaint):
        Section("page.md", "a title", [[step]]).run(tf, tmp_path)
