"""`eos audit --history` by itself and beside logs: which form a file has, what is refused, what is reported."""

import gzip
import json
import lzma
import random
from pathlib import Path
from typing import Any, Final

import pytest
from typer.testing import CliRunner

from model_tests.audit.history_command import run
from model_tests.audit.options import AuditOptions
from model_tests.audit.report import AuditReport
from model_tests.audit.run import run as run_audit
from model_tests.check.check import run as check
from model_tests.cli import app
from model_tests.common.reports import HOLDS, NOTHING_JUDGED, VIOLATED, BadInput
from model_tests.histories.anomalies import MEANINGS, AnomalyKind
from model_tests.histories.form import Form
from model_tests.histories.reading import form_of
from model_tests.traces.schema import read_ndjson
from model_tests.unit.docs.consoles import not_printed, output_of
from model_tests.unit.docs.extensions import DOCS
from model_tests.unit.source_files import ROOT
from model_tests.unit.support.audited_histories import HISTORIES, PRODUCED, both, consumed, moved, reported
from model_tests.unit.support.judged_transactions import begun


def audited(*arguments: str) -> tuple[int, str]:
    """Exit code and output of `eos audit`."""
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["audit", *arguments])
    return result.exit_code, result.output


def printed(path: Path, lines: list[dict[str, Any]]) -> Path:
    """What a program printed."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_clean_history_holds() -> None:
    """And the report has what was looked at."""
    code, output = audited("--history", str(HISTORIES / "lost-write.clean.edn"))

    assert code == HOLDS
    assert "3 records sent, 3 given: 0 violation" in output


def test_an_anomaly_is_reported_with_rule_operations_and_offsets(tmp_path: Path) -> None:
    """In the terminal and with --json."""
    code, output = audited("--history", str(HISTORIES / "lost-write.edn"), "--json", str(tmp_path / "report.json"))

    assert code == VIOLATED
    assert "repl.committed_survives" in output
    assert "value 11 at offset 1, sent by :send 3 of process 0, was given to no reader" in output
    clients = json.loads((tmp_path / "report.json").read_text())["clients"]
    assert [one["class"] for one in clients["classes"]] == [kind.value for kind in AnomalyKind]
    (case,) = next(one["cases"] for one in clients["classes"] if one["class"] == "lost-write")
    assert case["offsets"] == [1, 2]
    assert case["operations"][0] == {"index": 3, "process": "0", "name": ":send"}


def test_several_programs_are_one_history(tmp_path: Path) -> None:
    """Each file of a directory is what one of them printed."""
    printed(tmp_path / "producer.json", PRODUCED)
    printed(tmp_path / "consumer.json", [moved("assigned"), consumed(4, 0, 3)])

    report = run(AuditOptions(history=str(tmp_path)))

    assert report.clients.processes == 2
    assert report.exit_code == HOLDS


@pytest.mark.parametrize("ending", ["", ".gz", ".xz"])
def test_a_compressed_history_is_read(tmp_path: Path, ending: str) -> None:
    """As it is."""
    path, text = tmp_path / f"history.edn{ending}", (HISTORIES / "duplicate.edn").read_bytes()
    path.write_bytes({"": text, ".gz": gzip.compress(text), ".xz": lzma.compress(text)}[ending])

    assert form_of(str(path)) is Form.EDN
    assert run(AuditOptions(history=str(path))).exit_code == VIOLATED


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        ("hello\n", "no history that is known"),
        ('{"api": "Produce"}\n', "eos check judges them"),
        ('{"ev": "producer", "p": "a"}\n', "a journal, which has no readers"),
    ],
)
def test_what_is_no_history_is_refused_in_one_line(tmp_path: Path, content: str, reason: str) -> None:
    """With what is known instead."""
    (tmp_path / "file").write_text(content)

    code, output = audited("--history", str(tmp_path / "file"))

    assert code == NOTHING_JUDGED
    assert reason in " ".join(output.split())
    assert len(output.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "nothing to audit"),
        (("--history", "nowhere.edn"), "cannot be read"),
        (("--history", "x", "--history-format", "csv"), "--history-format is one of edn, tools, journal, trace"),
        (("--history", "x", "--history-isolation", "none"), "--history-isolation is read_committed or"),
        (("--history", str(HISTORIES), "--history-format", "edn"), "is one file, this is a directory"),
        (("--history", str(HISTORIES / "G0.edn"), "--received", "x"), "--received belongs to a journal"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments: tuple[str, ...], reason: str) -> None:
    """Before anything is judged."""
    code, output = audited(*arguments)

    assert code == NOTHING_JUDGED
    assert reason in " ".join(output.split())


def test_lines_that_cannot_be_read_are_damage_and_make_absence_prove_nothing(tmp_path: Path) -> None:
    """The rest is judged; a half-written last line is one of them."""
    path = tmp_path / "history.edn"
    path.write_text((HISTORIES / "lost-write.edn").read_text() + "{:type :ok, :f :poll, :value [[:poll {1 [[3")

    code, output = audited("--history", str(path))

    assert code == VIOLATED
    assert "damage: 1 lines: no operation: the form does not end" in output
    assert "0 violation, 0 suspicious, 1 undecided; 1 damaged" in output


def test_the_isolation_of_readers_is_an_option() -> None:
    """What they may be given depends on it."""
    history = str(HISTORIES / "G1a.edn")

    assert audited("--history", history)[0] == VIOLATED
    assert audited("--history", history, "--history-isolation", "read_uncommitted")[0] == HOLDS


def test_a_history_is_written_as_a_trace(tmp_path: Path) -> None:
    """For `eos check`, and for the audit itself."""
    trace = tmp_path / "trace.ndjson"

    code, _ = audited("--history", str(HISTORIES / "poll-skip.edn"), "--history-trace", str(trace))

    assert code == VIOLATED
    assert "poll-skip" in {one.guard for one in check(str(trace)).violations}
    assert audited("--history", str(trace))[0] == VIOLATED
    assert audited("--history-trace", str(trace))[0] == NOTHING_JUDGED
    assert audited("--history", str(HISTORIES / "G0.edn"), "--history-trace", "trace")[0] == NOTHING_JUDGED


def test_the_report_of_a_lone_history_says_what_it_takes_for_granted(tmp_path: Path) -> None:
    """In JSON as on the screen."""
    report = tmp_path / "report.json"

    _, printed = audited("--history", str(HISTORIES / "G0.edn"), "--json", str(report))

    assumed = json.loads(report.read_text())["assumed"]
    assert any("read_committed" in line for line in assumed)
    assert all(f"assumed: {line}" in printed for line in assumed)


def test_a_trace_says_what_its_readers_were_to_see(tmp_path: Path) -> None:
    """A reader of everything may be given what is aborted: no rule is broken by it."""
    trace, given = tmp_path / "trace.ndjson", ["--history", str(HISTORIES / "G1a.edn")]

    for isolation, level in (("read_committed", 1), ("read_uncommitted", 0)):
        audited(*given, "--history-isolation", isolation, "--history-trace", str(trace))
        read = [row for row in read_ndjson(trace) if row["api"] == "ClientGiven"]
        assert {level} == {row["isolation"] for row in read}

    audited(*given, "--history-format", "journal", "--history-trace", str(tmp_path / "other.ndjson"))
    assert not (tmp_path / "other.ndjson").exists()


# --- beside logs ----------------------------------------------------------------------------------------------


def beside(tmp_path: Path, history: str) -> AuditReport:
    """The logs of two transactions, one committed and one aborted, with a history."""
    (tmp_path / "history.edn").write_text(history)
    return run_audit([begun().write(tmp_path / "logs")], history=str(tmp_path / "history.edn"))


TWO = """
{:type :ok, :f :txn, :value [[:send "a-0" [0 1]] [:send "b-0" [0 2]]], :process 0, :index 0}
{:type :fail, :f :txn, :value [[:send "a-0" [2 3]] [:send "b-0" [2 4]]], :process 0, :index 1}
"""


def test_a_true_history_agrees_with_the_logs(tmp_path: Path) -> None:
    """What was acknowledged is there, and has the outcome that the client got."""
    report = beside(tmp_path, TWO)

    assert report.exit_code == HOLDS
    assert report.history.fates == {"commit: visible": 2, "abort: aborted": 2}
    assert report.clients.sent == 4


@pytest.mark.parametrize(
    ("change", "rule"),
    [((":fail", ":ok"), "txn.client_verdict"), (('"a-0" [0 1]', '"a-0" [40 1]'), "txn.client_verdict")],
    ids=["aborted and answered committed", "acknowledged and not there"],
)
def test_a_history_that_the_logs_contradict_is_found(tmp_path: Path, change: tuple[str, str], rule: str) -> None:
    """By the join with the logs."""
    report = beside(tmp_path, TWO.replace(*change))

    assert report.exit_code == VIOLATED
    assert {finding.rule.id for _, finding in report.findings} == {rule}


def test_keys_that_name_no_partition_are_counted_and_not_joined(tmp_path: Path) -> None:
    """The report has the number of records for which no log was given."""
    report = beside(tmp_path, TWO.replace('"a-0"', "1").replace('"b-0"', "2"))

    assert report.history.not_given == 4
    assert report.exit_code == HOLDS


def test_a_journal_beside_logs_is_judged_by_the_logs_alone(tmp_path: Path) -> None:
    """It has no readers."""
    report = run_audit([begun().write(tmp_path / "logs")], history=reported(both(), tmp_path / "journal.gz"))

    assert not report.clients
    assert report.exit_code == HOLDS


# --- whatever stands in a file --------------------------------------------------------------------------------


PIECES: Final = (b"", b"{", b"]", b'"', b"\xff", b":", b"99999999999999999999")


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_history_is_read_or_refused(tmp_path: Path, seed: int) -> None:
    """Bytes changed, cut and repeated at random: there is a report, or one line with the reason."""
    chance = random.Random(seed)
    names = sorted(HISTORIES.iterdir())
    data = bytearray(b"".join(chance.choice(names).read_bytes() for _ in range(3)))
    if seed % 2:
        lines = [json.dumps(line) for line in (*PRODUCED, moved("assigned"), consumed(4, 0, 3))]
        data = bytearray("\n".join(lines).encode())
    for _ in range(chance.randrange(1, 12)):
        at = chance.randrange(len(data))
        data[at : at + chance.randrange(3)] = chance.choice(PIECES)
    path = tmp_path / "history"
    path.write_bytes(data[: chance.randrange(len(data) // 2, len(data))])

    try:
        report = run(AuditOptions(history=str(path)))
    except BadInput:
        return
    assert json.dumps(report.to_json())
    assert report.clients.in_one_line()


PAGE: Final = DOCS / "histories.md"


def test_the_page_of_the_docs_shows_what_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The case on it is one of the histories here."""
    monkeypatch.chdir(ROOT)
    words = ("--history", "model_tests/unit/histories/histories/torn-transaction.edn")
    shown = output_of(PAGE, f"eos audit {' '.join(words)}")

    assert shown
    assert [] == not_printed(shown, CliRunner(env={"COLUMNS": "110"}).invoke(app, ["audit", *words]).output)


def test_the_page_of_the_docs_has_every_class() -> None:
    """With its rule and its meaning."""
    page = PAGE.read_text()
    rows = [
        f"| `{kind}` | {{rule}}`{reported.rule.id}` | {reported.statement} |" for kind, reported in MEANINGS.items()
    ]

    assert [row for row in rows if row not in page] == []
