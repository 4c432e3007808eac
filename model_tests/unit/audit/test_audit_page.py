import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from model_tests.audit.findings import Finding, LogBounds
from model_tests.audit.history_command import run as reported
from model_tests.audit.options import AuditOptions
from model_tests.audit.page import page, write_page
from model_tests.audit.recorded import DEFECTS
from model_tests.audit.report import AuditReport
from model_tests.audit.run import run
from model_tests.audit.story import story
from model_tests.audit.timeline import COLUMNS, TransactionFate, svg_of_timeline, timeline
from model_tests.audit.transactions_summary import AuditedMarker, DataRun, PartitionTransactions
from model_tests.common.reports import BadInput
from model_tests.histories.anomalies import MEANINGS, Anomaly, AnomalyKind
from model_tests.histories.report import ClassReport, ClientsReport
from model_tests.histories.severity import Severity
from model_tests.unit.source_files import ROOT
from spec import rules
from spec.vocabulary import ControlType

HERE = PartitionTransactions(
    runs=(
        DataRun(7, 1, 100, 149, 40, 5, 6, 0, 5),
        DataRun(7, 1, 151, 199, 30, 8, 9, 1, 8),
        DataRun(8, 0, 300, 399, 9, 9, 9, -1, 9),
    ),
    markers=(
        AuditedMarker(7, 1, 150, ControlType.COMMIT.value, 3, 0, 7),
        AuditedMarker(7, 1, 200, ControlType.ABORT.value, 3, 0, 10),
    ),
)
AT = LogBounds(log_start=100, last_stable=300, high_watermark=400, log_end=400)


def finding(offset: int, severity: Severity = Severity.VIOLATION, producer: int = 7) -> Finding:
    return Finding(rules.SEQ_SUCCESSOR, severity, offset, producer, 1, "base sequence 5 after 3 <b>", "out_of_order")


class Outside(HTMLParser):
    """Collects everything that a browser would fetch, and the elements that are left open."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.stack: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.fetched += [str(value) for name, value in attrs if name in ("src", "href", "srcset", "data")]
        if tag not in ("meta", "br"):
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag


def test_a_line_shows_the_fates_of_data_where_it_lies() -> None:
    """100 of 300 offsets are a third of the columns; what is not there has none."""
    line = timeline(
        "orders-0", AT, HERE, [finding(151), finding(152, Severity.KNOWN), finding(399, Severity.UNDECIDED)]
    )

    assert line.spans == {
        TransactionFate.COMMITTED: ((0, COLUMNS * 50 // 300 - 1),),
        TransactionFate.ABORTED: ((COLUMNS * 51 // 300, COLUMNS * 100 // 300 - 1),),
        TransactionFate.OPEN: ((COLUMNS * 200 // 300, COLUMNS - 1),),
    }
    assert line.markers == (COLUMNS * 50 // 300, COLUMNS * 100 // 300)
    assert [severity for _, severity in line.found] == [Severity.VIOLATION, Severity.KNOWN, Severity.UNDECIDED]


def test_the_worst_finding_of_a_place_is_shown() -> None:
    """Several may share a column."""
    crowded = LogBounds(0, 10**9, 10**9, 10**9)

    line = timeline("orders-0", crowded, HERE, [finding(5, Severity.UNDECIDED), finding(6), finding(7, Severity.KNOWN)])

    assert line.found == ((0, Severity.VIOLATION),)


def test_a_line_is_drawn_for_who_reads_it_aloud_and_for_an_empty_log() -> None:
    """A title with the offsets; an empty log has a line, too."""
    drawn = svg_of_timeline(timeline("a<b-0", AT, HERE, []))
    empty = svg_of_timeline(timeline("none-0", LogBounds(0, 0, 0, 0), PartitionTransactions(), []))

    assert "<title>a&lt;b-0: offsets 100 to 400, last stable offset 300</title>" in drawn
    assert "LSO 300" in drawn
    assert empty.count("<rect") == 4


def test_a_story_reports_what_the_producer_did_around_the_finding() -> None:
    """Data and markers of its producer, in the order of the log, and of no other."""
    reported = story(finding(151), "orders-0", HERE, ())

    assert reported is not None
    assert reported.participants == ("producer 7", "orders-0", "coordinator")
    texts = [getattr(event, "text", "") for (event,) in reported.steps]
    assert texts == [
        "epoch 1: offsets 100 to 149, 40 records",
        "COMMIT at 150, epoch 1, coordinator epoch 3",
        "epoch 1: offsets 151 to 199, 30 records",
        "ABORT at 200, epoch 1, coordinator epoch 3",
    ]


@pytest.mark.parametrize("producer", [-1, 99])
def test_a_finding_without_a_producer_has_no_story(producer: int) -> None:
    """A finding about an index; a producer of which the log has no transaction."""
    assert story(finding(151, producer=producer), "orders-0", HERE, ()) is None


@pytest.fixture(scope="module")
def torn(recordings: Path) -> AuditReport:
    """The audit of a torn transaction."""
    return run([recordings / DEFECTS / "v-torn"], pictured=True)


def test_the_page_needs_nothing_from_outside(torn: AuditReport) -> None:
    """Well-formed, no address but the name of SVG, every name of an element once."""
    text = page(torn)

    outside = Outside()
    outside.feed(text)
    assert (outside.fetched, outside.stack) == ([], [])
    assert set(re.findall(r"https?://[^\"' <]+", text)) <= {"http://www.w3.org/2000/svg"}
    names = re.findall(r' id="([^"]+)"', text)
    assert len(names) == len(set(names))


def test_the_page_reports_what_an_operator_needs(torn: AuditReport) -> None:
    """The rule, where, the cause, the step, what to do, the transaction's story, and a line for each partition."""
    text = page(torn)

    (one, found) = torn.findings[0]
    for output in (found.rule.id, f"{one.topic}-{one.partition}", str(found.offset), found.step, "What to do"):
        assert output in text
    assert "Prepare: COMMIT is decided" in text
    assert text.count('<svg class="timeline"') == sum(bool(torn.here[each.path]) for each in torn.audited) > 0


def test_what_logs_say_is_not_taken_for_html(torn: AuditReport) -> None:
    """A transactional id may be anything."""
    one = torn.audited[0]
    report = AuditReport(
        audited=(replace(one, verdict=replace(one.verdict, findings=(finding(5),))),),
        damage=(),
        ignored=(),
        assumed=(),
        seconds=1.0,
        here={one.path: HERE},
    )

    text = page(report)

    assert "after 3 <b>" not in text
    assert text.count("after 3 &lt;b&gt;") >= 2  # in words, and under its story


def test_a_page_that_cannot_be_written_is_one_clear_line(torn: AuditReport, tmp_path: Path) -> None:
    """The folder is not there."""
    with pytest.raises(BadInput, match=r"nowhere.*cannot be written: No such file"):
        write_page(torn, tmp_path / "nowhere" / "page.html")


HISTORIES = sorted(
    path for path in (ROOT / "model_tests/unit/histories/histories").glob("*.edn") if ".clean" not in path.name
)


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
def test_what_clients_were_reported_has_its_story(path: Path) -> None:
    """Of each class the case, what it means, and who sent and was given what; no log is needed for it."""
    report = reported(AuditOptions(history=str(path), pictured=True))

    text = page(report)

    outside = Outside()
    outside.feed(text)
    assert (outside.fetched, outside.stack) == ([], [])
    names = re.findall(r' id="([^"]+)"', text)
    assert len(names) == len(set(names))
    cases = [case for one in report.clients.classes for case in one.cases]
    assert text.count("<svg xmlns") == len(cases) > 0
    for case in cases:
        assert f"<b>{case.kind}</b>" in text
        assert MEANINGS[case.kind].statement in text
    assert ("is violated" in text) is bool(report.clients.count(Severity.VIOLATION))


def test_the_story_of_a_torn_transaction_shows_who_read_on() -> None:
    """What was sent where, and who was given a part of it."""
    (path,) = (path for path in HISTORIES if path.stem == "torn-transaction")
    (one,) = (
        one
        for one in reported(AuditOptions(history=str(path), pictured=True)).clients.classes
        if one.kind is AnomalyKind.TORN
    )

    (drawn,) = one.stories

    assert drawn is not None
    texts = [getattr(event, "text", "") for step in drawn.steps for event in step]
    assert texts[:3] == [
        ":txn 3 sends 20, gets offset 1",
        ":txn 3 sends 10, gets offset 0",
        ":poll 9 is given 10 at offset 0",
    ]
    assert drawn.ending.label.startswith("txn.atomic is violated: ")


def test_only_violations_are_said_to_violate(torn: AuditReport) -> None:
    """The last line of a story names the rule, and what is not sure of it."""
    reported_of = story(finding(151, Severity.UNDECIDED), "orders-0", HERE, ())

    assert reported_of is not None
    assert reported_of.ending.label == "seq.successor, undecided: base sequence 5 after 3 <b>"


def test_cases_of_clients_lie_on_the_line_of_their_partition(torn: AuditReport) -> None:
    """Where the history names a partition whose log is here."""
    one = torn.audited[0]
    case = Anomaly(AnomalyKind.LOST_WRITE, Severity.VIOLATION, f"{one.topic}-{one.partition}", (0,), (), (), "gone")
    clean = replace(one, verdict=replace(one.verdict, findings=()))
    clients = ClientsReport(
        "h.edn", classes=(ClassReport(AnomalyKind.LOST_WRITE, 1, {Severity.VIOLATION: 1}, (case,)),)
    )

    without = page(replace(torn, audited=(clean,)))
    text = page(replace(torn, audited=(clean,), clients=clients))

    assert without.count('class="found violation"') == 0
    assert text.count('class="found violation"') == 1
