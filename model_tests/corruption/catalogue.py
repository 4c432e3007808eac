"""The catalogue of false steps: for each rule one way to make a true step false, which the check must name there."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from model_tests.traces.schema import OF_ID, Row, columns_of
from reference.world.steps import TIMEOUT
from spec import rules
from spec.protocol.records import ProducerEntry
from spec.rules import Rule
from spec.vocabulary import Api, ErrorCode, TransactionState

_BEFORE_AND_AFTER: Final = [(f"before_{name}", f"after_{name}") for name in columns_of(("", ProducerEntry))]


@dataclass(frozen=True, slots=True)
class StepCorruption:
    """One way to make a step false.

    Attributes:
        fits: whether a true step with this deciding branch can be made false this way.
        change: the columns that the false step has instead.
        drops: the step is left out, and the next one on its key is the false one.
    """

    name: str
    rule: Rule
    fits: Callable[[Row, str], bool]
    change: Callable[[Row], dict[str, Any]]
    drops: bool = False


# --- appends, and the log --------------------------------------------------------------------------------------


def _refused(row: Row) -> dict[str, Any]:
    restored = {after: row[before] for before, after in _BEFORE_AND_AFTER}
    error = int(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    return {"error": error, "appended": False, "first_offset": -1, "last_offset": -1, **restored}


def _accepted(row: Row) -> dict[str, Any]:
    return {"error": 0, "appended": True, "first_offset": row["before_log_end"], "last_offset": row["before_log_end"]}


def _when_appended(row: Row, branch: str) -> bool:
    return branch == "appended"


def _branch(wanted: str) -> Callable[[Row, str], bool]:
    return lambda row, branch: branch == wanted


def _is_follower(row: Row, branch: str) -> bool:
    return branch == "appended" and row["before_cached_0_last_sequence"] >= 0


def _is_refused(row: Row, branch: str) -> bool:
    return branch not in ("appended", "duplicate")


def _is_malformed(row: Row, branch: str) -> bool:
    return bool(row["error"] == ErrorCode.INVALID_RECORD)


def _with_other_offset(row: Row) -> dict[str, Any]:
    return {"first_offset": row["first_offset"] + 1}


def _later_on_log(row: Row, branch: str) -> bool:
    return bool(row["step"] > 100 and row["before_last_stable"] > row["after_log_start"])


def _with_stable_back(row: Row) -> dict[str, Any]:
    return {"after_last_stable": row["before_last_stable"] - 1}


def _with_watermark_beyond(row: Row) -> dict[str, Any]:
    return {"after_high_watermark": row["after_log_end"] + 1}


def _from_another_end(row: Row) -> dict[str, Any]:
    return {"before_log_end": row["before_log_end"] + 1}


def _with_epoch(change: int) -> Callable[[Row], dict[str, Any]]:
    return lambda row: {"after_epoch": row["before_epoch"] + change}


def _unchanged(row: Row) -> dict[str, Any]:
    return {}


OF_APPENDS: Final = (
    StepCorruption("a first batch is refused", rules.SEQ_FIRST, _when_appended, _refused),
    StepCorruption("the next batch is refused", rules.SEQ_SUCCESSOR, _when_appended, _refused),
    StepCorruption("a step is lost", rules.SEQ_SUCCESSOR, _is_follower, _unchanged, drops=True),
    StepCorruption("the first batch of an epoch is refused", rules.SEQ_EPOCH_RESET, _when_appended, _refused),
    StepCorruption(
        "a resend gets another offset", rules.SEQ_DUPLICATE_WINDOW, _branch("duplicate"), _with_other_offset
    ),
    StepCorruption("a refusal moves the epoch", rules.SEQ_REFUSAL_IS_PURE, _is_refused, _with_epoch(+1)),
    StepCorruption("a malformed batch is appended", rules.SEQ_WELL_FORMED, _is_malformed, _accepted),
    StepCorruption("a stale epoch is appended", rules.FENCE_STALE_EPOCH, _branch("stale_epoch"), _accepted),
    StepCorruption("a batch overtakes its verification", rules.SEQ_ORDER, _branch("verification_overtaken"), _accepted),
    StepCorruption(
        "a replaced coordinator's marker is appended",
        rules.FENCE_COORDINATOR_EPOCH,
        _branch("stale_coordinator"),
        _accepted,
    ),
    StepCorruption("an accepted batch lowers the epoch", rules.FENCE_EPOCH_MONOTONE, _when_appended, _with_epoch(-1)),
    StepCorruption("a stable offset falls", rules.LSO_MONOTONE, _later_on_log, _with_stable_back),
    StepCorruption("a watermark is beyond the log", rules.LSO_BOUNDS, _later_on_log, _with_watermark_beyond),
    StepCorruption("a log begins at another end", rules.SEQ_STATE_RECOVERABLE, _later_on_log, _from_another_end),
)


# --- transaction coordinators ---------------------------------------------------------------------------------


_AFTER: Final = tuple(f"after_{name}" for name in OF_ID.values())
_OTHER_OUTCOME: Final[Mapping[int, TransactionState]] = {
    TransactionState.COMPLETE_COMMIT: TransactionState.COMPLETE_ABORT,
    TransactionState.COMPLETE_ABORT: TransactionState.COMPLETE_COMMIT,
}


def _of(api: str, branch: str) -> Callable[[Row, str], bool]:
    return lambda row, decided: row["api"] == api and decided == branch and row["after_txn_state"] >= 0


def _ends(row: Row, branch: str) -> bool:
    return row["api"] == Api.END_TXN and branch == "passed" and row["error"] == 0


def _completes(row: Row, branch: str) -> bool:
    return row["api"] == "MarkerAnswered" and row["after_txn_state"] in _OTHER_OUTCOME


def _hands_out(branch: str) -> Callable[[Row, str], bool]:
    return lambda row, decided: decided == branch and row["error"] == 0 and row["before_txn_epoch"] >= 0


def _fences(row: Row, branch: str) -> bool:
    return branch == "fences" and row["after_txn_state"] == TransactionState.PREPARE_ABORT


def _is_verified(row: Row, branch: str) -> bool:
    return branch == "verified" and row["error"] in (ErrorCode.NONE, ErrorCode.TRANSACTION_ABORTABLE)


def _expires(row: Row, branch: str) -> bool:
    return bool(row["api"] == "TransactionalIdExpiry")


def _agreed(row: Row) -> dict[str, Any]:
    return {"error": 0}


def _contradicted(row: Row) -> dict[str, Any]:
    return {"error": 0 if row["error"] else int(ErrorCode.TRANSACTION_ABORTABLE)}


def _completed_at_once(row: Row) -> dict[str, Any]:
    return {"after_txn_state": row["after_txn_pending"], "after_txn_pending": -1}


def _with_other_outcome(row: Row) -> dict[str, Any]:
    return {"after_txn_state": int(_OTHER_OUTCOME[row["after_txn_state"]])}


def _counted_on(change: int) -> Callable[[Row], dict[str, Any]]:
    def identity(row: Row) -> dict[str, Any]:
        producer, epoch = row["before_txn_producer_id"], row["before_txn_epoch"] + change
        reported = {"reply_producer_id": producer, "reply_epoch": epoch}
        return {"after_txn_producer_id": producer, "after_txn_epoch": epoch, **reported}

    return identity


def _left_open(row: Row) -> dict[str, Any]:
    return {name: row[name.replace("after_", "before_")] for name in _AFTER}


def _is_timed_out(row: Row, branch: str) -> bool:
    return bool(row["api"] == TIMEOUT and row["after_txn_state"] == TransactionState.PREPARE_ABORT)


def _as_before(row: Row) -> dict[str, Any]:
    return {name: row[name.replace("after_", "before_", 1)] for name in (*_AFTER, "after_txn_partitions")}


def _completed_earlier(row: Row) -> dict[str, Any]:
    return {"after_txn_updated_ms": row["after_txn_updated_ms"] - 1}


def _within_its_timeout(row: Row) -> dict[str, Any]:
    return {"time_ms": row["before_txn_started_ms"]}


def _of_an_open_transaction(row: Row) -> dict[str, Any]:
    return {"before_txn_state": int(TransactionState.ONGOING)}


def _with_last_epoch(row: Row) -> dict[str, Any]:
    return {"after_txn_last_epoch": row["after_txn_epoch"] - 1 if row["after_txn_epoch"] else 7}


def _adds(row: Row, branch: str) -> bool:
    return bool(row["api"] == Api.ADD_PARTITIONS_TO_TXN and branch == "passed" and row["error"] == 0)


def _with_a_partition(row: Row) -> dict[str, Any]:
    return {"after_txn_partitions": 1}


def _not_registered(row: Row) -> dict[str, Any]:
    return {"after_partition_registered": False}


def _loads_without_versions(row: Row, branch: str) -> bool:
    return bool(row["api"] == "CoordinatorLoad" and row["transaction_version"] == 0 and row["after_txn_state"] >= 0)


def _of_another_client(row: Row) -> dict[str, Any]:
    return {"after_txn_client_version": 2}


OF_COORDINATORS: Final = (
    StepCorruption(
        "a stale epoch ends a transaction", rules.FENCE_STALE_EPOCH, _of(Api.END_TXN, "epoch_other"), _agreed
    ),
    StepCorruption("a transaction is complete without markers", rules.TXN_LEGAL_TRANSITION, _ends, _completed_at_once),
    StepCorruption("an outcome is turned", rules.TXN_ONE_OUTCOME, _completes, _with_other_outcome),
    StepCorruption("an epoch after the last", rules.FENCE_EPOCH_EXHAUSTION, _hands_out("rotates"), _counted_on(+1)),
    StepCorruption("an identity is repeated", rules.IDS_IDENTITY_NEVER_REPEATS, _hands_out("bumps"), _counted_on(0)),
    StepCorruption("a new instance does not fence", rules.FENCE_ZOMBIE_CANNOT_COMMIT, _fences, _left_open),
    StepCorruption("a verification is contradicted", rules.TXN_REGISTERED_BEFORE_DATA, _is_verified, _contradicted),
    StepCorruption("an abort before its time", rules.TXN_TIMEOUT, _is_timed_out, _within_its_timeout),
    StepCorruption("a timeout that does not come", rules.TXN_TIMEOUT, _is_timed_out, _as_before),
    StepCorruption("a completion before its time", rules.TXN_LEGAL_TRANSITION, _completes, _completed_earlier),
    StepCorruption("an id expires in a transaction", rules.TXN_EXPIRY, _expires, _of_an_open_transaction),
    StepCorruption(
        "partitions outlive an identity", rules.IDS_IDENTITY_NEVER_REPEATS, _hands_out("bumps"), _with_a_partition
    ),
    StepCorruption("a completion leaves a partition", rules.TXN_LEGAL_TRANSITION, _completes, _with_a_partition),
    StepCorruption("a partition is added and not there", rules.TXN_LEGAL_TRANSITION, _adds, _not_registered),
    StepCorruption(
        "a client's version is in no record", rules.TXN_FAILOVER, _loads_without_versions, _of_another_client
    ),
    StepCorruption(
        "memory outlives a failover", rules.TXN_FAILOVER, _of("CoordinatorLoad", "loaded"), _with_last_epoch
    ),
)


# --- replication ----------------------------------------------------------------------------------------------


def _of_api(api: str) -> Callable[[Row, str], bool]:
    return lambda row, branch: row["api"] == api and row["error"] <= 0


def _raised(column: str) -> Callable[[Row], dict[str, Any]]:
    return lambda row: {column: row[column] + 1}


OF_REPLICATION: Final = (
    StepCorruption(
        "a leader's watermark is too high",
        rules.REPL_HW_BOUNDS,
        _of_api("LeaderHighWatermark"),
        _raised("after_high_watermark"),
    ),
    StepCorruption(
        "a leader is elected that may not lead",
        rules.REPL_COMMITTED_SURVIVES,
        _of_api("LeaderElection"),
        _raised("elected"),
    ),
    StepCorruption(
        "a follower cuts too little", rules.REPL_PREFIX_AGREEMENT, _of_api("ReplicaTruncate"), _raised("truncated_to")
    ),
)


CORRUPTIONS: Final = (*OF_APPENDS, *OF_COORDINATORS, *OF_REPLICATION)
