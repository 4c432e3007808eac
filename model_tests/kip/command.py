"""The command `eos kip FILE`: a variant goes through facts, proof, searches, controls, and a comparison of states."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from markupsafe import Markup

from model_tests.common.html_page import html_page
from model_tests.common.reports import BadInput, writing
from model_tests.diagrams.sequence_svg import svg_of
from model_tests.kip.loading import loaded, located_errors
from model_tests.kip.proving import proved_facts, proved_variant
from model_tests.kip.report import KipReport, heading
from model_tests.kip.searching import DrawnRun, controls, searched
from model_tests.verify.prove import ANSWERS
from spec.systems.transactions.variant import Variant

FACTS, PROOF, SEARCHES, CONTROLS = "facts", "proof", "searches", "controls"
PARTS: Final = (FACTS, PROOF, SEARCHES, CONTROLS)
"""What a variant goes through; the comparison of states is part of the searches."""


def run(
    file: Path, *, instance: str = "", only: str = "", html: Path | None = None, kept: Path | None = ANSWERS
) -> KipReport:
    """Judge a variant.

    Args:
        file: where it is.
        instance: the only one of its instances that is searched; without it all.
        only: parts, separated by commas; without it all.
        html: where a page is written, too.
        kept: where answers of earlier proofs are; without it everything is solved.

    Raises:
        BadInput: the file has no variant, or there is no such instance or part.
    """
    variant = _only_instance(loaded(file), instance)
    parts = _parts(only)
    with located_errors(file):
        report = KipReport(
            variant,
            facts=proved_facts(variant) if FACTS in parts else None,
            proof=proved_variant(file, variant, kept) if PROOF in parts else None,
            instances=tuple(searched(variant, each) for each in variant.instances) if SEARCHES in parts else None,
            controls=tuple(controls(variant)) if CONTROLS in parts else None,
        )
    if html is not None:
        write_page(report, html)
    return report


def _only_instance(variant: Variant, name: str) -> Variant:
    if not name:
        return variant
    found = tuple(each for each in variant.instances if each.name == name)
    if not found:
        names = ", ".join(repr(each.name) for each in variant.instances)
        raise BadInput(f"{variant.name} has no instance {name!r}; there are {names}")
    return replace(variant, instances=found)


def _parts(only: str) -> tuple[str, ...]:
    requested = tuple(part.strip() for part in only.split(",")) if only else PARTS
    if strangers := [part for part in requested if part not in PARTS]:
        raise BadInput(f"--only takes {', '.join(PARTS)}; not {strangers[0]!r}")
    return requested


def write_page(report: KipReport, file: Path) -> None:
    """Write the page of a report.

    Raises:
        BadInput: the file cannot be written.
    """
    with writing(file):
        file.write_text(page(report), encoding="utf-8")


def page(report: KipReport) -> str:
    """The page as text."""
    return html_page("model_tests.kip", report=report, plain=report.to_json(), heading=heading, drawn=_drawn)


def _drawn(run: DrawnRun) -> Markup:
    return Markup(svg_of(run.picture))
