"""Verdicts as JSON, between the processes that judge and the one that reports."""

import json
import pickle
import zlib
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, Final

from model_tests.audit.cluster_wire import finding_of, plain_finding, plain_side, side_of
from model_tests.audit.findings import LogBounds, OpenTransaction
from model_tests.audit.history_log import AttemptTally
from model_tests.audit.partition_verdict import PartitionVerdict
from model_tests.audit.reading import PartialLog
from model_tests.audit.reread import RereadRequest
from model_tests.audit.transactions_wire import packed, plain_reported, reported_of, unpacked
from model_tests.logs.kafka_log_segment import SegmentDamage

TALLY_FIELDS: Final = tuple(part.name for part in fields(AttemptTally))


def encode(verdict: PartitionVerdict, damage: list[SegmentDamage]) -> str:
    """A partition's verdict and damage as text."""
    plain = {
        name: getattr(verdict, name)
        for name in ("batches", "records", "visible_records", "waiting_records", "producers")
    }
    plain |= {"judged": dict(verdict.judged), "unjudged": verdict.unjudged, "cleaned": verdict.cleaned}
    return json.dumps(
        {
            **plain,
            "offsets": asdict(verdict.offsets),
            "open_transactions": [asdict(one) for one in verdict.open_transactions],
            "findings": [plain_finding(finding) for finding in verdict.findings],
            "damage": [asdict(one) for one in damage],
            "tallies": packed(verdict.tallies, TALLY_FIELDS),
            "cluster": plain_side(verdict.cluster) if verdict.cluster is not None else None,
            "reported": plain_reported(verdict.reported) if verdict.reported is not None else None,
        }
    )


def decode(text: str) -> tuple[PartitionVerdict, list[SegmentDamage]]:
    """The verdict and the damage again."""
    plain: dict[str, Any] = json.loads(text)
    damage = [SegmentDamage(**one) for one in plain.pop("damage")]
    plain["offsets"] = LogBounds(**plain["offsets"])
    plain["open_transactions"] = tuple(OpenTransaction(**one) for one in plain["open_transactions"])
    plain["tallies"] = tuple(AttemptTally(*row) for row in unpacked(plain["tallies"], TALLY_FIELDS))
    plain["reported"] = reported_of(plain["reported"]) if plain["reported"] is not None else None
    plain["cluster"] = side_of(plain["cluster"]) if plain["cluster"] is not None else None
    plain["findings"] = tuple(finding_of(one) for one in plain["findings"])
    return PartitionVerdict(**plain), damage


def packed_part(part: PartialLog) -> bytes:
    """What is left of some segments, on its way from the task that read them."""
    return zlib.compress(pickle.dumps(part, pickle.HIGHEST_PROTOCOL), 1)


def unpacked_part(content: bytes) -> PartialLog:
    """The same again."""
    part: PartialLog = pickle.loads(zlib.decompress(content))  # from our own task, over Spark
    return part


def plain_asked(asked: Mapping[int, RereadRequest]) -> str:
    """What must be read again of each log, by its number, as text."""
    plain = {number: (one.producers, one.places, one.segments) for number, one in asked.items()}
    return json.dumps({number: [sorted(each) for each in one] for number, one in plain.items()})


def asked_of(text: str) -> dict[int, RereadRequest]:
    """The same again."""
    plain: dict[str, list[list[int]]] = json.loads(text)
    return {int(number): RereadRequest(*map(set, one)) for number, one in plain.items()}
