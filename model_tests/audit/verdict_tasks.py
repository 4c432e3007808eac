"""The tasks of an audit, wherever they run: each reads and judges some logs, and gives a row for each.

The log of a large partition is divided: a task has some of its segments, and its row is what is left of them
(`reading.Part`), to be put together where the report is made.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from model_tests.audit.compaction import condense
from model_tests.audit.history_log import NO_CLIENT, ClientSide
from model_tests.audit.holes import Surroundings
from model_tests.audit.log import audit_log, is_divisible, surroundings, wanted_of
from model_tests.audit.options import AuditOptions
from model_tests.audit.partial_log import WANTED, RereadRequest, Wanted
from model_tests.audit.partition_verdict import VERDICT
from model_tests.audit.reading import PART, read_part
from model_tests.audit.result_cache import ResultCache
from model_tests.common.codec import TypedCodec
from model_tests.histories.from_journal import read_received
from model_tests.logs.kafka_log_folders import LogFolder, list_logs, size_of
from model_tests.logs.kafka_log_ranges import ranges_of
from model_tests.logs.kafka_log_segment import SegmentRange
from model_tests.logs.locations import remember

_BYTES_OF_A_TASK: Final = 64 << 20
_BYTES_OF_A_LOG: Final = 64 << 10
"""What it costs to open a log's files, as if they were so many bytes longer."""

_DIVIDED_FROM: Final = 16 << 20
"""Bytes from which on a log may be divided."""


class TaskResult(NamedTuple):
    """What a task gives: the verdict on a log, or what is left of some segments of one.

    Attributes:
        log: its number in the listing.
        verdict: encoded (`VERDICT`); None where the log is divided.
        part: the position of the segments among the log's parts.
        left: encoded (`PART`).
    """

    log: int
    verdict: bytes | None = None
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

TASK: Final[TypedCodec[Task]] = TypedCodec("task of an audit", Task)
LISTING: Final[TypedCodec[tuple[LogFolder, ...]]] = TypedCodec("listing of logs", tuple[LogFolder, ...])


@dataclass(frozen=True, slots=True)
class AuditPlan:
    """What the tasks of an audit are made from, and run by.

    Attributes:
        options: as they were given.
        paths: where the logs are.
        tasks_at_least: in how many tasks they are read, if they are large enough.
        divided_from: bytes from which on a log may be divided.
        rereads: by the number of a log what must be seen of it again; only these logs are read then.
        listing: a file with the logs (`LISTING`), where they were listed already.
    """

    options: AuditOptions
    paths: tuple[str, ...]
    tasks_at_least: int = 4
    divided_from: int = _DIVIDED_FROM
    rereads: Mapping[int, RereadRequest] = field(default_factory=dict)
    listing: str = ""


PLAN: Final[TypedCodec[AuditPlan]] = TypedCodec("plan of an audit", AuditPlan)


class VerdictTasks:
    """Reads logs and hands back findings and totals only."""

    def __init__(self, plan: AuditPlan, listed: Sequence[LogFolder] | None = None) -> None:
        """Plan nothing yet.

        Args:
            plan: what the tasks go by.
            listed: the logs, where they were listed in this process.
        """
        self.plan, self.options, self.listed = plan, plan.options, listed
        self.kept = ResultCache(plan.options.work, sha256(PLAN.encode(self._of_verdicts())).hexdigest())

    def tasks(self) -> Sequence[Task]:
        """Tasks of about the same size, the largest first."""
        logs, plan = self._logs(), self.plan
        clients = client_sides(logs, self.options)
        enough = bytes_of_a_task(logs, plan.tasks_at_least)
        if plan.rereads:
            return [task for number in plan.rereads for task in self._divided(number, logs[number], enough)]
        divided = [
            number
            for number, log in enumerate(logs)
            if bytes_of(log) > max(enough, plan.divided_from) and is_divisible(log, clients.get(number, NO_CLIENT))
        ]
        whole = [number for number in range(len(logs)) if number not in divided]
        return [
            *(task for number in divided for task in self._divided(number, logs[number], enough)),
            *(
                WholeLogs(
                    tuple((number, logs[number], self._around(logs[number])) for number in numbers),
                    {number: clients[number] for number in numbers if number in clients},
                )
                for numbers in shared_out(logs, whole, enough)
            ),
        ]

    def run(self, task: Task) -> Iterator[TaskResult]:
        """The verdict on each log of the task, or what is left of some segments."""
        remember(self.plan.paths)
        if isinstance(task, SomeSegments):
            wanted = sha256(WANTED.encode(task.wanted)).hexdigest()
            left = self.kept.found(task.log, f"part {task.part} {wanted}", partial(self._left, task))
            yield TaskResult(task.number, part=task.part, left=left)
            return
        for number, log, around in task.logs:
            client = task.clients.get(number, NO_CLIENT)
            yield TaskResult(number, self.kept.found(log, client.digest, partial(self._judged, log, around, client)))

    def wanted(self, log: LogFolder) -> Wanted:
        """What must be known of a log in the end."""
        return wanted_of(log, self._around(log), self.options.profile, deep=self.options.deep)

    def _of_verdicts(self) -> AuditPlan:
        """The part of the plan on which verdicts depend, besides the logs and what is wanted of each."""
        return AuditPlan(self.options.of_verdicts(), (), divided_from=self.plan.divided_from)

    def _logs(self) -> Sequence[LogFolder]:
        """Those that were listed where the report is made; planning runs there, too."""
        if self.listed is not None:
            return self.listed
        if not self.plan.listing:
            return list_logs(self.plan.paths, self.options.topics).logs
        remember(self.plan.paths)
        return LISTING.decode(Path(self.plan.listing).read_bytes())

    def _judged(self, log: LogFolder, around: Surroundings, client: ClientSide) -> bytes:
        options = self.options
        return VERDICT.encode(
            audit_log(log, around, options.profile, crc=options.crc, deep=options.deep, client=client)
        )

    def _left(self, task: SomeSegments) -> bytes:
        part = read_part(task.log, task.wanted, crc=self.options.crc)
        return PART.encode(replace(part, log=condense(part.log, task.wanted)))

    def _divided(self, number: int, log: LogFolder, enough: int) -> Iterator[SomeSegments]:
        reread, enough = self.plan.rereads.get(number, RereadRequest()), max(enough, self.plan.divided_from)
        wanted = self.wanted(log).and_also(reread)
        ranges = (ranges_of(one, enough) if one.base not in reread.segments else (one,) for one in log.segments)
        for part, segments in enumerate(neighbours(chain.from_iterable(ranges), enough)):
            yield SomeSegments(number, part, replace(log, segments=segments), wanted)

    def _around(self, log: LogFolder) -> Surroundings:
        return surroundings(
            log,
            checkpointed_watermark=self.options.checkpointed_watermark,
            producer_expiry_ms=self.options.producer_expiry_ms,
        )


def only_topic(logs: Iterable[LogFolder]) -> str:
    """The one topic of clients that there are logs of; empty where there are several."""
    topics = {log.topic for log in logs if not log.topic.startswith("__")}
    return topics.pop() if len(topics) == 1 else ""


def client_sides(logs: Sequence[LogFolder], options: AuditOptions) -> dict[int, ClientSide]:
    """By the number of each log what the files of clients say of its partition."""
    topic, acknowledged = only_topic(logs), {}
    if options.history:
        reading = import_module("model_tests.histories.reading")
        acknowledged = reading.read_history(options.history, options.history_form, topic).acknowledged
    offsets = read_received(options.received, topic) if options.received else {}
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
