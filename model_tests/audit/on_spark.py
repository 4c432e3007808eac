"""The verdicts on logs, read by tasks of `kafka-log` and put together here.

Apart from the data source, which workers import: these start no session and show no progress.
"""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from pyspark.sql import Row
from rich.console import Console

from model_tests.audit.combine_parts import collected
from model_tests.audit.kafka_log import KafkaLog, verdict_options
from model_tests.audit.options import AuditOptions
from model_tests.audit.partial_log import RereadRequest
from model_tests.audit.partition_verdict import Judged
from model_tests.audit.progress import shown
from model_tests.audit.verdict_tasks import LISTING, AuditPlan, VerdictTasks, bytes_of
from model_tests.logs.kafka_log_folders import LogFolder
from model_tests.spark.session import session

LOCAL: Final = "local[*]"
"""Spark of this machine, with all its cores."""


def judged_on_spark(logs: Sequence[LogFolder], paths: Sequence[str], options: AuditOptions) -> dict[int, Judged]:
    """The verdict on every log of a listing, by its number.

    Args:
        logs: what is listed under the paths. The source plans by this listing and takes no second look, so that a
            number means the same log to both while a live broker adds and removes others.
        paths: where the tasks look for them.
        options: of the audit.
    """
    spark = session(options.master or LOCAL)
    spark.dataSource.register(KafkaLog)
    size = sum(map(bytes_of, logs))
    with tempfile.TemporaryDirectory(prefix="eos-listing-") as scratch:
        listing = Path(scratch) / "logs"
        listing.write_bytes(LISTING.encode(tuple(logs)))
        plan = AuditPlan(options, tuple(paths), 2 * spark.sparkContext.defaultParallelism, listing=str(listing))

        def read(rereads: Mapping[int, RereadRequest]) -> list[Row]:
            source = spark.read.format("kafka-log").options(**verdict_options(replace(plan, rereads=rereads))).load()
            with shown(size, len(logs), spark.sparkContext.statusTracker(), Console(stderr=True)):
                return source.collect()

        return collected(read, logs, VerdictTasks(plan, logs).wanted)
