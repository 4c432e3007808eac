"""Decisions on markers and data without a transaction: what they are, and which rule is broken."""

from dataclasses import replace

import pytest

from spec.judging.judge import RuleCheck
from spec.judging.judge_orphans import (
    MixedKind,
    OrphanData,
    OrphanDoubt,
    OrphanKind,
    OrphanMarker,
    RaisedEpoch,
    is_by_hand,
    judge_against_complete,
    judge_coordinator_epoch,
    judge_mixed_epochs,
    judge_orphan_data,
    judge_orphan_marker,
    judge_raised_epoch,
    mixed_kind,
    orphan_doubt,
    orphan_kind,
)
from spec.vocabulary import ABSENT, ControlType

ABORT, COMMIT = ControlType.ABORT.value, ControlType.COMMIT.value
KNOWN = OrphanMarker(COMMIT, timestamp=100, has_transactions=True, whole=True, known_until_ms=100)
NEVER = replace(KNOWN, has_transactions=False, may_be_unknown=True)


def broken(*checks: RuleCheck) -> list[str]:
    """The rules that are at stake and do not hold."""
    return [check.rule.id for check in checks if check.at_stake and not check.holds]


@pytest.mark.parametrize(
    ("marker", "kind"),
    [
        (KNOWN, OrphanKind.UNREQUESTED),
        (replace(KNOWN, hidden=True), OrphanKind.UNDECIDED),
        (NEVER, OrphanKind.OF_NO_TRANSACTION),
        (replace(NEVER, hidden=True), OrphanKind.UNDECIDED),
        (replace(NEVER, whole=False), OrphanKind.UNDECIDED),
        (replace(NEVER, timestamp=101), OrphanKind.UNDECIDED),
        (replace(KNOWN, timestamp=101), OrphanKind.UNDECIDED),
        (replace(KNOWN, timestamp=101, during=True), OrphanKind.UNDECIDED),
        (replace(KNOWN, timestamp=101, during=True, during_completed=True), OrphanKind.UNREQUESTED),
        (replace(KNOWN, timestamp=101, during_completed=True), OrphanKind.UNDECIDED),
        (replace(KNOWN, later_unread=True), OrphanKind.UNDECIDED),
        (replace(KNOWN, may_be_unknown=True), OrphanKind.UNDECIDED),
        (replace(KNOWN, may_be_unknown=True, during=True), OrphanKind.UNDECIDED),
        (replace(KNOWN, may_be_unknown=True, during=True, during_completed=True), OrphanKind.UNREQUESTED),
        (replace(KNOWN, misplaced=True, owned=True), OrphanKind.MISPLACED),
        (replace(KNOWN, owned=True), OrphanKind.FOREIGN),
        (replace(KNOWN, owned=True, outcome=ABORT), OrphanKind.UNREQUESTED),
        (replace(KNOWN, owned=True, outcome=ABORT, during=True), OrphanKind.FOREIGN),
        (replace(KNOWN, owned=True, outcome=ABORT, copied=True), OrphanKind.FOREIGN),
        (replace(KNOWN, copied=True, during=True), OrphanKind.UNREQUESTED),
    ],
)
def test_what_a_marker_without_a_transaction_is(marker: OrphanMarker, kind: OrphanKind) -> None:
    """By what its coordinator's log has around its time."""
    assert orphan_kind(marker) == kind.value
    assert bool(broken(*judge_orphan_marker(marker))) is (kind is not OrphanKind.UNDECIDED)


@pytest.mark.parametrize(
    ("marker", "rule"),
    [
        (KNOWN, "txn.marker_once"),
        (replace(KNOWN, has_data=True), "txn.registered_before_data"),
        (replace(KNOWN, has_data=True, offsets=True), "offsets.atomic"),
        (replace(KNOWN, offsets=True), "txn.marker_once"),
        (replace(KNOWN, has_data=True, offsets=True, outcome=ABORT), "txn.registered_before_data"),
        (replace(KNOWN, has_data=True, offsets=True, outcome=ABORT, during=True), "offsets.atomic"),
        (replace(NEVER, has_data=True, offsets=True), "txn.registered_before_data"),
        (replace(NEVER, offsets=True), "txn.marker_once"),
        (replace(KNOWN, misplaced=True, has_data=True, offsets=True), "txn.marker_once"),
        (replace(KNOWN, owned=True, has_data=True, offsets=True), "txn.marker_once"),
    ],
)
def test_the_rule_that_it_breaks(marker: OrphanMarker, rule: str) -> None:
    """Data that nothing registered, consumed offsets among it; else the marker itself."""
    assert broken(*judge_orphan_marker(marker)) == [rule]


def test_an_operator_aborts_while_nothing_is_to_be_ended() -> None:
    """A commit is never an operator's."""
    aborts = replace(KNOWN, outcome=ABORT)

    assert [is_by_hand(one) for one in (aborts, replace(aborts, during=True), KNOWN)] == [True, False, False]


@pytest.mark.parametrize(
    ("data", "doubt"),
    [
        (OrphanData(100, known_until_ms=100), OrphanDoubt.NONE),
        (OrphanData(101, known_until_ms=100), OrphanDoubt.REGISTERED_LATER),
        (OrphanData(101, known_until_ms=100, copied_earlier=True), OrphanDoubt.MARKED_LATER),
        (OrphanData(100, known_until_ms=100, end_lost=True, copied_earlier=True), OrphanDoubt.UNKNOWN),
        (OrphanData(100, known_until_ms=100, later_unread=True), OrphanDoubt.UNKNOWN),
        (OrphanData(100, known_until_ms=100, newest_in_doubt=True), OrphanDoubt.UNKNOWN),
    ],
)
def test_what_may_explain_data_without_a_marker(data: OrphanData, doubt: OrphanDoubt) -> None:
    """Without a doubt it hangs; of consumed offsets it is their rule."""
    sure = doubt is OrphanDoubt.NONE

    assert orphan_doubt(data) == doubt.value
    assert broken(*judge_orphan_data(data)) == (["txn.registered_before_data"] if sure else [])
    assert broken(*judge_orphan_data(replace(data, offsets=True))) == (["offsets.atomic"] if sure else [])


@pytest.mark.parametrize(
    ("raised", "commits", "aborts", "rules"),
    [
        (True, 1, 1, ["txn.atomic"]),
        (False, 1, 1, []),
        (True, 2, 0, []),
        (True, 1, 0, []),
        (True, 0, 2, []),
        (True, 0, 1, []),
    ],
)
def test_a_raised_epoch_has_one_outcome(raised: bool, commits: int, aborts: int, rules: list[str]) -> None:
    """As it was raised for one transaction."""
    assert broken(judge_raised_epoch(RaisedEpoch(raised, commits, aborts))) == rules


@pytest.mark.parametrize(
    ("outcome", "completed", "hidden", "rules"),
    [
        (ABORT, COMMIT, False, ["txn.one_outcome"]),
        (COMMIT, ABORT, False, ["txn.one_outcome"]),
        (COMMIT, COMMIT, False, []),
        (COMMIT, ABORT, True, []),
        (COMMIT, ABSENT, False, []),
    ],
)
def test_a_marker_against_the_complete_record(outcome: int, completed: int, hidden: bool, rules: list[str]) -> None:
    """Where there is one of its epoch, and no other marker may be lost."""
    assert broken(judge_against_complete(outcome, completed, hidden)) == rules


UNMARKED, EARLIER, LATER = MixedKind.UNMARKED, MixedKind.EARLIER_UNREGISTERED, MixedKind.LATER_UNREGISTERED


@pytest.mark.parametrize(
    ("last", "marker", "version", "registered", "kind", "rule"),
    [
        (2, 3, ABSENT, True, UNMARKED, "txn.marker_once"),
        (2, 2, ABSENT, True, LATER, "txn.registered_before_data"),
        (2, 3, 2, True, UNMARKED, "txn.marker_once"),
        (2, 3, 2, False, EARLIER, "txn.registered_before_data"),
        (2, 3, 1, False, UNMARKED, "txn.marker_once"),
        (2, 2, 2, False, LATER, "txn.registered_before_data"),
    ],
)
def test_data_of_two_epochs_before_one_marker(
    last: int, marker: int, version: int, registered: bool, kind: MixedKind, rule: str
) -> None:
    """The first one's marker is missing, or the data of one of the two is not registered."""
    assert mixed_kind(last, marker, version, registered) == kind.value
    for first, hidden, found in ((1, False, [rule]), (1, True, []), (2, False, []), (3, False, [])):
        assert broken(*judge_mixed_epochs(first, last, marker, hidden, version, registered)) == found


@pytest.mark.parametrize(
    ("epoch", "led", "at_ms", "holds"),
    [
        (5, 1, 200, True),
        (5, 0, 200, False),
        (8, ABSENT, 100, False),
        (8, ABSENT, 101, True),
        (7, ABSENT, 100, True),
        (2, ABSENT, 100, True),
    ],
)
def test_a_coordinator_epoch_had_a_leader(epoch: int, led: int, at_ms: int, holds: bool) -> None:
    """One above all that are known may have come after the controller's log was copied."""
    rules = broken(judge_coordinator_epoch(epoch, led, newest=7, at_ms=at_ms, known_ms=100))

    assert rules == ([] if holds else ["fence.coordinator_epoch"])
