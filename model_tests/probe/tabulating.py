"""`python -m model_tests.probe.tabulating`: serves each release, and writes down as which one it is found."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from model_tests.probe.options import AUTO, ProbeOptions
from model_tests.probe.run import run
from model_tests.serve.cluster import Cluster
from spec.versions import RELEASES, Profile

FILE: Final = Path(__file__).with_name("fingerprints.json")
OPTIONS: Final = ProbeOptions(families=("A",), sessions=1, rate=0)
"""Of a run whose fingerprint alone is wanted."""


def row_of(release: Profile, options: ProbeOptions = OPTIONS) -> dict[str, Any]:
    """What a served release behaves like: its level, the release that fits best, those alike, and what is shown.

    Raises:
        ValueError: nothing could be judged.
        SpecificationViolated: the server's own judge found a violation.
    """
    with Cluster(release.name) as cluster:
        report = run(cluster.bootstrap_servers, AUTO, replace(options, yes=True), lambda _: None, lambda _: True)
    found = report.fingerprint
    if found is None:
        raise ValueError(f"{release.name}: {report.failures}")
    return {
        "release": release.name,
        "observed": report.level,
        "best": found.best.name,
        "alike": list(found.alike),
        "behaviours": {each.name: each.shown for each in found.behaviours},
    }


if __name__ == "__main__":
    rows: list[str] = []
    for release in reversed(RELEASES):
        rows.insert(0, json.dumps(row_of(release)))
        FILE.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")
