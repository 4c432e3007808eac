"""The glossary: each term defined once, and every term that a page names is one of them."""

import re
from typing import Final

from model_tests.unit.docs.extensions import DOCS

PART: Final = re.compile(r"^```\{glossary\}\n(.*?)^```", re.MULTILINE | re.DOTALL)
USED: Final = re.compile(r"\{term\}`(?:[^`<]*<)?([^`<>]+)>?`")


def parts() -> list[list[str]]:
    """The terms of each part, in the order of the page."""
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    return [[line for line in part.splitlines() if line and not line.startswith(" ")] for part in PART.findall(text)]


def test_terms_stand_in_alphabetical_order() -> None:
    """A reader finds a term of each part where the alphabet has it; synonyms stand under the first of them."""
    for part in parts():
        heads = [term for term in part if term not in ("control record", "Complete")]
        assert sorted(heads, key=str.casefold) == heads


def test_each_term_is_defined_once() -> None:
    """In one of the three parts."""
    terms = [term for part in parts() for term in part]

    assert 3 == len(parts())
    assert len(terms) == len(set(terms))


def test_every_term_that_a_page_names_is_defined() -> None:
    """Under the same name, capital letters aside."""
    defined = {term.casefold() for part in parts() for term in part}
    used = {term for page in DOCS.rglob("*.md") for term in USED.findall(page.read_text(encoding="utf-8"))}

    assert used
    assert set() == {term for term in used if term.casefold() not in defined}
