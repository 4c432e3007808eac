"""Logs of two producers, and the findings of an audit that have one cause."""

from pathlib import Path

from model_tests.audit.findings import Finding
from model_tests.audit.run import run
from model_tests.unit.audit.written_cluster import ABORT, COMMIT, WrittenCluster
from reference.broker.transaction_record import TransactionValue, decode_key, decode_value, encode_key
from reference.log.batch import RecordBatch, data_batch
from reference.log.record import Record

A, B = ("a", 0), ("b", 0)


def two_producers(version: int, cluster: WrittenCluster | None = None) -> WrittenCluster:
    """Two transactional ids whose transactions overlap, a fence, and then one after the other."""
    cluster = cluster or WrittenCluster(version)
    cluster.init("tx", 7)
    cluster.init("other", 8)
    for outcome in (COMMIT, ABORT):
        cluster.add("tx", A, B)
        cluster.send("tx", A)
        cluster.send("tx", B, 2)
        cluster.send("tx", A)
        cluster.add("other", A)
        cluster.send("other", A)
        for name, partitions in (("tx", (A, B)), ("other", (A,))):
            cluster.prepare(name, outcome)
            cluster.mark(name, *partitions)
            cluster.complete(name)
    cluster.transaction("tx", [A], ABORT, fenced=True)
    cluster.init("tx", 7, cluster.values["tx"].epoch + 1)
    cluster.transaction("tx", [A, B])
    cluster.transaction("other", [B], ABORT)
    cluster.transaction("tx", [A, B])
    return cluster


def all_known(version: int) -> WrittenCluster:
    """Ids enough that their hashes leave no other coordinator's log, one without a transaction, and two with some."""
    cluster = WrittenCluster(version)
    for number in range(30):
        cluster.init(f"id-{number}", 100 + number)
    cluster.init("idle", 10)
    return two_producers(version, cluster)


def found(cluster: WrittenCluster, directory: Path) -> list[Finding]:
    """All findings."""
    return [finding for _, finding in run([cluster.write(directory)]).findings]


def identified(batch: RecordBatch) -> tuple[str, TransactionValue]:
    """The transactional id and the value of a coordinator's record."""
    (one,) = batch.records()
    assert one.key is not None
    assert one.value is not None
    return decode_key(one.key), decode_value(one.value)


def record(name: str, value: TransactionValue | None, batch: RecordBatch) -> RecordBatch:
    """A coordinator's record at the time of another."""
    content = value.encode() if value else None
    return data_batch([Record(0, 0, encode_key(name), content)], timestamp=batch.max_timestamp)
