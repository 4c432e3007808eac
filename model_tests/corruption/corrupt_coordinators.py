"""Steps of transaction coordinators made false, for each rule one way."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from model_tests.corruption.corruption import StepCorruption
from model_tests.traces.schema import OF_ID, Row
from spec import rules
from spec.vocabulary import Api, ErrorCode, TransactionState

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


def _within_its_timeout(row: Row) -> dict[str, Any]:
    return {"time_ms": row["before_txn_started_ms"]}


def _of_an_open_transaction(row: Row) -> dict[str, Any]:
    return {"before_txn_state": int(TransactionState.ONGOING)}


def _with_last_epoch(row: Row) -> dict[str, Any]:
    return {"after_txn_last_epoch": row["after_txn_epoch"] - 1 if row["after_txn_epoch"] else 7}


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
    StepCorruption(
        "an abort before its time", rules.TXN_TIMEOUT, _of("TransactionTimeout", "timed_out"), _within_its_timeout
    ),
    StepCorruption("an id expires in a transaction", rules.TXN_EXPIRY, _expires, _of_an_open_transaction),
    StepCorruption(
        "memory outlives a failover", rules.TXN_FAILOVER, _of("CoordinatorLoad", "loaded"), _with_last_epoch
    ),
)
