"""The time of processors that a command takes for a small input, from its start to its report: no JVM is started."""

import resource
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from model_tests.audit.checksums import sound_batches
from model_tests.bench.log_files import client_batches
from model_tests.bench.trace_batches import simulated, write_batch
from model_tests.common.reports import HOLDS
from model_tests.monitor.local import run as simulate_here
from reference.errors import Impossible
from reference.log.config import LogConfig
from reference.log.disk_log import DiskLog

STEPS: Final = 50_000
"""Steps of the traces that are checked."""

BATCHES: Final = 190_000
"""Of some 550 bytes each: a hundred megabytes."""

VALUES: Final = (b"v" * 114,) * 4
ROUNDS: Final = 3
"""Times that each is measured, after one that fills the caches of the system and of Python; the least counts."""

DUMP: Final = """\
Dumping /var/lib/kafka/orders-0/00000000000000000000.log
Log starting offset: 0
baseOffset: 0 lastOffset: 1 count: 2 baseSequence: 0 lastSequence: 1 producerId: 7 producerEpoch: 0 \
partitionLeaderEpoch: 0 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty position: 0 \
CreateTime: 1700000000000 size: 80 magic: 2 compresscodec: none crc: 12 isvalid: true
"""
"""One batch as `kafka-dump-log` prints it."""


@dataclass(frozen=True, slots=True)
class InstantTiming:
    """Seconds of processors.

    Attributes:
        dump: the audit of one dump.
        audit: the audit of a hundred megabytes in four partitions.
        naive: a loop over headers and checksums of the same, in this process.
        check: the check of `STEPS` steps.
        replay: the replay of a trace of `replayed` steps from its file.
    """

    dump: float
    audit: float
    naive: float
    check: float
    replay: float
    replayed: int


def instant_timing(replayed: int, scratch: Path) -> InstantTiming:
    """Time each command in a process of its own."""
    logs, traces, trace, dump = (scratch / name for name in ("logs", "traces", "trace.parquet", "dump.txt"))
    for partition in range(4):
        log = DiskLog.create(logs / f"t-{partition}", LogConfig(segment_bytes=32 << 20))
        log.append_all(list(client_batches(BATCHES // 4, VALUES)))
        log.close()
    dump.write_text(DUMP)
    write_batch(simulated(), STEPS, traces)
    simulate_here(traces=1, seed=0, out=trace, steps=replayed, workload="producers")
    return InstantTiming(
        dump=_least(["audit", str(dump)]),
        audit=_least(["audit", str(logs)]),
        naive=min(_looped(logs) for _ in range(ROUNDS)),
        check=_least(["check", str(traces)]),
        replay=_least(["replay", str(trace), "--step", "0"]),
        replayed=replayed,
    )


def _least(arguments: Sequence[str]) -> float:
    return min([_computed(arguments) for _ in range(ROUNDS + 1)][1:])


def _computed(arguments: Sequence[str]) -> float:
    """Seconds of processors that a command and its children took."""
    before = _used(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "model_tests", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # ourselves
    if done.returncode != HOLDS:
        raise Impossible(f"{' '.join(arguments)} says of sound input: {done.stdout[-500:]}{done.stderr[-500:]}")
    return _used(resource.RUSAGE_CHILDREN) - before


def _looped(logs: Path) -> float:
    before = _used(resource.RUSAGE_SELF)
    sound_batches(logs)
    return _used(resource.RUSAGE_SELF) - before


def _used(whose: int) -> float:
    usage = resource.getrusage(whose)
    return usage.ru_utime + usage.ru_stime
