"""The verdicts on logs, read by tasks of `kafka-log` and put together here."""

import json
import pickle
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import Row
from rich.console import Console

from model_tests.audit.combine_parts import Judged, collected
from model_tests.audit.kafka_log import KafkaLog
from model_tests.audit.progress import shown
from model_tests.audit.reread import RereadRequest
from model_tests.audit.verdict_tasks import VerdictTasks, bytes_of
from model_tests.audit.wire import plain_asked
from model_tests.logs.kafka_log_folders import LogFolder
from model_tests.spark.session import session


def judged_on_spark(
    logs: Sequence[LogFolder], paths: Sequence[str], master: str, options: Mapping[str, object]
) -> dict[int, Judged]:
    """The verdict on every log of a listing, by its number.

    Args:
        logs: what is listed under the paths. The source plans by this listing and takes no second look, so that a
            number means the same log to both while a live broker adds and removes others.
        paths: where the tasks look for them.
        master: where Spark runs.
        options: those of the source, besides its paths.
    """
    spark = session(master)
    spark.dataSource.register(KafkaLog)
    given = {name: str(value) for name, value in options.items()}
    given |= {"rows": "verdicts", "paths": json.dumps(list(paths))}
    given["tasks"] = str(2 * spark.sparkContext.defaultParallelism)

    size = sum(map(bytes_of, logs))

    def read(asked: Mapping[int, RereadRequest]) -> list[Row]:
        source = spark.read.format("kafka-log").options(**given, asked=plain_asked(asked)).load()
        with shown(size, len(logs), spark.sparkContext.statusTracker(), Console(stderr=True)):
            return source.collect()

    with tempfile.TemporaryDirectory(prefix="eos-listing-") as scratch:
        listing = Path(scratch) / "logs"
        listing.write_bytes(pickle.dumps(tuple(logs)))
        given["listing"] = str(listing)
        return collected(read, logs, VerdictTasks(given).wanted)
