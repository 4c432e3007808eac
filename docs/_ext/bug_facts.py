"""The results of the searches for every known bug, found when the docs are built and kept until a source changes.

Each bug is searched in a process of its own, so that a first build uses every core; what is kept has no times in it,
so that two builds of the same sources are the same.
"""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from model_tests.bugs.judged import JudgedBug, judged
from model_tests.diagrams.sequence import text_of
from model_tests.diagrams.sequence_svg import svg_of
from spec.bugs.catalogue import BUGS

ROOT: Final = Path(__file__).parents[2]
KEPT: Final = ROOT / "build" / "known_bugs.json"
PACKAGES: Final = ("spec", "reference", "model_tests")
MAKER: Final = Path("docs/_ext/bug_facts.py")
"""What makes the facts; they depend on it and on all that it imports of ours, directly or not."""

Facts = Mapping[str, Any]


@lru_cache(maxsize=1)
def facts() -> Mapping[str, Facts]:
    """What was found of each bug that a search shows, by its name."""
    digest = digest_of_sources()
    if KEPT.is_file():
        kept = json.loads(KEPT.read_text(encoding="utf-8"))
        if kept["digest"] == digest:
            return dict(kept["bugs"])
    found = searched_apart()
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    KEPT.write_text(json.dumps({"digest": digest, "bugs": found}, indent=1), encoding="utf-8")
    return found


def digest_of_sources(maker: Path = MAKER) -> str:
    """The content of every source that the facts depend on which a script makes, as one number."""
    digest = sha256()
    for path in sorted(sources(ROOT / maker)):
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def sources(first: Path) -> set[Path]:
    """A source and all that it imports of ours, directly or not."""
    known, waiting = {first}, [first]
    while waiting:
        imported = set(_imported(waiting.pop())) - known
        known |= imported
        waiting += imported
    return known


def _imported(source: Path) -> Iterator[Path]:
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        if isinstance(node, ast.ImportFrom):
            names = [str(node.module), *(f"{node.module}.{name}" for name in names)]
        yield from (path for name in names if name.partition(".")[0] in PACKAGES for path in _files(name))


def _files(module: str) -> Iterator[Path]:
    stem = ROOT / module.replace(".", "/")
    yield from (path for path in (stem.with_name(f"{stem.name}.py"), stem / "__init__.py") if path.is_file())


def searched_apart() -> dict[str, Facts]:
    """Search all of them in an interpreter of its own: what runs Sphinx cannot be imported by workers."""
    paths = os.pathsep.join((str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])))
    done = subprocess.run(
        [sys.executable, str(ROOT / MAKER)], env=os.environ | {"PYTHONPATH": paths}, stdout=subprocess.PIPE, check=True
    )
    return dict(json.loads(done.stdout))


def searched_all() -> dict[str, Facts]:
    """Search every bug that has cases, the long ones first."""
    names = list(BUGS)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(names, pool.map(facts_of, names), strict=True))


def facts_of(name: str) -> Facts:
    """What is found of one bug, as plain JSON values."""
    found = judged(BUGS[name])
    return {
        "cases": list(_cases(found)),
        "svg": svg_of(found.diagram) if found.diagram else "",
        "text": text_of(found.diagram) if found.diagram else "",
        "replay": _replay(found),
        "failures": list(found.failures),
    }


def _cases(found: JudgedBug) -> Iterator[Facts]:
    for one, again in zip(found.found, found.replayed, strict=True):
        yield {
            "profile": one.case.profile,
            "expected": str(one.case.expected),
            "got": str(one.got),
            "depth": one.depth,
            "complete": one.complete,
            "reference": again if found.replay else None,
        }


def _replay(found: JudgedBug) -> Facts | None:
    if found.replay is None:
        return None
    reported = {"with": found.replay.defective, "without": found.replay.true}
    return {where: str(run.broken or run.refused) for where, run in reported.items()}


if __name__ == "__main__":
    json.dump(searched_all(), sys.stdout)
