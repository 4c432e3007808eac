"""Findings beside a loose marker that may be the missing one, which no log of a test shows."""

from dataclasses import replace
from typing import Final

from model_tests.audit.findings import Finding
from model_tests.audit.marker_repairs import diagnose_markers
from model_tests.audit.transactions_join import Gap, JoinedTransaction, LogIndex, MarkedData
from model_tests.audit.transactions_judge import JudgedTransaction, TransactionStatus
from model_tests.audit.transactions_summary import AuditedMarker
from model_tests.histories.severity import Severity
from model_tests.unit.support.judged_transactions import KNOWN, RUN, WHOLE
from spec import rules
from spec.rules import Rule
from spec.vocabulary import Api, ControlType

HERE: Final = LogIndex(0, "a", 0, WHOLE)
GAP: Final = Gap(HERE, after=10, before=20, first=False, last=False, runs=(RUN,))
OWN, OTHER = KNOWN.producer_id, 9
MARKER: Final = AuditedMarker(OTHER, KNOWN.marker_epoch, 15, ControlType.COMMIT.value, 0, 0, 25)
"""As the missing one, but under another producer id."""


def finding(rule: Rule, offset: int, producer: int) -> Finding:
    """One finding about a marker or data."""
    return Finding(rule, Severity.VIOLATION, offset, producer, 0, f"{rule.id} of {producer} at {offset}")


LACKING: Final = replace(finding(rules.TXN_MARKER_ONCE, 12, OWN), step=Api.WRITE_TXN_MARKERS, until=20)
ORPHAN: Final = finding(rules.TXN_REGISTERED_BEFORE_DATA, 15, OTHER)


def repaired(lacking: Finding, marker: MarkedData, *found: Finding) -> tuple[Finding, list[Finding]]:
    """The finding that a marker is missing, or its cause; and what is left of those about the loose marker."""
    joined = JoinedTransaction(KNOWN, gaps=[GAP])
    unmarked = ((GAP, (HERE, lacking)),)
    transaction = JudgedTransaction(joined, TransactionStatus.HANGING, ((HERE, lacking),), (), unmarked)

    (judged,), left = diagnose_markers([transaction], [marker], [(HERE, one) for one in found])

    ((_, cause),) = judged.findings
    return cause, [one for _, one in left]


def test_a_marker_that_an_election_took_is_no_other_one() -> None:
    """It is known why it is missing."""
    known = replace(LACKING, severity=Severity.KNOWN)

    assert repaired(known, MarkedData(HERE, MARKER, ()), ORPHAN) == (known, [ORPHAN])


def test_a_finding_of_a_third_producer_is_none_about_the_marker() -> None:
    """Also at its offset."""
    third = replace(ORPHAN, producer_id=8)

    assert repaired(LACKING, MarkedData(HERE, MARKER, ()), third) == (LACKING, [third])


def test_a_marker_behind_later_ones_explains_nothing_about_data_before_it() -> None:
    """The data has its own fault."""
    moved, data = replace(MARKER, producer_id=OWN, offset=25), finding(rules.SEQ_FIRST, 23, OWN)
    run = replace(RUN, first_offset=23)

    cause, left = repaired(LACKING, MarkedData(HERE, moved, (run,)), data, finding(rules.TXN_MARKER_ONCE, 25, OWN))

    assert (cause.offset, [one.message for one in cause.consequences]) == (25, [LACKING.message])
    assert left == [data]
