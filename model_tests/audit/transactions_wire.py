"""Summaries of transactions as JSON values, their tables packed as columns."""

import base64
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from model_tests.audit.coordinator_log_history import CoordinatorHistory, CoordinatorTransaction, HeldProducerId
from model_tests.audit.transactions_summary import (
    MARKER_FIELDS,
    RUN_FIELDS,
    AuditedMarker,
    DataRun,
    PartitionTransactions,
    TransactionEvidence,
)


def plain_reported(reported: TransactionEvidence) -> dict[str, object]:
    """A log's evidence of transactions, as plain values."""
    here = reported.here
    plain = {name: getattr(here, name) for name in PartitionTransactions.__dataclass_fields__}
    plain["runs"] = packed(here.runs, RUN_FIELDS)
    plain["markers"] = packed(here.markers, MARKER_FIELDS)
    return {"here": plain, "coordinated": _plain_history(reported.coordinated) if reported.coordinated else None}


def reported_of(plain: dict[str, Any]) -> TransactionEvidence:
    """The same again."""
    here = plain["here"]
    here["runs"] = tuple(DataRun(*row) for row in unpacked(here["runs"], RUN_FIELDS))
    here["markers"] = tuple(AuditedMarker(*row) for row in unpacked(here["markers"], MARKER_FIELDS))
    for name in ("unreadable", "leader_changes", "gone"):
        here[name] = tuple(here[name])
    return TransactionEvidence(
        PartitionTransactions(**here), _history(plain["coordinated"]) if plain["coordinated"] else None
    )


def packed(rows: Sequence[object], names: Iterable[str]) -> str:
    """Integers of flat records, column by column, compressed."""
    columns = np.array([[getattr(row, name) for row in rows] for name in names], "<i8")
    return base64.b64encode(zlib.compress(columns.tobytes(), 1)).decode()


def unpacked(text: str, names: Sequence[str]) -> list[list[int]]:
    """The rows again."""
    content = zlib.decompress(base64.b64decode(text))
    rows: list[list[int]] = np.frombuffer(content, "<i8").reshape(len(names), -1).T.tolist()
    return rows


def _plain_history(known: CoordinatorHistory) -> dict[str, object]:
    transactions = [{**asdict(one), "partitions": sorted(one.partitions)} for one in known.transactions]
    return {
        "partition": known.partition,
        "whole": known.whole,
        "ids": list(known.ids),
        "identities": [asdict(one) for one in known.identities],
        "transactions": transactions,
        "judged": known.judged,
        "known_until_ms": known.known_until_ms,
    }


def _history(plain: dict[str, Any]) -> CoordinatorHistory:
    transactions = [
        CoordinatorTransaction(
            **{**one, "partitions": frozenset((topic, number) for topic, number in one["partitions"])}
        )
        for one in plain["transactions"]
    ]
    identities = tuple(HeldProducerId(**one) for one in plain["identities"])
    return CoordinatorHistory(
        plain["partition"],
        plain["whole"],
        tuple(plain["ids"]),
        identities,
        tuple(transactions),
        plain["judged"],
        plain["known_until_ms"],
    )
