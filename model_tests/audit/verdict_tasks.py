"""The tasks of an audit, wherever they run: each reads and judges some logs, and gives a row for each.

The log of a large partition is divided: a task has some of its segments, and its row is what is left of them
(`reading.Part`), to be put together where the report is made.
"""

import json
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from model_tests.audit.compaction import condense
from model_tests.audit.history_log import NOBODY, ClientSide
from model_tests.audit.holes import Surroundings
from model_tests.audit.log import DAY_MS, audit_log, is_divisible, surroundings, wanted_of
from model_tests.audit.partial_log import Wanted
from model_tests.audit.reading import read_part
from model_tests.audit.reread import RereadRequest
from model_tests.audit.result_cache import ResultCache
from model_tests.audit.wire import asked_of, encode, packed_part
from model_tests.histories.journal import read_received
from model_tests.histories.reading import Form, read_history
from model_tests.logs.kafka_log_folders import LogFolder, list_logs, size_of
from model_tests.logs.kafka_log_ranges import ranges_of
from model_tests.logs.kafka_log_segment import SegmentRange
from model_tests.logs.locations import remember
from spec.versions import NEWEST, PROFILES

_WHERE: Final = ("rows", "paths", "tasks", "work", "topics", "listing")
"""Options that say where logs are and how they are shared out: no verdict depends on them."""

_BYTES_OF_A_TASK: Final = 64 << 20
_BYTES_OF_A_LOG: Final = 64 << 10
"""What it costs to open a log's files, as if they were so many bytes longer."""

_DIVIDED_FROM: Final = 16 << 20
"""Bytes from which on a log may be divided."""


class TaskResult(NamedTuple):
    """What a task gives: the verdict on a log, or what is left of some segments of one.

    Attributes:
        log: its number in the listing.
        verdict: encoded (`wire.encode`); None where the log is divided.
        part: the position of the segments among the log's parts.
        left: packed (`wire.packed_part`).
    """

    log: int
    verdict: str | None = None
    part: int | None = None
    left: bytes | None = None


@dataclass(frozen=True, slots=True)
class WholeLogs:
    """Logs that one task reads and judges.

    Attributes:
        logs: each with its number in the listing and what is known from the files beside it.
        clients: by the number of a log, what clients know of it.
    """

    logs: tuple[tuple[int, LogFolder, Surroundings], ...]
    clients: Mapping[int, ClientSide]


@dataclass(frozen=True, slots=True)
class SomeSegments:
    """Segments of one log that one task reads.

    Attributes:
        number: of the log in the listing.
        part: the position of these segments among the log's parts.
        log: the log with these segments alone.
        wanted: what must be kept of them.
    """

    number: int
    part: int
    log: LogFolder
    wanted: Wanted


Task: TypeAlias = WholeLogs | SomeSegments


class VerdictTasks:
    """Reads logs and hands back findings and totals only."""

    def __init__(self, options: Mapping[str, str], listed: Sequence[LogFolder] | None = None) -> None:
        """Plan nothing yet.

        Args:
            options: those of the data source `kafka-log`, all in words.
            listed: the logs, where they were listed already.
        """
        self.crc = options.get("crc", "true").lower() != "false"
        self.deep = options.get("deep", "false").lower() == "true"
        self.paths: list[str] = json.loads(options["paths"])
        self.topics: list[str] = json.loads(options.get("topics", "[]"))
        self.tasks_at_least = int(options.get("tasks", "4"))
        self.checkpointed_watermark = options.get("checkpointed_watermark", "false").lower() == "true"
        self.producer_expiry_ms = int(options.get("producer_expiry_ms", DAY_MS))
        self.history, self.received = options.get("history", ""), options.get("received", "")
        self.history_form = Form(options["history_form"]) if "history_form" in options else None
        self.profile = PROFILES[options.get("profile", NEWEST.name)]
        self.divided_from = int(options.get("divided_from", _DIVIDED_FROM))
        self.asked = asked_of(options.get("asked", "{}"))
        self.listed, self.listing = listed, options.get("listing", "")
        reported = {name: value for name, value in options.items() if name not in _WHERE}
        self.kept = ResultCache(options.get("work", ""), json.dumps(reported, sort_keys=True))

    def tasks(self) -> Sequence[Task]:
        """Tasks of about the same size, the largest first."""
        logs = self._logs()
        clients = client_sides(logs, self.history, self.received, self.history_form)
        enough = bytes_of_a_task(logs, self.tasks_at_least)
        divided = [
            number
            for number, log in enumerate(logs)
            if bytes_of(log) > max(enough, self.divided_from) and is_divisible(log, clients.get(number, NOBODY))
        ]
        if self.asked:
            return [task for number in self.asked for task in self._divided(number, logs[number], enough)]
        whole = [number for number in range(len(logs)) if number not in divided]
        return [
            *(task for number in divided for task in self._divided(number, logs[number], enough)),
            *(
                WholeLogs(
                    tuple((number, logs[number], self._beside(logs[number])) for number in numbers),
                    {number: clients[number] for number in numbers if number in clients},
                )
                for numbers in shared_out(logs, whole, enough)
            ),
        ]

    def run(self, task: Task) -> Iterator[TaskResult]:
        """The verdict on each log of the task, or what is left of some segments."""
        remember(self.paths)
        if isinstance(task, SomeSegments):
            found = self.kept.found(task.log, f"part {task.part}", partial(self._left, task))
            yield TaskResult(task.number, part=task.part, left=found)
            return
        for number, log, beside in task.logs:
            client = task.clients.get(number, NOBODY)
            found = self.kept.found(log, client.digest, partial(self._judged, log, beside, client))
            yield TaskResult(number, found.decode())

    def _logs(self) -> Sequence[LogFolder]:
        """Those that were listed where the report is made; planning runs there, too."""
        if self.listed is not None:
            return self.listed
        if not self.listing:
            return list_logs(self.paths, self.topics).logs
        remember(self.paths)
        listed: tuple[LogFolder, ...] = pickle.loads(Path(self.listing).read_bytes())
        return listed

    def _judged(self, log: LogFolder, beside: Surroundings, client: ClientSide) -> bytes:
        return encode(*audit_log(log, beside, self.profile, crc=self.crc, deep=self.deep, client=client)).encode()

    def _left(self, task: SomeSegments) -> bytes:
        part = read_part(task.log, task.wanted, crc=self.crc)
        return packed_part(replace(part, log=condense(part.log, task.wanted)))

    def wanted(self, log: LogFolder) -> Wanted:
        """What must be known of a log in the end."""
        return wanted_of(log, self._beside(log), self.profile, deep=self.deep)

    def _divided(self, number: int, log: LogFolder, enough: int) -> Iterator[SomeSegments]:
        asked, enough = self.asked.get(number, RereadRequest()), max(enough, self.divided_from)
        wanted = self.wanted(log).and_also(asked)
        ranges = (ranges_of(one, enough) if one.base not in asked.segments else (one,) for one in log.segments)
        for part, segments in enumerate(neighbours(chain.from_iterable(ranges), enough)):
            yield SomeSegments(number, part, replace(log, segments=segments), wanted)

    def _beside(self, log: LogFolder) -> Surroundings:
        return surroundings(
            log, checkpointed_watermark=self.checkpointed_watermark, producer_expiry_ms=self.producer_expiry_ms
        )


def only_topic(logs: Iterable[LogFolder]) -> str:
    """The one topic of clients that there are logs of; empty where there are several."""
    topics = {log.topic for log in logs if not log.topic.startswith("__")}
    return topics.pop() if len(topics) == 1 else ""


def client_sides(
    logs: Sequence[LogFolder], history: str, received: str, form: Form | None = None
) -> dict[int, ClientSide]:
    """By the number of each log what the files of clients say of its partition."""
    acknowledged = read_history(history, form, only_topic(logs)).acknowledged if history else {}
    offsets = read_received(received, only_topic(logs)) if received else {}
    found: dict[int, ClientSide] = {}
    for number, log in enumerate(logs):
        name = (log.topic, log.partition)
        if name in acknowledged or name in offsets:
            found[number] = ClientSide(acknowledged.get(name), offsets.get(name))
    return found


def bytes_of(log: LogFolder) -> int:
    """Bytes of its segments."""
    return sum(size_of(segment) for segment in log.segments)


def bytes_of_a_task(logs: Sequence[LogFolder], tasks_at_least: int) -> int:
    """How much a task is given, so that there are enough of them and none is too large."""
    return min(_BYTES_OF_A_TASK, sum(_BYTES_OF_A_LOG + bytes_of(log) for log in logs) // tasks_at_least + 1)


def neighbours(segments: Iterable[SegmentRange], enough: int) -> Iterator[tuple[SegmentRange, ...]]:
    """Segments that follow each other, in groups of so many bytes, or half a segment more or less."""
    group: list[SegmentRange] = []
    size = 0
    for segment in segments:
        more = size_of(segment)
        if group and size + more / 2 > enough:
            yield tuple(group)
            group, size = [], 0
        group.append(segment)
        size += more
    if group:
        yield tuple(group)


def shared_out(logs: Sequence[LogFolder], numbers: Iterable[int], enough: int) -> list[list[int]]:
    """The numbers of whole logs by task: the largest first, small ones together."""
    sizes = {number: _BYTES_OF_A_LOG + bytes_of(logs[number]) for number in numbers}
    tasks: list[list[int]] = []
    room = 0
    for number in sorted(sizes, key=lambda number: -sizes[number]):
        if room <= 0:
            tasks.append([])
            room = enough
        tasks[-1].append(number)
        room -= sizes[number]
    return tasks
