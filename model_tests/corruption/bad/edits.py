"""Histories with one false row: something that clients were answered, were given out, or read, against a rule."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from model_tests.corruption.bad.made import FalseRows
from model_tests.traces.schema import Row
from spec.vocabulary import Api, ErrorCode

READ_COMMITTED: Final = 1  # Kafka's number of the isolation level
_OF_BATCH: Final = ("writer", "transaction", "first_record", "record_count")
_OF_OFFSET: Final = ("group", "topic", "partition")
_OF_TRANSACTION: Final = ("client", "transaction")
_WHERE: Final = ("client", "topic", "partition")


def a_producer_id_twice(rows: Sequence[Row]) -> FalseRows | None:
    """Applications with two transactional ids get the same producer id."""
    reported = [r for r in rows if r["api"] == "ClientInitTransactionsAnswered" and not r["error"]]
    others = [r for r in reported if r["transactional_id"] != reported[0]["transactional_id"]]
    return _changed(rows, others[0], producer_id=reported[0]["producer_id"]) if others else None


def a_batch_read_twice(rows: Sequence[Row]) -> FalseRows | None:
    """A reader is given one acknowledged batch for another, and so the one twice and the other never."""
    reported = {_of(r, _OF_BATCH) for r in rows if r["api"] == "ClientAcknowledged" and r["acks"] != 0}
    given: dict[object, Row] = {}
    for row in _given(rows):
        if _of(row, _OF_BATCH) not in reported:
            continue
        before = given.setdefault((_of(row, _WHERE), row["record_count"]), row)
        if before is not row:
            return _changed(rows, row, **{name: before[name] for name in _OF_BATCH})
    return None


def a_partition_left_out(rows: Sequence[Row]) -> FalseRows | None:
    """Of a transaction that a reader is given on two partitions, it is given only what is on one."""
    first: dict[object, Row] = {}
    for row in _given(rows):
        if row["transaction"] < 0:
            continue
        key = row["client"], row["writer"], row["transaction"]
        if _of(first.setdefault(key, row), _WHERE) != _of(row, _WHERE):
            there = (*_WHERE, "writer", "transaction")
            reported = [{**r, **({"delivered": False} if _of(r, there) == _of(row, there) else {})} for r in rows]
            return reported, row["step"]
    return None


def an_undecided_record_below(rows: Sequence[Row]) -> FalseRows | None:
    """The last stable offset of a leader moves up to its high watermark, past a transaction that is open."""
    for row in rows:
        first = row["after_txn_first_offset"]
        if row["appended"] and 0 <= first < row["after_high_watermark"] and row["after_last_stable"] <= first:
            return _changed(rows, row, after_last_stable=row["after_high_watermark"])
    return None


def an_aborted_batch_delivered(rows: Sequence[Row]) -> FalseRows | None:
    """A reader of what is committed is given a batch that its answer lists as aborted."""
    aborted: dict[str, list[Row]] = {}
    for row in rows:
        if row["api"] == "ConsumerFetch":
            aborted[row["client"]] = []
        elif row["api"] == "ConsumerFetchAborted":
            aborted[row["client"]].append(row)
        elif _is_listed(row, aborted.get(row["client"], [])):
            return _changed(rows, row, delivered=True)
    return None


def _is_listed(row: Row, aborted: Sequence[Row]) -> bool:
    data = row["api"] == "ClientFetched" and row["isolation"] == READ_COMMITTED and not row["control"]
    return data and any(
        of["producer_id"] == row["producer_id"] and of["first_offset"] <= row["first_offset"] for of in aborted
    )


def an_abort_that_was_visible(rows: Sequence[Row]) -> FalseRows | None:
    """An application gets the answer that it aborted what a reader of committed data is given."""
    for row in rows:
        if row["api"] == "ClientEndTransactionAnswered" and row["committed"] and not row["error"]:
            for given in _given(rows):
                if (given["writer"], given["transaction"]) == _of(row, _OF_TRANSACTION):
                    reported = [{**r, "committed": False} if _is_about_end(r, row) else dict(r) for r in rows]
                    return reported, max(int(given["step"]), int(row["step"]))
    return None


def _is_about_end(row: Row, answered: Row) -> bool:
    of_end = row["api"] in ("ClientEndTransaction", "ClientEndTransactionAnswered")
    return of_end and _of(row, _OF_TRANSACTION) == _of(answered, _OF_TRANSACTION)


def a_request_of_the_transaction_before(rows: Sequence[Row]) -> FalseRows | None:
    """An EndTxn ends a transaction, and is one that its client sent for the transaction before."""
    for row in rows:
        ends = row["api"] == Api.END_TXN and not row["error"] and row["before_txn_state"] != row["after_txn_state"]
        if ends and row["transaction"] > 0 and row["profile"] == "4.3" and row["transaction_version"] >= 2:
            return _changed(rows, row, transaction=row["transaction"] - 1)
    return None


def an_offset_before_its_end(rows: Sequence[Row]) -> FalseRows | None:
    """An offset that is committed in a transaction counts at once, and not with the marker."""
    for row in rows:
        if row["api"] == Api.TXN_OFFSET_COMMIT and not row["error"] and row["group"]:
            return _changed(rows, row, after_committed_offset=row["offset"])
    return None


def an_undecided_offset_reported(rows: Sequence[Row]) -> FalseRows | None:
    """A group that has to wait for a transaction gets the offset that the transaction has pending."""
    waits = (r for r in rows if r["api"] == Api.OFFSET_FETCH and r["error"] == ErrorCode.UNSTABLE_OFFSET_COMMIT)
    for answer in waits:
        offered = [r for r in rows[: answer["step"]] if _offers(r, answer)]
        if offered:
            return _changed(rows, answer, error=0, offset=offered[-1]["offset"])
    return None


def a_past_member_commits(rows: Sequence[Row]) -> FalseRows | None:
    """A member of a generation that its group has left behind commits an offset."""
    for row in rows:
        past = 0 <= row["generation"] < row["before_group_generation"]
        if row["api"] == Api.TXN_OFFSET_COMMIT and past and row["error"]:
            return _changed(rows, row, error=0)
    return None


def _offers(row: Row, answer: Row) -> bool:
    return row["api"] == "ClientSendOffsets" and row["offset"] >= 0 and _of(row, _OF_OFFSET) == _of(answer, _OF_OFFSET)


def _given(rows: Sequence[Row]) -> Iterator[Row]:
    """The batches that applications were given of what is committed."""
    for row in rows:
        if row["api"] == "ClientFetched" and row["delivered"] and row["isolation"] == READ_COMMITTED and row["writer"]:
            yield row


def _of(row: Row, names: Sequence[str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def _changed(rows: Sequence[Row], false: Row, **values: object) -> FalseRows:
    return [{**row, **(values if row is false else {})} for row in rows], false["step"]
