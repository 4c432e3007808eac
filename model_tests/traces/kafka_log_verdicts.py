"""What `kafka-log` gives for `rows=verdicts`: one row a partition, its log read and judged where the task runs."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pyspark.sql.datasource import DataSourceReader, InputPartition

from model_tests.traces.audit_history import read_history, read_received
from model_tests.traces.audit_history_log import NOBODY, ClientSide
from model_tests.traces.audit_holes import Surroundings
from model_tests.traces.audit_log import DAY_MS, audit_log, surroundings
from model_tests.traces.audit_wire import encode
from model_tests.traces.kafka_log_folders import LogFolder, list_logs, size_of
from spec.versions import NEWEST, PROFILES

VERDICT_SCHEMA: Final = "log bigint, verdict string"

_BYTES_OF_A_TASK: Final = 64 << 20
_BYTES_OF_A_LOG: Final = 64 << 10
"""What it costs to open a log's files, as if they were so many bytes longer."""


class WholeLogs(InputPartition):
    """Logs that one task reads and judges, each with its number in the listing and what is known beside it.

    `clients` has, by the number of a log, what clients know of it.
    """

    def __init__(self, logs: Sequence[tuple[int, LogFolder, Surroundings]], clients: Mapping[int, ClientSide]) -> None:
        super().__init__(None)
        self.logs = tuple(logs)
        self.clients = clients


class VerdictReader(DataSourceReader):
    """Reads whole logs and hands back findings and totals only."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.crc = options.get("crc", "true").lower() != "false"
        self.paths: list[str] = json.loads(options["paths"])
        self.topics: list[str] = json.loads(options.get("topics", "[]"))
        self.tasks_at_least = int(options.get("tasks", "4"))
        self.checkpointed_watermark = options.get("checkpointed_watermark", "false").lower() == "true"
        self.producer_expiry_ms = int(options.get("producer_expiry_ms", DAY_MS))
        self.history, self.received = options.get("history", ""), options.get("received", "")
        self.profile = PROFILES[options.get("profile", NEWEST.name)]

    def partitions(self) -> Sequence[InputPartition]:
        """Tasks of about the same size; a partition's log is never divided."""
        logs = list_logs(self.paths, self.topics).logs
        clients = client_sides(logs, self.history, self.received)
        return [
            WholeLogs(
                [(number, logs[number], self._beside(logs[number])) for number in numbers],
                {number: clients[number] for number in numbers if number in clients},
            )
            for numbers in shared_out(logs, self.tasks_at_least)
        ]

    def read(self, partition: InputPartition) -> Iterator[tuple[int, str]]:
        """The verdict on each log of the task."""
        if not isinstance(partition, WholeLogs):
            raise TypeError(partition)
        for number, log, beside in partition.logs:
            client = partition.clients.get(number, NOBODY)
            yield number, encode(*audit_log(log, beside, self.profile, crc=self.crc, client=client))

    def _beside(self, log: LogFolder) -> Surroundings:
        return surroundings(
            log, checkpointed_watermark=self.checkpointed_watermark, producer_expiry_ms=self.producer_expiry_ms
        )


def client_sides(logs: Sequence[LogFolder], history: str, received: str) -> dict[int, ClientSide]:
    """By the number of each log what the files of clients say of its partition."""
    acknowledged = read_history(history).acknowledged if history else {}
    offsets = read_received(received) if received else {}
    found: dict[int, ClientSide] = {}
    for number, log in enumerate(logs):
        name = (log.topic, log.partition)
        if name in acknowledged or name in offsets:
            found[number] = ClientSide(acknowledged.get(name), offsets.get(name))
    return found


def shared_out(logs: Sequence[LogFolder], tasks_at_least: int) -> list[list[int]]:
    """The numbers of the logs by task: the largest first, small ones together."""
    sizes = [_BYTES_OF_A_LOG + sum(size_of(segment) for segment in log.segments) for log in logs]
    enough = min(_BYTES_OF_A_TASK, sum(sizes) // tasks_at_least + 1)
    tasks: list[list[int]] = []
    room = 0
    for number in sorted(range(len(logs)), key=lambda number: -sizes[number]):
        if room <= 0:
            tasks.append([])
            room = enough
        tasks[-1].append(number)
        room -= sizes[number]
    return tasks
