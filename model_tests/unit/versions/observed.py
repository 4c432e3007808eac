"""What a tree says of its releases, as one JSON object: run in a tree that has one release more, and in this one."""

import json
import lzma
import sys
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from model_tests.bugs.on_reference import staged
from model_tests.conform import replay
from model_tests.conform.files import RECORDINGS
from model_tests.judging import branch_names
from model_tests.machines import replica_events, tape_runs
from model_tests.monitor import local
from model_tests.monitor.runs import run_of
from model_tests.simulate import simulate
from reference.wire.versions import served
from spec.bugs.catalogue import BUGS
from spec.sources.table import known
from spec.systems.append_lemmas import append_facts
from spec.versions import NEWEST, PROFILES

SEEDS: Final = (*range(0, 64, 5), 233, 4_321, 123_456)
"""Of traces that are compared row by row."""

DEALT: Final = 20_000
"""Seeds whose profiles and versions are compared."""

STEPS: Final = 60
SESSIONS: Final = RECORDINGS / "4.3-tv2-P.ndjson.xz"
FEW: Final = 10
"""Sessions that are said to be of the newest release, and replayed."""


def traces() -> dict[str, str]:
    """What the seeds choose, and the rows that come of some of them, by digests."""
    chosen = [(simulate.profile_of(seed), simulate.version_of(seed)) for seed in range(DEALT)]
    rows = [simulate.trace_of(seed, STEPS) for seed in SEEDS]
    return {"chosen": _digest(chosen), "rows": _digest(rows)}


def simulated() -> dict[str, Any]:
    """A run of one trace for each profile, and a trace of each workload of each later release, judged as they go."""
    firsts = [block * simulate.BLOCK for block in range(1, len(simulate.LATER) + 1)]
    seeds = [first + place for first in firsts for place in range(len(simulate.WORKLOADS))]
    played = [(run_of(seed, STEPS), run_of(seed, STEPS).play(monitored=True)) for seed in seeds]
    with TemporaryDirectory() as directory:
        report = local.run(len(PROFILES), 0, Path(directory) / "traces.parquet", STEPS, monitored=True)
    return {
        "dealt": sorted(
            {simulate.profile_of(seed) for seed in simulate.dealt(3 * len(PROFILES), 0)} - {*simulate.TURNS}
        ),
        "traces": report.traces,
        "violations": len(report.violations) + sum(len(each.violations) for _, each in played),
        "later": [[run.workload, *sorted({row["profile"] for row in each.rows})] for run, each in played],
    }


def conformed() -> dict[str, Any]:
    """Sessions of 4.3, said to be of the newest release: it is the same protocol, as far as they go."""
    with lzma.open(SESSIONS, "rt") as lines, TemporaryDirectory() as directory:
        written = [json.loads(next(lines)) | {"kafka": NEWEST.name} for _ in range(FEW)]
        file = Path(directory) / "sessions.ndjson"
        file.write_text("".join(json.dumps(session) + "\n" for session in written))
        report = replay.run([file], jobs=1)
    found: dict[str, Any] = report.to_json()
    return {"exit": report.exit_code, "builds": sorted({family["kafka"] for family in found["families"]})}


def announced() -> dict[str, list[list[Any]]]:
    """What a node of each profile says that it serves."""
    return {name: [list(each) for each in served(profile)] for name, profile in PROFILES.items()}


def shown() -> dict[str, Any]:
    """What the tables of the pages say: which release the newest is compared with, and guards whose cells are empty."""
    sys.path.insert(0, str(Path(__file__).parents[3] / "docs" / "_ext"))
    versions, decisions, sources = map(import_module, ("version_tables", "decision_tables", "source_tables"))
    guards = {name: [row.guard.name for row in decisions.rows(each)] for name, each in decisions.DECISIONS.items()}
    return {
        "before": versions.before(NEWEST).name,
        "proposal": versions.before(PROFILES["split-out-of-order"]).name,
        "guards": guards,
        "sources": list(sources.RELEASES),
    }


def listed() -> dict[str, Any]:
    """What checks take releases from: sources, tables of results, lemmas, machines, what mends the open bugs."""
    table = branch_names.table()
    return {
        "unsourced": [str(cell) for cell in known().missing] + [row.place for row in known().superfluous],
        "stale": branch_names.TABLE.complaint(),
        "reachable": sorted({*PROFILES} - {*table}),
        "branches": table[NEWEST.name] == table["4.4"],
        "lemmas": sorted({fact.name for fact in append_facts() if f"[{NEWEST.name}]" in fact.name}),
        "machines": [tape_runs.SETTINGS[0].name, replica_events.RELEASES[0].name],
        "mended": sorted(
            found.true.name.removeprefix(NEWEST.name) for bug in BUGS.values() for found in [staged(bug)] if found
        ),
    }


def _digest(value: object) -> str:
    return sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def main() -> None:
    """Print the object."""
    parts = (traces, simulated, conformed, announced, shown, listed)
    sys.stdout.write(json.dumps({"newest": NEWEST.name, **{part.__name__: part() for part in parts}}))


if __name__ == "__main__":
    main()
