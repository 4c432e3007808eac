"""What the pages take from the code: behaviours, reports, known bugs, proposed changes; and the commands on the pages.

The page of a proposed change has each kept verdict, with its parts and its drawing.
"""

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer

from model_tests.bugs.command import BugsReport
from model_tests.bugs.judged import judged
from model_tests.cli import app
from model_tests.unit.docs.consoles import blocks
from model_tests.unit.docs.extensions import DOCS, extension
from model_tests.unit.source_files import ROOT
from model_tests.verify.parts import PARTS
from spec.bugs.catalogue import BUGS
from spec.rules import REPL_HW_BOUNDS
from spec.versions import PROFILES, Profile

versions = extension("version_tables")
schemas = extension("report_schemas")
facts = extension("bug_facts")
drawings = extension("drawings")
tables = extension("tables")
rule_results = extension("rule_results")
schema_tables = extension("schema_tables")
nodes = import_module("docutils.nodes")
links = extension("internal_links")

PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
COMMAND = re.compile(r"^\$ (?:\.venv/bin/)?(?P<words>(?:eos|make)\b[^#\n]*)", re.MULTILINE)


def commands(page: Path) -> Iterator[list[str]]:
    """Every call of `eos` and `make` that a page shows, as words."""
    for block in blocks(page):
        yield from (shlex.split(words) for words in COMMAND.findall(block))


def eos_commands() -> list[list[str]]:
    return [words for page in PAGES for words in commands(page) if words[0] == "eos"]


def test_every_behaviour_has_its_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A field of a profile without a sentence is refused by name."""
    documented = Profile.__doc__ or ""
    silent = documented.replace("        cached_batches: ", "        ")

    assert set(versions.BEHAVIOURS) <= set(versions.sentences())
    versions.sentences.cache_clear()
    monkeypatch.setattr(Profile, "__doc__", silent)
    with pytest.raises(ValueError, match="cached_batches"):
        versions.sentences()


def test_what_differs_is_marked_against_the_release_before() -> None:
    """A variant is compared with what it varies, and is no release's predecessor."""
    assert PROFILES["3.9.0"] is versions.before(PROFILES["3.9.0-nover"])
    assert PROFILES["3.9.0"] is versions.before(PROFILES["4.0-SNAPSHOT"])
    assert PROFILES["4.4"] is versions.before(PROFILES["split-out-of-order"])
    assert versions.before(PROFILES["0.11"]) is None


def test_the_decisions_that_read_a_behaviour_are_found() -> None:
    """The page names them by module and function."""
    assert ("fence.is_marker_not_bumped",) == versions.readers()["marker_epoch_strict"]


@pytest.mark.parametrize("name", ["bugs", "conform", "probe", "record", "serve", "audit", "verify"])
def test_every_field_of_a_report_has_a_meaning(name: str) -> None:
    """And every meaning has a field."""
    assert set(schemas.MEANINGS[name]) == set(schemas.fields_of_reports()[name])


def test_a_field_without_a_meaning_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report that grows without its page growing stops the build, by the field's name."""
    fewer = {place: text for place, text in schemas.MEANINGS["bugs"].items() if place != "[].depth"}
    schemas.fields_of_reports.cache_clear()

    monkeypatch.setitem(schemas.MEANINGS, "bugs", fewer)
    with pytest.raises(ValueError, match=re.escape("[].depth")):
        schemas.fields_of_reports()


def test_a_real_report_is_of_its_schema() -> None:
    """Every entry of a report of bugs has the properties, of the types, that are in its schema."""
    report = json.loads(json.dumps(BugsReport((judged(BUGS["KAFKA-15784"]),)).to_json()))
    entry: dict[str, Any] = schemas.schema("bugs")["items"]

    assert report
    types = {"string": str, "integer": int, "number": float, "boolean": bool}
    for case in report:
        assert set(entry["properties"]) == set(case)
        assert all(isinstance(case[key], types[of["type"]]) for key, of in entry["properties"].items())


def test_what_is_found_of_a_bug_is_the_same_each_time() -> None:
    """Nothing of time or chance is kept."""
    assert facts.facts_of("KAFKA-17507") == facts.facts_of("KAFKA-17507")


def test_what_was_found_is_forgotten_when_a_source_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The facts are kept under the content of everything that they depend on, directly or not, and of nothing else."""
    for name, text in {"facts.py": "import spec.near\n", "spec/near.py": "from spec import far\n"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(facts, "ROOT", tmp_path)

    digests: list[str] = []
    for written in ("spec/far.py", "spec/stranger.py", "spec/far.py"):
        (tmp_path / written).write_text(f"bound = {len(digests)}\n")
        digests.append(facts.digest_of_sources(Path("facts.py")))

    assert digests[0] == digests[1] != digests[2]


def test_the_facts_depend_on_both_texts() -> None:
    """A change of a decision, of the reference or of a drawing makes them anew."""
    known = {str(path.relative_to(ROOT)) for path in facts.sources(ROOT / facts.MAKER)}

    names = ("spec/protocol/ending.py", "reference/broker/end_txn.py", "model_tests/diagrams/sequence_svg.py")
    assert set(names) <= known


def test_drawings_of_one_page_share_no_id() -> None:
    """A drawing on a page has ids of its own, and no style that would be the whole page's."""
    svg = facts.facts_of("KAFKA-17507")["svg"]

    drawn = drawings.inline(svg, "first")
    assert "<style>" not in drawn
    assert {"first-title", "first-description"} == set(re.findall(r'id="([^"]+)"', drawn))
    assert 'aria-labelledby="first-title first-description"' in drawn


def test_drawings_are_light_and_dark_as_the_page_is() -> None:
    """The site's style has both sets of colours, and styles nothing but drawings."""
    sheet = drawings.sheet()

    assert 'body[data-theme="dark"] .drawing svg {' in sheet
    assert [] == [line for line in sheet.splitlines() if ".drawing svg" not in line]


@pytest.mark.parametrize("words", eos_commands(), ids=" ".join)
def test_commands_on_the_pages_exist(words: list[str]) -> None:
    """Every `eos` on a page names a command, with options that it has."""
    command = typer.main.get_command(app)
    if words == ["eos", "--help"]:
        return

    _, found, rest = command.resolve_command(typer.Context(command), words[1:])  # type: ignore[attr-defined]
    assert found.make_context(words[1], rest)


def test_there_are_commands_on_the_front_page() -> None:
    """The test above has something to look at."""
    shown = {words[1] for words in commands(ROOT / "README.md") if words[0] == "eos"}

    assert {"rules", "bugs", "audit", "conform"} <= shown


def test_targets_on_the_pages_are_in_the_makefile() -> None:
    """Every `make` on a page names a target."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))

    shown = {word for page in PAGES for words in commands(page) if words[0] == "make" for word in words[1:2]}
    assert shown
    assert shown <= targets


def test_the_parts_of_a_run_are_on_their_page() -> None:
    """The page names every part of `eos verify`, in order."""
    rows = re.findall(r"^\| (\w+) \| ", (DOCS / "run.md").read_text(encoding="utf-8"), re.MULTILINE)

    names = [part.name for part in PARTS]
    assert names == [name for name in rows if name in names]


def test_what_an_absent_column_holds_is_code() -> None:
    """As text its straight quotes would be curled, and it could not be copied."""
    shown = schema_tables.columns(schema_tables.GROUPS["where"])

    cells = [row[2] for row in shown.findall(nodes.row)][1:]
    assert {"-1", '""'} == {cell.astext() for cell in cells}
    assert all(isinstance(cell[0][0], nodes.literal) for cell in cells)


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        ("holds", "holds"),
        ("unknown: the solver gave up", "unknown"),
        ("missing", "missing"),
        ("waived", "waived"),
        ("not run", "not"),
        ("unknown producers, before and since KIP-360", ""),
        ("holds in", ""),
    ],
)
def test_only_verdicts_are_coloured(cell: str, kind: str) -> None:
    """A sentence that begins like a verdict is none."""
    assert ([f"verdict-{kind}"] if kind else []) == tables.style_of(cell)


def test_each_kind_of_evidence_of_a_rule_has_its_colour() -> None:
    """What a run has not found is missing, which is red; a part that did not run, and what is waived, are grey."""
    found = {"bounded": {"verdict": "missing", "count": 0}, "trace": {"verdict": "holds", "count": 7, "seconds": 0.1}}

    shown = rule_results.evidence_table(replace(REPL_HW_BOUNDS, waived={"P": "a proof of its own size"}), found)

    rows = [[cell.astext() for cell in row[:3]] for row in shown.findall(nodes.row)][1:]
    assert [
        ["bounded", "missing", ""],
        ["stateful", "not run", ""],
        ["trace", "holds", "judged 7, 0.1 s"],
        ["proof", "waived", "a proof of its own size"],
    ] == rows
    coloured = [row[1]["classes"] for row in shown.findall(nodes.row)][1:]
    assert [["verdict-missing"], ["verdict-not"], ["verdict-holds"], ["verdict-waived"]] == coloured


def test_a_link_that_leads_nowhere_is_named(tmp_path: Path) -> None:
    """A missing file, a place that a page has not, and an id that a page has twice are reported; others pass."""
    (tmp_path / "a.html").write_text(
        '<p id="here"><a href="b.html#there">b</a><a href="https://kafka.apache.org">k</a>'
    )
    (tmp_path / "b.html").write_text('<p id="there"><p id="there"><a href="a.html#gone">a</a><a href="c.html">c</a>')

    assert [
        "b.html has the id there 2 times",
        "b.html links to a.html#gone, which is not there",
        "b.html links to c.html, which is not there",
    ] == links.broken(tmp_path)


# --- proposed changes -------------------------------------------------------------------------------------------------


pages = extension("kip_pages")


@pytest.mark.parametrize("name", pages.names())
def test_a_page_has_verdict_numbers_and_drawing(name: str) -> None:
    """What violates or differs is drawn; equal states need no drawing."""
    found = pages.kept(name)

    text = "\n".join(node.astext() for node in pages.shown(name, found))

    assert found["verdict"] in text
    assert all(f"{each['here']:,}" in text for each in found["instances"])
    runs = [each[kind] for each in found["instances"] for kind in ("violating", "mended") if each[kind]]
    assert all(run["trace"] for run in runs)
    assert not runs or runs[0]["drawing"].strip() in text


def test_what_is_not_proved_is_shown_with_its_state() -> None:
    """A row for each number that is not as at the start."""
    found = pages.kept("late_bump")
    cell = {"function": "memory.state", "at": [], "before": 1, "after": 2}
    found["proof"]["open"] = [{"said": "not proved: something", "state": [cell]}]

    text = "\n".join(node.astext() for node in pages.shown("late_bump", found))

    assert "not proved: something" in text
    assert "memory.state" in text
