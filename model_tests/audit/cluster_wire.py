"""A log's evidence of the cluster as JSON values."""

from dataclasses import asdict, fields
from typing import Any

from model_tests.audit.controller_log_history import ControllerHistory, LeaderEpochEntry, PartitionLeaders
from model_tests.audit.findings import Finding
from model_tests.audit.group_log import GroupOffset, LostOffset, PartitionGroupOffsets, Pending
from model_tests.audit.replica import ClusterSide, ReplicaSummary
from model_tests.histories.severity import Severity
from model_tests.logs.controller_log import UnreadRecords
from spec.rules import RULES


def plain_side(side: ClusterSide) -> dict[str, object]:
    """The values."""
    history = side.controller
    return {
        "replica": asdict(side.replica) if side.replica is not None else None,
        "controller": _plain_history(history) if history is not None else None,
        "groups": asdict(side.groups) if side.groups is not None else None,
    }


def side_of(plain: dict[str, Any]) -> ClusterSide:
    """The same again."""
    replica, history, groups = plain["replica"], plain["controller"], plain["groups"]
    return ClusterSide(
        _replica(replica) if replica is not None else None,
        _history(history) if history is not None else None,
        _groups(groups) if groups is not None else None,
    )


def plain_finding(finding: Finding) -> dict[str, object]:
    """A finding as values."""
    named = {part.name: getattr(finding, part.name) for part in fields(Finding)}
    return named | {"rule": finding.rule.id, "severity": finding.severity.value}


def finding_of(plain: dict[str, Any]) -> Finding:
    """The finding again."""
    values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in plain.items()}
    values |= {"rule": RULES[plain["rule"]], "severity": Severity(plain["severity"])}
    return Finding(**values)


def _plain_history(history: ControllerHistory) -> dict[str, object]:
    plain = {part.name: getattr(history, part.name) for part in fields(ControllerHistory)}
    return plain | {
        "partitions": [asdict(one) for one in history.partitions],
        "unread": [asdict(one) for one in history.unread],
        "findings": [plain_finding(one) for one in history.findings],
    }


def _replica(plain: dict[str, Any]) -> ReplicaSummary:
    epochs = tuple((epoch, offset, count) for epoch, offset, count in plain["epochs"])
    noted = tuple((epoch, offset) for epoch, offset in plain["noted"])
    return ReplicaSummary(**{**plain, "blocks": tuple(plain["blocks"]), "epochs": epochs, "noted": noted})


def _history(plain: dict[str, Any]) -> ControllerHistory:
    partitions = tuple(_partition(one) for one in plain["partitions"])
    unread = tuple(UnreadRecords(**one) for one in plain["unread"])
    findings = tuple(finding_of(one) for one in plain["findings"])
    return ControllerHistory(**{**plain, "partitions": partitions, "unread": unread, "findings": findings})


def _groups(plain: dict[str, Any]) -> PartitionGroupOffsets:
    offsets = (
        GroupOffset(**{**one, "pending": tuple(Pending(**waiting) for waiting in one["pending"])})
        for one in plain["offsets"]
    )
    return PartitionGroupOffsets(
        **{**plain, "offsets": tuple(offsets), "lost": tuple(LostOffset(**one) for one in plain["lost"])}
    )


def _partition(plain: dict[str, Any]) -> PartitionLeaders:
    leaderships = tuple(LeaderEpochEntry(**{**one, "in_sync": tuple(one["in_sync"])}) for one in plain["leaderships"])
    lists = {name: tuple(plain[name]) for name in ("replicas", "in_sync")}
    return PartitionLeaders(**{**plain, **lists, "leaderships": leaderships})
