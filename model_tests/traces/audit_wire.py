"""Verdicts as JSON, between the processes that judge and the one that reports."""

import json
from dataclasses import asdict, fields
from typing import Any, Final

from model_tests.traces.audit_findings import Finding, Offsets, OpenTransaction, Severity, Verdict
from model_tests.traces.audit_history_log import Tally
from model_tests.traces.audit_transactions_wire import packed, plain_told, told_of, unpacked
from model_tests.traces.kafka_log_segment import Damage
from spec.rules import RULES

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
            "findings": [_plain(finding) for finding in verdict.findings],
            "damage": [asdict(one) for one in damage],
            "tallies": packed(verdict.tallies, TALLY_FIELDS),
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
    plain["findings"] = tuple(_finding(one) for one in plain["findings"])
    return Verdict(**plain), damage


def _plain(finding: Finding) -> dict[str, object]:
    fields = ("offset", "producer_id", "producer_epoch", "message", "guard", "transactional_id", "step", "remedy")
    return {
        "rule": finding.rule.id,
        "severity": finding.severity.value,
        **{name: getattr(finding, name) for name in fields},
    }


def _finding(plain: dict[str, Any]) -> Finding:
    rule, severity = RULES[plain.pop("rule")], Severity(plain.pop("severity"))
    return Finding(rule=rule, severity=severity, **plain)
