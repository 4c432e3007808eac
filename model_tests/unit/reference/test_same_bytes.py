"""A seed gives the same bytes under every hash seed and every version of Python."""

import hashlib
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

PRINTED = """
import json
from reference.simulate.simulation import simulate
from spec.versions import PROFILES

profiles = list(PROFILES.values())
for workload in ("raw", "producers", "transactions", "replicas"):
    for seed in range(4):
        print(json.dumps(simulate(seed, profiles[5 * seed % len(profiles)], 150, workload=workload)))
"""
OTHER_PYTHON = "EOS_OTHER_PYTHON"


@cache
def digest(python: str, hash_seed: str) -> str:
    """Of traces of every workload, made by an interpreter of its own."""
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(Path(__file__).parents[3])}
    ran = subprocess.run([python, "-c", PRINTED], env=environment, capture_output=True, check=True)
    assert ran.stdout.count(b"\n") == 16
    return hashlib.sha256(ran.stdout).hexdigest()


def other_python() -> str | None:
    """An interpreter of another version that has what the reference needs: one that is named, or on the path."""
    newer = (f"python3.{minor}" for minor in range(11, 16) if minor != sys.version_info.minor)
    for name in (os.environ.get(OTHER_PYTHON, ""), *newer):
        found = shutil.which(name) if name else None
        if found is not None:
            imports = subprocess.run([found, "-c", "import crc32c, cramjam"], capture_output=True, check=False)
            if imports.returncode == 0:
                return found
    return None


def test_the_order_of_sets_and_dictionaries_leaves_no_mark() -> None:
    """Two hash seeds, the same bytes."""
    assert digest(sys.executable, "1") == digest(sys.executable, "2")


def test_another_version_of_python_makes_the_same_bytes() -> None:
    """Two versions of Python, the same bytes."""
    other = other_python()
    if other is None:
        pytest.skip(f"no other Python >= 3.11 with crc32c and cramjam on the path; {OTHER_PYTHON} may name one")

    assert digest(sys.executable, "1") == digest(other, "2")
