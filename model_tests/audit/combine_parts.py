"""Verdicts from the rows of `kafka-log`: logs that were judged whole, and logs that were read in parts."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from model_tests.audit.log import concluded
from model_tests.audit.partial_log import Wanted
from model_tests.audit.partition import conclude
from model_tests.audit.partition_verdict import VERDICT, Judged
from model_tests.audit.reading import PART, PartialLog
from model_tests.audit.reread import RereadRequest
from model_tests.logs.kafka_log_derived import read_derived
from model_tests.logs.kafka_log_folders import LogFolder


@dataclass(slots=True)
class _PartReading:
    """What is known so far.

    Attributes:
        rereads: of the logs that have no verdict yet, what must be kept of them when they are read again.
    """

    verdicts: dict[int, Judged] = field(default_factory=dict)
    rereads: dict[int, RereadRequest] = field(default_factory=dict)


def collected(
    read: Callable[[Mapping[int, RereadRequest]], Iterable[Any]],
    logs: Sequence[LogFolder],
    wanted: Callable[[LogFolder], Wanted],
) -> dict[int, Judged]:
    """The verdict on every log, by its number.

    Args:
        read: reads all logs, or those to be read again; gives rows with `log`, `verdict`, `part`, `left`.
        logs: the listing.
        wanted: what must be known of a log in the end.
    """
    reading = _PartReading()
    while True:
        _add(reading, read(reading.rereads), logs, wanted)
        if not reading.rereads:
            return reading.verdicts


def _add(
    reading: _PartReading, rows: Iterable[Any], logs: Sequence[LogFolder], wanted: Callable[[LogFolder], Wanted]
) -> None:
    parts: dict[int, dict[int, bytes]] = defaultdict(dict)
    for row in rows:
        if row.verdict is not None:
            reading.verdicts[row.log] = VERDICT.decode(row.verdict)
        elif row.part is not None and row.left is not None:
            parts[row.log][row.part] = bytes(row.left)
    before, reading.rereads = reading.rereads, {}
    for number, own in parts.items():
        log, known = logs[number], before.get(number, RereadRequest())
        judged, more = _judged(log, [own[part] for part in sorted(own)], wanted(log).and_also(known))
        if judged is None:
            reading.rereads[number] = known | more
        else:
            reading.verdicts[number] = judged


def _judged(log: LogFolder, parts: Sequence[bytes], wanted: Wanted) -> tuple[Judged | None, RereadRequest]:
    """The verdict on a log that was read in parts, or what else must be seen of it before there is one."""
    whole = together([PART.decode(part) for part in parts], wanted)
    if whole.miscut:
        return None, RereadRequest(segments=set(whole.miscut))
    derived = read_derived(log)
    verdict, missing = conclude(whole.log, wanted, derived)
    return (None, missing) if missing else (concluded(log, whole, wanted, derived, verdict), missing)


def together(parts: Sequence[PartialLog], wanted: Wanted) -> PartialLog:
    """What is left of a log of whose segments this is left; neighbours first, as their order does not matter."""
    left = list(parts)
    while len(left) > 1:
        pairs = [left[number : number + 2] for number in range(0, len(left), 2)]
        left = [pair[0].then(pair[1], wanted) if len(pair) > 1 else pair[0] for pair in pairs]
    return left[0]
