"""Documents: their links lead somewhere, their examples are valid, their words are explained."""

from __future__ import annotations

import ast
import json
import re
import tomllib

import pytest
from house_pages import DOCS, ROOT, blocks, documents, named, package_sources, parsed, suite_sources

import ggactors

PAGES = {named(page): page for page in documents()}

TERMS = """
run crew profile agent operator slot seat board epic issue blocker dispatch attempt round landing worktree
hand-back ending gate ceiling stall letter fact answer wake segment actor mailbox ask tell event fold journal
roster scope turn retry refusal defect workspace
""".split()  # noqa: SIM905 - one word after another reads best


def anchors(text: str) -> set[str]:
    """List the anchors of a page: its headings as their slugs, the same on a forge and in the built pages."""
    headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_every_link_between_documents_leads_to_a_page_and_a_place_on_it(page):
    broken = []
    text = PAGES[page].read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        other = (PAGES[page].parent / path) if path else PAGES[page]
        if not other.is_file() or (anchor and anchor not in anchors(other.read_text(encoding="utf-8"))):
            broken.append(target)
    assert broken == []


def test_the_glossary_explains_the_words_of_the_house():
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"^(\S.*)\n  \S", text, flags=re.MULTILINE))
    assert sorted({*TERMS, "main workspace", "private checkout", "dead end"} - explained) == []


def test_every_clause_that_is_named_is_on_the_page_of_clauses():
    told = set(re.findall(r"^\| ([A-Z]\d+) \|", (DOCS / "clauses.md").read_text(encoding="utf-8"), flags=re.MULTILINE))
    clause = re.compile(r"(?<![A-Za-z0-9])[A-GM-TWX]\d{1,2}(?![A-Za-z0-9])")
    of_tests = {
        (name.rpartition("_")[2], named(path))
        for path in suite_sources()
        for name in re.findall(r"def (test_\w+_[A-GM-TWX]\d{1,2})\(", path.read_text(encoding="utf-8"))
    }
    of_sources = {
        (one, named(path))
        for path in package_sources()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for bracket in re.findall(r"\(([^()]*)\)", ast.get_docstring(node) or "")
        for one in clause.findall(bracket)
    }
    assert {(name, where) for name, where in of_tests | of_sources if name not in told} == set()
    assert len(of_tests) > 100


@pytest.mark.parametrize("page", PAGES)
def test_every_example_of_a_document_can_be_read(page):
    for block in blocks(PAGES[page]):
        match block.language:
            case "json":
                json.loads(block.text)
            case "toml":
                tomllib.loads(block.text)
            case "python":
                compile(block.text, f"{page}:{block.line}", "exec")
            case "sh" | "text" | "mermaid":
                pass
            case other:
                pytest.fail(f"{page}:{block.line}: nobody checks examples in {other}")


def test_every_page_is_reached_from_the_index():
    listed = re.findall(r"^[a-z/-]+$", (DOCS / "index.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    pages = {page.relative_to(DOCS).with_suffix("").as_posix() for page in documents() if page.is_relative_to(DOCS)}
    assert sorted(pages - {"index"}) == sorted(listed)


def test_every_public_name_is_on_the_embedding_page():
    text = (DOCS / "reference" / "embedding.md").read_text(encoding="utf-8")
    names = set(ggactors.__all__) - {"__version__"}
    assert sorted(name for name in names if not re.search(rf"\b{name}\b", text)) == []
    assert [name for name in names if not hasattr(ggactors, name)] == []


def test_every_changelog_fragment_has_a_known_kind():
    names = [path.name for path in (DOCS / "changes").iterdir() if path.name != ".gitignore"]
    assert [name for name in names if not re.fullmatch(r"[a-z0-9+-]+\.(added|changed|fixed|removed)\.md", name)] == []


def test_the_licence_and_the_readme_are_what_the_package_says_they_are():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (ROOT / project["readme"]).is_file()
    assert [name for name in project["license-files"] if not (ROOT / name).is_file()] == []


def test_every_benchmark_on_its_page_is_there():
    page = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    named_there = set(re.findall(r"^python (benchmarks/\w+\.py)", page, flags=re.MULTILINE))
    assert named_there
    assert [name for name in sorted(named_there) if not (ROOT / name).is_file()] == []
