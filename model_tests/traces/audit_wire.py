"""Verdicts as JSON, between the processes that judge and the one that reports."""

import json
from dataclasses import asdict, fields
from typing import Any, Final

from model_tests.traces.audit_cluster_wire import finding_of, plain_finding, plain_side, side_of
from model_tests.traces.audit_findings import Offsets, OpenTransaction, Verdict
from model_tests.traces.audit_history_log import Tally
from model_tests.traces.audit_transactions_wire import packed, plain_told, told_of, unpacked
from model_tests.traces.kafka_log_segment import Damage

TALLY_FIELDS: Final = tuple(part.name for part in fields(Tally))


def encode(verdict: Verdict, damage: list[Damage]) -> str:
    """A partition's verdict and damage as text."""
    plain = {name: getattr(verdict, name) for name in ("batches", "records", "visible_records", "producers")}
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
            "told": plain_told(verdict.told) if verdict.told is not None else None,
        }
    )


def decode(text: str) -> tuple[Verdict, list[Damage]]:
    """The verdict and the damage again."""
    plain: dict[str, Any] = json.loads(text)
    damage = [Damage(**one) for one in plain.pop("damage")]
    plain["offsets"] = Offsets(**plain["offsets"])
    plain["open_transactions"] = tuple(OpenTransaction(**one) for one in plain["open_transactions"])
    plain["tallies"] = tuple(Tally(*row) for row in unpacked(plain["tallies"], TALLY_FIELDS))
    plain["told"] = told_of(plain["told"]) if plain["told"] is not None else None
    plain["cluster"] = side_of(plain["cluster"]) if plain["cluster"] is not None else None
    plain["findings"] = tuple(finding_of(one) for one in plain["findings"])
    return Verdict(**plain), damage
