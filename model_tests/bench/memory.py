"""The most memory that this process and all that it started have had, and the time for which they have computed."""

import os
from collections.abc import Iterator
from math import nan
from pathlib import Path
from typing import Final

PROCESSES: Final = Path("/proc")


def peak_mebibytes() -> float:
    """Sum of the peaks of this process and its living descendants, Spark's JVM among them; NaN without /proc."""
    if not PROCESSES.is_dir():
        return nan
    return sum(int(status.get("VmHWM", "0 kB").split()[0]) for status in _family()) / 1024


def computed_seconds() -> float:
    """Time of processors that this process and its living descendants have had; NaN without /proc.

    Where other work is on the machine, this says more than the time that has passed.
    """
    if not PROCESSES.is_dir():
        return nan
    ticks = sum(int(time) for status in _family() for time in _times(status["Pid"]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _family() -> list[dict[str, str]]:
    statuses = {status["Pid"]: status for status in _statuses()}
    family = {str(os.getpid())} & statuses.keys()
    while more := {pid for pid, status in statuses.items() if status["PPid"] in family} - family:
        family |= more
    return [statuses[pid] for pid in family]


def _times(process: str) -> list[str]:
    """Ticks in user and system mode, its own and those of children that have ended."""
    try:
        fields = (PROCESSES / process / "stat").read_text()
    except OSError:  # the process has ended meanwhile
        return []
    return fields.rpartition(")")[2].split()[11:15]


def _statuses() -> Iterator[dict[str, str]]:
    for file in PROCESSES.glob("[0-9]*/status"):
        try:
            yield _fields(file.read_text())
        except OSError:  # the process has ended meanwhile
            continue


def _fields(status: str) -> dict[str, str]:
    return {name: value.strip() for name, _, value in (line.partition(":") for line in status.splitlines())}
