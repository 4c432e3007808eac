"""The results of the last `make verify`, as pages show them; without a report every result is "not run".

A report that is of other sources than these, names a rule that is not registered, or cannot be read stops the build:
a page never shows the results of something else.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from sphinx.application import Sphinx

from model_tests.verify import results as sources
from spec.rules import RULES

ROOT: Final = Path(__file__).parents[2]
REPORT: Final = ROOT / "build" / "verify" / "report.json"

Evidence = Mapping[str, Mapping[str, Any]]
"""By kind of evidence what the report says of it."""

Entry = Mapping[str, Any]
"""A control or a mutant as in the report."""


class Unusable(SystemExit):
    """A report that no page may show: the build ends at once, with one line that says why, and code 1.

    An exception of Sphinx's own would have that line among fifty others.
    """


@dataclass(frozen=True)
class RunResults:
    """What one run found.

    Attributes:
        run: which run it was, in words; empty where there was none.
        evidence: by rule.
        controls: by rule what was changed, and what was found.
        mutants: by rule the planted defects, and what saw them.
    """

    run: str = ""
    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    controls: Mapping[str, list[Entry]] = field(default_factory=dict)
    mutants: Mapping[str, list[Entry]] = field(default_factory=dict)


@lru_cache(maxsize=1)
def results() -> RunResults:
    """The results of the last run; nothing if there was none."""
    return read(REPORT, sources.digest()) if REPORT.is_file() else RunResults()


def read(path: Path, digest: str) -> RunResults:
    """The results in a report.

    Args:
        path: of the report.
        digest: of the sources that it must be of.

    Raises:
        Unusable: the report cannot be read, is of other sources, or names a rule that is not registered.
    """
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
        of, commit = report["sources"], report["commit"] or "without git"
        evidence = {rule["id"]: rule["evidence"] for rule in report["rules"]}
        controls, mutants = (_by_rule(report[kind]) for kind in ("controls", "mutants"))
    except (ValueError, KeyError, TypeError) as error:
        raise Unusable(f"{shown(path)} is no report of `make verify`: {error!r}; run it again, or remove it") from error
    refuse_stale(path, of, commit, digest, "make verify")
    for rule in {**evidence, **controls, **mutants}:
        if rule not in RULES:
            raise Unusable(f"{shown(path)} has results of {rule!r}, which is no rule")
    return RunResults(f"profile {report['profile']}, commit {commit}", evidence, controls, mutants)


def refuse_stale(path: Path, of: str, commit: str, digest: str, command: str) -> None:
    """Stop where a report of some command is of other sources than those here.

    Raises:
        Unusable: it is.
    """
    if of != digest:
        raise Unusable(
            f"{shown(path)} is stale: it is of commit {commit} (sources {of}), and the sources here are {digest}; "
            f"run `{command}` again, or remove it"
        )


def shown(path: Path) -> str:
    """A path relative to the repository."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name


def _by_rule(entries: list[Entry]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry["rule"], []).append(entry)
    return found


def check(app: Sphinx) -> None:
    """Stop before anything is read if the results are not of these sources."""
    results.cache_clear()
    results()


def setup(app: Sphinx) -> dict[str, bool]:
    """Check at the start."""
    app.connect("builder-inited", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
