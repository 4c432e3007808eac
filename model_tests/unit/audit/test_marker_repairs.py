"""Which loose marker is the one that a transaction lacks: one transaction without its marker at offsets 10 to 20."""

from dataclasses import dataclass, replace
from typing import Final

import pytest

from model_tests.audit.findings import Finding
from model_tests.audit.marker_repairs import diagnose_markers
from model_tests.audit.transactions_join import Gap, JoinedTransaction, LogIndex, MarkedData
from model_tests.audit.transactions_judge import JudgedTransaction, TransactionStatus
from model_tests.audit.transactions_summary import AuditedMarker, DataRun
from model_tests.histories.severity import Severity
from model_tests.unit.support.judged_transactions import KNOWN, RUN, WHOLE
from spec import rules
from spec.rules import Rule
from spec.vocabulary import Api, ControlType

HERE: Final = LogIndex(0, "a", 0, WHOLE)
ELSEWHERE: Final = LogIndex(1, "a", 0, WHOLE)
GAP: Final = Gap(HERE, after=10, before=20, first=False, last=False, runs=(RUN,))
OWN, OTHER = KNOWN.producer_id, 9
MARKER: Final = AuditedMarker(OTHER, KNOWN.marker_epoch, 15, ControlType.COMMIT.value, 0, 0, 25)
"""As the missing one, but under another producer id."""


def finding(rule: Rule, offset: int, producer: int, severity: Severity = Severity.VIOLATION) -> Finding:
    """One finding about a marker or data."""
    return Finding(rule, severity, offset, producer, 0, f"{rule.id} of {producer} at {offset}")


LACKING: Final = replace(finding(rules.TXN_MARKER_ONCE, 12, OWN), step=Api.WRITE_TXN_MARKERS, until=20)
ORPHAN: Final = finding(rules.TXN_REGISTERED_BEFORE_DATA, 15, OTHER)


@dataclass(frozen=True, slots=True)
class RepairCase:
    """A loose marker, and what was found besides the missing marker.

    Attributes:
        found: about the loose marker, in the log that lacks one.
        elsewhere: in another log.
        explained: messages of the findings that have one cause with the missing marker.
        at: offset of the cause.
        runs: data that the loose marker ends.
        place: of the loose marker.
        severity: of the finding that a marker is missing.
    """

    name: str
    marker: AuditedMarker = MARKER
    found: tuple[Finding, ...] = (ORPHAN,)
    elsewhere: tuple[Finding, ...] = ()
    explained: tuple[str, ...] = ()
    at: int = 12
    runs: tuple[DataRun, ...] = ()
    place: LogIndex = HERE
    severity: Severity = Severity.VIOLATION

    def __str__(self) -> str:
        return self.name


MOVED: Final = replace(MARKER, producer_id=OWN, offset=25)
MISPLACED: Final = finding(rules.TXN_MARKER_ONCE, 25, OWN)
DATA: Final = DataRun(OTHER, 0, 13, 14, 2, 20, 21, 0, 20)

BOTH: Final = (LACKING.message, ORPHAN.message)
CASES: Final = (
    RepairCase("another id", explained=BOTH, at=15),
    RepairCase("another id at the last place", replace(MARKER, offset=20), (replace(ORPHAN, offset=20),), (), BOTH, 20),
    RepairCase("another id at the marker before", replace(MARKER, offset=10), (replace(ORPHAN, offset=10),)),
    RepairCase("another id behind the gap", replace(MARKER, offset=21), (replace(ORPHAN, offset=21),)),
    RepairCase("another id and outcome", replace(MARKER, outcome=ControlType.ABORT.value)),
    RepairCase("another id and epoch", replace(MARKER, producer_epoch=3)),
    RepairCase("another log", place=ELSEWHERE, found=(), elsewhere=(ORPHAN,)),
    RepairCase("another log, and a finding at the same offset here", place=ELSEWHERE),
    RepairCase("a finding in another log", found=(), elsewhere=(ORPHAN,)),
    RepairCase("the same finding in another log, too", elsewhere=(ORPHAN,), explained=BOTH, at=15),
    RepairCase("another id, by a clock ahead", replace(MARKER, timestamp=1_030), explained=BOTH, at=15),
    RepairCase("another id, a day later", replace(MARKER, timestamp=86_400_030)),
    RepairCase("nothing is found of the marker", found=()),
    RepairCase("a finding of a third producer", found=(replace(ORPHAN, producer_id=8),)),
    RepairCase("a finding at another offset", found=(replace(ORPHAN, offset=14),)),
    RepairCase("the marker may be lost", severity=Severity.KNOWN),
    RepairCase(
        "another id, with findings about marker and data",
        found=(ORPHAN, finding(rules.SEQ_FIRST, 13, OTHER)),
        explained=(*BOTH, f"{rules.SEQ_FIRST.id} of {OTHER} at 13"),
        at=15,
        runs=(DATA,),
    ),
    RepairCase("behind later markers", MOVED, (MISPLACED,), (), (LACKING.message,), 25),
    RepairCase(
        "behind later markers, with a finding about the data before it",
        MOVED,
        (finding(rules.SEQ_FIRST, 23, OWN), MISPLACED),
        explained=(LACKING.message,),
        at=25,
        runs=(replace(DATA, producer_id=OWN, first_offset=23),),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_loose_marker_may_be_the_missing_one(case: RepairCase) -> None:
    """The missing marker and the loose one are one finding then; all else is left as it is."""
    lacking = replace(LACKING, severity=case.severity)
    joined = JoinedTransaction(KNOWN, gaps=[GAP])
    transaction = JudgedTransaction(
        joined, TransactionStatus.HANGING, ((HERE, lacking),), (), ((GAP, (HERE, lacking)),)
    )
    given = [*((HERE, one) for one in case.found), *((ELSEWHERE, one) for one in case.elsewhere)]

    (judged,), left = diagnose_markers([transaction], [MarkedData(case.place, case.marker, case.runs)], given)

    ((place, cause),) = judged.findings
    assert (place.log, cause.offset) == (HERE.log, case.at)
    assert cause.producer_id == (case.marker.producer_id if case.explained else OWN)
    assert sorted(one.message for one in cause.consequences) == sorted(case.explained)
    gone = {*case.explained, cause.message}
    assert [one for _, one in left] == [*(one for one in case.found if one.message not in gone), *case.elsewhere]
