"""The report as one HTML page, without anything from outside."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Final

from model_tests.probe.report import Cause, ProbeReport

STYLE: Final = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; }
th, td { padding: .2rem .8rem; text-align: left; border-bottom: 1px solid #8c959f; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
pre { overflow-x: auto; }
svg { max-width: 100%; height: auto; }
""".strip()


def page_of(report: ProbeReport) -> str:
    """The page."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: ProbeReport) -> Iterator[str]:
    against = f"{report.broker} held against Kafka {report.profile}"
    yield "<!DOCTYPE html>"
    yield f'<html lang="en"><head><meta charset="utf-8"><title>{escape(against)}</title>'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<style>{STYLE}</style></head><body><main>"
    yield f"<h1>{escape(against)}</h1>"
    yield (
        f"<p>transaction.version {report.transaction_version}, observed: {escape(report.level)}, seed {report.seed}. "
        f"{report.steps:,} steps of {report.sessions:,} sessions judged, {report.disagreed:,} disagreed.</p>"
    )
    if report.fingerprint is not None:
        yield "<h2>Fingerprint</h2>"
        yield from (f"<p>{escape(line)}</p>" for line in report.fingerprint.lines())
    yield "<h2>Sessions</h2>"
    yield from _table(
        ("family", "sessions", "steps", "undecided", "disagreed"),
        ((n, t.sessions, t.steps, t.undecided, t.disagreed) for n, t in report.families.items()),
    )
    yield f"<h2>Disagreements: {len(report.causes)}</h2>"
    for cause in report.causes.values():
        yield from _cause(cause)
    yield from _counts("Undecided", "reason", report.undecided)
    yield from _counts("Branches of the specification that decided", "branch", report.branches)
    if report.failures or report.notes or report.left:
        yield "<h2>Notes</h2>"
        yield from (f"<p>{escape(line)}</p>" for line in (*report.failures, *report.notes))
        yield from (f"<p>not removed: {escape(what)}</p>" for what in report.left)
    yield "</main></body></html>"


def _cause(cause: Cause) -> Iterator[str]:
    yield f"<h3>{escape(str(cause.signature))}</h3>"
    yield f"<p>In {cause.sessions} sessions; shrunk to {len(cause.script)} steps in {cause.runs} runs.</p>"
    yield cause.svg
    yield f"<p>Decision: {escape(cause.guard)}</p>"
    yield from (f"<p>Rule: {escape(rule)} ({escape(source)})</p>" for rule, source in cause.rules)
    if cause.behaviours:
        yield f"<p>Explained by: {escape(' or '.join(cause.behaviours))}</p>"
    if cause.file:
        yield f"<pre>eos conform {escape(cause.file)}</pre>"


def _counts(title: str, heading: str, counts: Mapping[str, int]) -> Iterator[str]:
    if counts:
        yield f"<h2>{title}</h2>"
        yield from _table((heading, "times"), sorted(counts.items(), key=lambda each: -each[1]))


def _table(headings: tuple[str, ...], rows: Iterator[tuple[object, ...]] | list[tuple[str, int]]) -> Iterator[str]:
    yield "<table><thead><tr>" + "".join(f'<th scope="col">{name}</th>' for name in headings) + "</tr></thead><tbody>"
    for first, *numbers in rows:
        cells = "".join(f'<td class="number">{number:,}</td>' for number in numbers)
        yield f'<tr><th scope="row">{escape(str(first))}</th>{cells}</tr>'
    yield "</tbody></table>"
