"""Which sources a result is of: the commit that it was made from, and a digest of everything that it depends on."""

import subprocess
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = ("spec", "reference", "model_tests")
NO_PART: Final = ("model_tests/unit", "model_tests/bench")
"""What no result of a run depends on."""


@lru_cache(maxsize=1)
def digest() -> str:
    """The content of every file of the three packages, as one short word; tests and benchmarks apart."""
    return digest_of(ROOT)


def digest_of(root: Path) -> str:
    """The same of the repository at this place."""
    found = sha256()
    for path in _files(root):
        found.update(str(path.relative_to(root)).encode() + b"\0" + sha256(path.read_bytes()).digest())
    return found.hexdigest()[:16]


def commit(root: Path = ROOT) -> str:
    """The commit that is checked out, shortened; empty where there is no git."""
    requested = ["git", "rev-parse", "--short=12", "HEAD"]
    try:
        answer = subprocess.run(requested, cwd=root, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""


def _files(root: Path) -> Iterator[Path]:
    left_out = tuple(root / name for name in NO_PART)
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts and not any(map(path.is_relative_to, left_out)):
                yield path
