"""Clients in other languages: programs of `model_tests/clients` that make the journey and write their ledger down."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import pytest

from model_tests.unit.serve.journeys import JourneyLedger, check_ledger, ledger_in
from model_tests.unit.source_files import ROOT

CLIENTS = ROOT / "model_tests" / "clients"
TOPICS = {"in": 4, "out": 4}

SLOWEST_S = 240
"""After which a program is killed, in seconds."""


class Bootstrap(Protocol):
    """What clients connect to."""

    bootstrap_servers: str


def travel(
    command: Sequence[str], cluster: Bootstrap, directory: Path, journey: str = "all", aborted: int = 1
) -> subprocess.CompletedProcess[str]:
    """Run a client's program; what it says is in the directory then.

    Args:
        command: the program.
        cluster: that it connects to, or what stands before it.
        directory: for journal, received and ledger.
        journey: `all`, or `plain` for an idempotent producer and a reader alone.
        aborted: how many transactions of one producer are aborted, one after the other.
    """
    arguments = [*command, cluster.bootstrap_servers, str(directory), journey, str(aborted)]
    return subprocess.run(arguments, capture_output=True, text=True, timeout=SLOWEST_S, check=False)


def check_all(ledger: JourneyLedger) -> None:
    """The whole journey: each record was seen and made into another one once."""
    assert ledger.consumed
    check_ledger(ledger)


def ledger_of(run: subprocess.CompletedProcess[str], directory: Path) -> JourneyLedger:
    """What a program that has come to its end has written down."""
    assert 0 == run.returncode, run.stderr
    return ledger_in(directory)


def node(library: str, oldest: int) -> list[str]:
    """The command that runs a library's program; the test is skipped where it cannot run.

    Node is the one that `EOS_NODE` names, or the one on the path.
    """
    if not (CLIENTS / "node_modules" / library).is_dir():
        pytest.skip(f"{library} is not installed: npm ci --prefix model_tests/clients")
    found = shutil.which(os.environ.get("EOS_NODE", "node"))
    if found is None:
        pytest.skip("there is no Node: EOS_NODE may name one")
    output = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    version = re.match(r"v(\d+)", output)
    if version is None or int(version[1]) < oldest:
        pytest.skip(f"{library} needs Node {oldest}, and {found} is {output.strip()}: EOS_NODE may name another one")
    return [found]
