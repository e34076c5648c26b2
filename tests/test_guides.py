"""The README and the guides: what they say is run, and where their links lead is there."""

import re

import pytest

from tests import documents
from tests.documents import GUIDES, README, ROOT, Block

DOCUMENTS = [README, *GUIDES]
LINKED = [
    *DOCUMENTS,
    ROOT / "examples" / "README.md",
    ROOT / "benchmarks" / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / ".github" / "CONTRIBUTING.md",
]


def with_marks(path):
    """A document as a parameter: marked, if its program starts workers."""
    marks = [pytest.mark.slow]
    if documents.starts_workers(documents.blocks_of(path.read_text())):
        marks.append(pytest.mark.cluster)
    return pytest.param(path, marks=marks, id=path.stem)


@pytest.mark.parametrize("path", [with_marks(p) for p in DOCUMENTS if "```" in p.read_text()])
def test_a_document_does_what_it_says(path, tmp_path, monkeypatch):
    if path != README:  # whose workers import all for themselves, as Dask has it by default
        monkeypatch.setenv("DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD", "forkserver")
    blocks = documents.blocks_of(path.read_text())
    assert blocks
    documents.check(path.name, blocks, documents.run(path.name, blocks, tmp_path))


@pytest.mark.parametrize("path", LINKED, ids=lambda path: path.stem)
def test_links_lead_somewhere(path):
    links = documents.links_of(path.read_text())
    assert not [link for link in links if not (path.parent / link).exists()]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_programs_that_are_named_are_there(path):
    named = re.findall(r"`(?:\./)?((?:examples|benchmarks|\.github)/[\w./]+)", path.read_text())
    assert not [name for name in named if not (ROOT / name).exists()]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_anchors_are_headings(path):
    for link, anchor in re.findall(r"\]\(([^)#\s]*)#([^)]+)\)", path.read_text()):
        if "://" not in link:
            text = ((path.parent / link) if link else path).read_text()
            headings = re.findall(r"^#+ (.*)$", text, re.M)
            assert anchor in {re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings}


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_the_readme_leads_to_each_guide(path):
    links = documents.links_of(README.read_text())
    assert path.relative_to(ROOT).as_posix() in links


def test_blocks_that_are_not_run_are_refused():
    with pytest.raises(AssertionError, match="'yaml' is not run"):
        documents.blocks_of("```yaml\na: 1\n```")
    with pytest.raises(AssertionError, match="the text of no block"):
        documents.blocks_of("```text\n1\n```")


@pytest.mark.slow
def test_what_differs_is_found(tmp_path):
    text = "\n```python\nx = 1\nprint(x + 1)\n```\n\n```text\n2\n```\n"
    text += "```sh\necho 3\n```\n```text\n3\n```\n"
    blocks = documents.blocks_of(text)
    assert blocks == [
        Block(2, "python", "x = 1\nprint(x + 1)\n", "2\n"),
        Block(10, "sh", "echo 3\n", "3\n"),
    ]
    printed = documents.run("page.md", blocks, tmp_path)
    documents.check("page.md", blocks, printed)
    with pytest.raises(AssertionError, match=r"page.md, line 2"):
        documents.check("page.md", blocks, ["3\n", "3\n"])
    with pytest.raises(AssertionError, match=r"page.md, line 10"):
        documents.check("page.md", [blocks[0], blocks[1]._replace(expected="")], printed)


@pytest.mark.slow
def test_an_error_names_the_line_of_the_document(tmp_path):
    blocks = documents.blocks_of("# Page\n\n```python\nx = 1\n\nraise ValueError(x)\n```\n")
    with pytest.raises(AssertionError, match=r'page.md", line 6'):
        documents.run("page.md", blocks, tmp_path)
