"""The most memory that this process and all that it started have had."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

PROCESSES: Final = Path("/proc")


def peak_mebibytes() -> float:
    """Sum of the peaks of this process and its living descendants, Spark's JVM among them; 0 without /proc."""
    statuses = {status["Pid"]: status for status in _statuses()}
    own = PROCESSES / "self" / "status"
    if not own.exists():
        return 0.0
    family = {_fields(own.read_text())["Pid"]}
    while more := {pid for pid, status in statuses.items() if status["PPid"] in family} - family:
        family |= more
    return sum(int(statuses[pid].get("VmHWM", "0 kB").split()[0]) for pid in family if pid in statuses) / 1024


def _statuses() -> Iterator[dict[str, str]]:
    for file in PROCESSES.glob("[0-9]*/status"):
        try:
            yield _fields(file.read_text())
        except OSError:  # the process has ended meanwhile
            continue


def _fields(status: str) -> dict[str, str]:
    return {name: value.strip() for name, _, value in (line.partition(":") for line in status.splitlines())}
