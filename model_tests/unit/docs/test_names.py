"""Rules on the pages: each stated once, and what is wrong stops the build by its name."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pytest
from sphinx.testing.util import SphinxTestApp
from sphinx.util.inventory import InventoryFile

from model_tests.unit.docs.extensions import DOCS, extension
from spec.rules import RULES
from spec.systems.idempotence.system import idempotence

EXTENSIONS: Final = ("myst_parser", "references", "run_results", "rule_pages", "bench_page", "drawings", "bug_pages")
KNOWN: Final = "seq.first"

tex2mathml = import_module("docutils.utils.math.latex2mathml").tex2mathml
references = extension("references")
run_results = extension("run_results")
claims = extension("claims")
latex = extension("latex")
rule_code = extension("rule_code")
rule_formulas = extension("rule_formulas")


def stating(*rules: str) -> str:
    return "# Rules\n\n" + "\n".join(f"```{{eos:rule}} {rule}\n```\n" for rule in rules)


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Builds pages of one's own with the extensions of the site, and returns the warnings."""
    for kind in references.KINDS:
        monkeypatch.setitem(references.KINDS, kind, {KNOWN: RULES[KNOWN]} if kind == "rule" else {})

    def built(monkeypatched: Path | None = None, **pages: str) -> tuple[str, Path]:
        source = tmp_path / "source"
        source.mkdir()
        (source / "conf.py").write_text(f"extensions = {list(EXTENSIONS)}\nprimary_domain = 'eos'\n")
        for name, text in pages.items():
            (source / f"{name}.md").write_text(text)
        app = SphinxTestApp("html", srcdir=source, confoverrides={"html_theme": "basic"})
        try:
            app.build()
        finally:
            app.cleanup()
        return app.warning.getvalue(), Path(app.outdir)

    return built


@pytest.fixture(autouse=True)
def no_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The results that are read are those of the test."""
    report = tmp_path / "report.json"
    monkeypatch.setattr(run_results, "REPORT", report)
    monkeypatch.setattr(extension("bench_page"), "REPORT", tmp_path / "bench.json")
    run_results.results.cache_clear()
    return report


def a_bench_report(**changed: object) -> dict[str, object]:
    return {
        "commit": "0123456789ab",
        "sources": run_results.sources.digest(),
        "profile": "quick",
        "figures": [],
        **changed,
    }


def a_report(**changed: object) -> dict[str, object]:
    judged = {"verdict": "holds", "count": 12345, "seconds": 2.0, "examples": 12345}
    of = {"id": KNOWN, "evidence": {"stateful": judged}}
    control = {"name": "a gap is let through", "rule": KNOWN, "expected": "violated", "got": "violated"}
    mutant = {"name": "any sequence", "rule": KNOWN, "killed_by": [KNOWN], "killed": True, "seconds": 0.1}
    report = {"profile": "quick", "commit": "0123456789ab", "sources": run_results.sources.digest(), "rules": [of]}
    return report | {"controls": [control], "mutants": [mutant]} | changed


def test_a_rule_is_stated_with_all_that_is_known_of_it(build: Any, no_results: Path) -> None:
    """Statement, formulas, code, and the results of the run with controls and mutants; the inventory has it."""
    no_results.write_text(json.dumps(a_report()))

    reported, site = build(index=stating(KNOWN) + f"\nSee {{rule}}`{KNOWN}`.\n")

    page = (site / "index.html").read_text()
    assert reported == ""
    known = (
        "examples 12,345",
        "a gap is let through",
        "violated, as it must be",
        "any sequence",
        "sequence_forgotten",
        "as LaTeX",
        r"\land",
    )
    assert [] == [word for word in (*known, "check_first_of_epoch", 'href="#rule-seq-first"') if word not in page]
    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="")
    assert KNOWN in inventory.data["eos:rule"]


def test_without_a_run_nothing_is_claimed(build: Any) -> None:
    """Every cell shows that it was not run."""
    _, site = build(index=stating(KNOWN))

    page = (site / "index.html").read_text()
    assert "not run" in page
    assert "holds" not in page


@pytest.mark.parametrize(
    ("page", "reported"),
    [
        ("# Nothing\n", f"rule {KNOWN} is stated 0 times in the docs, not once"),
        (stating(KNOWN, KNOWN), f"rule {KNOWN} is stated 2 times in the docs, not once"),
        (stating(KNOWN, "seq.never"), "no rule is called 'seq.never'"),
        (stating(KNOWN) + "\nSee {rule}`seq.never`.\n", "no rule is called 'seq.never'"),
    ],
    ids=["no page", "two pages", "unknown rule stated", "unknown rule named"],
)
def test_a_rule_is_stated_exactly_once(build: Any, page: str, reported: str) -> None:
    """A warning, which is an error where the site is built, has the rule's name."""
    warned, _ = build(index=page)

    assert reported in warned


@pytest.mark.parametrize(
    ("changed", "reported"),
    [
        ({"sources": "feedfeed"}, r"is stale: it is of commit 0123456789ab \(sources feedfeed\), and the sources here"),
        ({"rules": [{"id": "seq.never", "evidence": {}}]}, "has results of 'seq.never', which is no rule"),
        ({"controls": [{"rule": "seq.never"}]}, "has results of 'seq.never', which is no rule"),
        ({"mutants": None}, "is no report of `make verify`"),
    ],
    ids=["other sources", "unknown rule", "unknown rule of a control", "cut off"],
)
def test_results_of_something_else_stop_the_build(
    build: Any, no_results: Path, changed: dict[str, object], reported: str
) -> None:
    """In one line with the remedy."""
    no_results.write_text(json.dumps(a_report(**changed)))

    with pytest.raises(run_results.Unusable, match=reported):
        build(index=stating(KNOWN))


def test_a_report_that_is_cut_off_stops_the_build(build: Any, no_results: Path) -> None:
    """What is no JSON is no result."""
    no_results.write_text(json.dumps(a_report())[:100])

    with pytest.raises(run_results.Unusable, match="run it again, or remove it"):
        build(index=stating(KNOWN))


def test_benchmarks_are_drawn_from_their_report(build: Any, tmp_path: Path) -> None:
    """A figure with a target is a bar, one without is in the table alone; a missed target is reported in words."""
    figures = [
        {"what": "reads", "figure": 50.0, "unit": "MB/s", "target": "at least 100", "met": False},
        {"what": "scan", "figure": 2.0, "unit": "us", "target": "", "met": True},
        {"what": "judges", "figure": 1234567.8, "unit": "steps/s", "target": "at least 1,000,000", "met": True},
    ]
    (tmp_path / "bench.json").write_text(json.dumps(a_bench_report(figures=figures)))

    _, site = build(index=stating(KNOWN) + "\n```{benchmarks}\n```\n")

    page = (site / "index.html").read_text()
    assert 2 == page.count('class="head" x=')
    assert f'width="{extension("bench_page").WIDE / 2}"' in page
    assert "reads: 50.00 MB/s, at least 100: missed" in page
    assert "judges: 1,234,568 steps/s, at least 1,000,000: met" in page
    assert "<p>µs</p>" in page
    assert "<p>no</p>" in page
    assert "profile quick, commit 0123456789ab" in page


@pytest.mark.parametrize("text", ["{", '[{"what": "reads"}]'], ids=["cut off", "another report"])
def test_benchmarks_of_something_else_stop_the_build(build: Any, tmp_path: Path, text: str) -> None:
    """They are named."""
    (tmp_path / "bench.json").write_text(text)

    with pytest.raises(run_results.Unusable, match="is no report of `make bench`"):
        build(index=stating(KNOWN) + "\n```{benchmarks}\n```\n")


def test_benchmarks_of_other_sources_stop_the_build(build: Any, tmp_path: Path) -> None:
    """No figure is shown for code that was not measured."""
    (tmp_path / "bench.json").write_text(json.dumps(a_bench_report(sources="feedfeed")))

    with pytest.raises(
        run_results.Unusable, match=r"bench.json is stale: it is of commit 0123456789ab .* `make bench`"
    ):
        build(index=stating(KNOWN) + "\n```{benchmarks}\n```\n")


def test_a_missing_diagram_is_named(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug of which no search found anything to draw is reported, and so is the page that asks for it alone."""
    bugs = extension("bug_pages")
    monkeypatch.setattr(bugs, "facts", dict)

    warned, _ = build(index=stating(KNOWN) + "\n```{bugs}\n```\n\n```{bug-reported} KAFKA-17754\n```\n")

    assert "nothing was found to draw of KAFKA-17754, " in warned
    assert "no search shows a bug 'KAFKA-17754'" in warned


def test_every_rule_has_a_page_of_its_own_chapter() -> None:
    """The chapter of its family states it, in the registry's order."""
    for family in {rule.family for rule in RULES.values()}:
        text = (DOCS / "chapters" / f"{family}.md").read_text(encoding="utf-8")
        stated = [line.split()[1] for line in text.splitlines() if line.startswith("```{eos:rule}")]
        assert [rule.id for rule in RULES.values() if rule.family == family] == stated


def test_every_formula_is_latex() -> None:
    """Each formula of a check or a claim can be set as mathematics, and has the same signs."""
    formulas = [claim.formula for claim in claims.stated() if claim.formula]
    formulas += [
        row.formula for each in rule_formulas.checks_by_rule().values() for _, row in each if not reported(row)
    ]

    assert len(formulas) > 100
    assert all(tex2mathml(latex.latex(formula)) for formula in formulas)
    assert r"\mathit{a.b} \le 1 \lor \lnot ( \mathit{c\_d} = \bot )" == latex.latex("a.b ≤ 1 or not (c_d absent)")


def reported(row: Any) -> bool:
    return "“" in row.formula or row.formula == "the table says so"


def test_a_sign_that_no_formula_has_is_named() -> None:
    """A reading that grows a sign has to say how it is set."""
    with pytest.raises(ValueError, match="'%'"):
        latex.latex("a % b")


def test_a_claim_is_reported_with_its_arrow() -> None:
    """For all its arguments, what follows from what; a change of the claim changes the page."""
    (reported,) = (c.formula for c in claims.stated() if c.name == "same_outcome_everywhere")

    assert reported.startswith("∀ transaction, partition, batch, partition\N{PRIME}, batch\N{PRIME}: ")
    assert " ⇒ outcome(" in reported
    broken = idempotence().theorems[0]
    assert "written(stream, position)" in str(broken.holds(claims.symbolic(idempotence()), *named("spq")))


def named(letters: str) -> list[Any]:
    return [extension("formulas").TextFormula({"s": "stream", "p": "position"}.get(x, x)) for x in letters]


def test_every_rule_is_done_by_something() -> None:
    """Each has a function of the reference."""
    assert set(RULES) == {rule for rule, found in rule_code.excerpts().items() if found}


@pytest.mark.parametrize(
    ("done_by", "found", "reported"),
    [
        ({"seq.order": ("reference/gone.py: gone",)}, {}, "not there: seq.order: reference/gone.py: gone"),
        ({}, {"seq.order": []}, "no function of the reference serves seq.order"),
    ],
    ids=["a function that is gone", "a rule without one"],
)
def test_code_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, done_by: dict[str, tuple[str, ...]], found: dict[str, list[Any]], reported: str
) -> None:
    """So that a page never shows less than it announces."""
    monkeypatch.setattr(rule_code, "DONE_BY", done_by)

    with pytest.raises(ValueError, match=reported):
        rule_code.require_all(found)
