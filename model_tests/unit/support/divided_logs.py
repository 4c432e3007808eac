"""A log that is divided into parts at will."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from model_tests.audit.combine_parts import collected
from model_tests.audit.log import concluded
from model_tests.audit.options import AuditOptions
from model_tests.audit.partition import conclude
from model_tests.audit.partition_verdict import Judged
from model_tests.audit.reading import read_whole
from model_tests.audit.reread import RereadRequest
from model_tests.audit.verdict_tasks import AuditPlan, VerdictTasks
from model_tests.logs.kafka_log_derived import read_derived
from model_tests.logs.kafka_log_folders import LogFolder, list_logs


class Divided:
    """Every log of a directory read a segment at a time, as tasks would, and what that took."""

    def __init__(self, directory: Path, divided_from: int = 1, **options: Any) -> None:
        self.plan = AuditPlan(AuditOptions(**options), (str(directory),), 1_000_000, divided_from)
        self.sizes: list[int] = []
        self.rereads: list[set[int]] = []
        self.logs = list_logs([str(directory)]).logs
        self.reader = VerdictTasks(self.plan)
        self.verdicts = collected(self._read, self.logs, self.reader.wanted)

    def _read(self, rereads: Mapping[int, RereadRequest]) -> Iterator[SimpleNamespace]:
        self.rereads.append(set(rereads))
        reader = VerdictTasks(replace(self.plan, rereads=rereads))
        for task in reader.tasks():
            for log, verdict, part, left in reader.run(task):
                self.sizes += [len(left)] if left is not None else []
                yield SimpleNamespace(log=log, verdict=verdict, part=part, left=left)

    def whole(self, log: LogFolder) -> Judged:
        """The same of a log that is read and judged with all its batches."""
        wanted, derived = self.reader.wanted(log), read_derived(log)
        part = read_whole(log, wanted)
        return concluded(log, part, wanted, derived, conclude(part.log, wanted, derived)[0])
