"""Audit cases as rows: what the logs of brokers contain, and everything that an audit finds in them."""

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from model_tests.audit.findings import Finding
from model_tests.audit.options import AuditOptions
from model_tests.audit.report import AuditReport
from model_tests.audit.run import run
from model_tests.common.reports import HOLDS, VIOLATED
from model_tests.unit.audit.stories import cluster_of
from model_tests.unit.audit.written import write_segment
from model_tests.unit.audit.written_cluster import WrittenCluster
from model_tests.unit.support.printed_reports import printed
from reference.log.batch import RecordBatch
from reference.log.checkpoint_file import PartitionOffset, encode_offsets
from spec.vocabulary import Offset

Change: TypeAlias = Callable[[WrittenCluster], None]
"""What is done to a written cluster, or to its logs."""


@dataclass(frozen=True, slots=True)
class AuditCase:
    """Logs, and what the audit says of them: all of its findings, and nothing else.

    Attributes:
        name: what is the matter with the logs.
        story: the logs, in the language of `StoryWriter`; empty where they are a recording's.
        findings: one text for each, as `described` writes them.
        says: words of the findings' messages, and of those of their consequences.
        not_said: words that no message has.
        remedy: words of the findings' remedies.
        damage: words of the path and message of each damage, in order.
            Here and below, " ... " is between words of one line.
        explains: words of a cause (a finding as in `findings` and its message, or damage), with the rules of what it
            has caused: all of them, or with "..." at the end at least these; None where the case is not about that.
        counts: the transactions by status, as "committed=1 open=1"; empty where the case is not about them.
        missing: how often the join misses which evidence, as "2 x why"; None where the case is not about that.
        held: words of the line of each partition that is held back; None where the case is not about that.
        reported: parts of the JSON report by their path, as "partitions.0.lso".
        printed: words of lines of the printed report.
        not_printed: words that it does not have.
        version: of transactions.
        recording: the bundled log directory of which parts are copied.
        parts: patterns of its folders and files.
        change: what is done to the cluster after the story.
        edit: what is done to the directory in which its logs are.
        logs: further logs as batches, by the folder's name; "a-0/16" is the segment that begins at offset 16.
        brokers: directories into each of which the logs are written.
        given: what is audited: paths in the directory.
        options: of the audit; the paths of files and clusters are in the directory, too.
        slow: it runs in the deep profile only.
        kept: the records that the cleaner left of the coordinator's log, from its end (-1) or its begin (0) on.
        starts: where retention has left the begin of a partition's log.
        closed: the logs of partitions were flushed up to their ends.
        flushed: offsets up to which logs were flushed, instead of their ends; the coordinator's log is "state".
    """

    name: str
    story: str = ""
    findings: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    not_said: tuple[str, ...] = ()
    remedy: tuple[str, ...] = ()
    damage: tuple[str, ...] = ()
    explains: Mapping[str, tuple[str, ...]] | None = None
    counts: str = ""
    missing: tuple[str, ...] | None = None
    held: tuple[str, ...] | None = None
    reported: Mapping[str, object] = field(default_factory=dict)
    printed: tuple[str, ...] = ()
    not_printed: tuple[str, ...] = ()
    version: int = 0
    recording: str = ""
    parts: tuple[str, ...] = ()
    change: Change | None = None
    edit: Callable[[Path], None] | None = None
    logs: Mapping[str, tuple[RecordBatch, ...]] = field(default_factory=dict)
    brokers: tuple[str, ...] = ("",)
    given: tuple[str, ...] = ("",)
    options: Mapping[str, Any] = field(default_factory=dict)
    slow: bool = False
    kept: tuple[int, ...] | None = None
    starts: Mapping[str, int] = field(default_factory=dict)
    closed: bool = True
    flushed: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.name}, version {self.version}" if self.story or self.change else self.name


def each_version(*cases: AuditCase) -> tuple[AuditCase, ...]:
    """The cases under versions 0 and 2, which say the same of them."""
    return tuple(replace(case, version=version) for case in cases for version in (0, 2))


def hold(case: AuditCase, directory: Path, recordings: Path = Path()) -> AuditReport:
    """Write the logs of a case, audit them, and compare what is found with what is expected."""
    report = run(*audited(case, directory, recordings))
    messages = [full_text(finding) for _, finding in report.findings]
    remedies = [finding.remedy for _, finding in report.findings]
    assert sorted(case.findings) == sorted(described(report)), messages
    for word in case.says:
        assert any(word in message for message in messages), (word, messages)
    for word in case.not_said:
        assert not any(word in message for message in messages), (word, messages)
    for word in case.remedy:
        assert any(word in remedy for remedy in remedies), (word, remedies)
    _match(case.damage, [f"{bad.path} byte {bad.position}: {bad.message}" for bad in report.damage])
    if case.explains is not None:
        _explain(case.explains, report)
    if case.counts:
        assert case.counts == " ".join(f"{name}={count}" for name, count in sorted(report.transactions.counts.items()))
    if case.missing is not None:
        _match(case.missing, [f"{count} x {why}" for why, count in report.transactions.missing.items()])
    if case.held is not None:
        _match(case.held, [held.in_one_line() for held in report.held_back])
    for path, expected in case.reported.items():
        assert expected == _at(path, report, directory), path
    if case.printed or case.not_printed:
        _print(case, printed(report))
    violated = bool(case.damage) or any(each.startswith("violation") for each in case.findings)
    assert report.exit_code == (VIOLATED if violated else HOLDS)
    return report


def audited(case: AuditCase, directory: Path, recordings: Path = Path()) -> tuple[list[Path], AuditOptions]:
    """Make the logs of a case; the paths to audit, and the options."""
    if case.recording:
        copied(case, recordings, directory)
    else:
        written(case, directory)
    files = {name: str(directory / case.options[name]) for name in ("history", "received") if name in case.options}
    clusters = {
        name: tuple(str(directory / path) for path in paths) for name, paths in case.options.get("clusters", {}).items()
    }
    options = AuditOptions(**{**case.options, **files, "clusters": clusters})
    return [directory / path for path in case.given], options


def full_text(finding: Finding) -> str:
    """The message of a finding, and those of what it has caused."""
    return "; ".join((finding.message, *(one.message for one in finding.consequences)))


def _match(expected: tuple[str, ...], lines: list[str]) -> None:
    assert len(expected) == len(lines), lines
    for words, line in zip(expected, lines, strict=True):
        assert all(word in line for word in words.split(" ... ")), (words, line)


def _print(case: AuditCase, output: str) -> None:
    for words in case.printed:
        assert any(all(word in line for word in words.split(" ... ")) for line in output.splitlines()), (words, output)
    for words in case.not_printed:
        assert words not in output, output


def _at(path: str, report: AuditReport, directory: Path) -> object:
    """The part of the JSON report at a path of names and numbers; paths of files are those in the directory."""
    part: Any = json.loads(json.dumps(report.to_json()).replace(f"{directory}/", ""))
    while path:
        each, _, rest = path.partition(".")
        if isinstance(part, dict) and path in part:  # the id of a rule, which has dots itself
            each, rest = path, ""
        part, path = part[int(each) if isinstance(part, list) else each], rest
    return part


def _explain(expected: Mapping[str, tuple[str, ...]], report: AuditReport) -> None:
    """Compare what findings and damage have caused with what is expected; each is named by the id of its cause."""
    messages = [f"{text}: {one.message}" for text, (_, one) in zip(described(report), report.findings, strict=True)]
    causes = {f"finding-{number}": message for number, message in enumerate(messages, start=1)}
    causes |= {f"damage-{number}": bad.message for number, bad in enumerate(report.damage, start=1)}
    caused: dict[str, set[str]] = {}
    for _, one, cause in report.consequences:
        caused.setdefault(causes[cause], set()).add(one.rule.id)
    assert len(expected) == len(caused), caused
    for words, rules in expected.items():
        (own,) = (own for message, own in caused.items() if words in message)
        assert own >= set(rules) - {"..."}, (words, own)
        assert "..." in rules or own == set(rules), (words, own)


def described(report: AuditReport) -> list[str]:
    """Each finding: how sure, which rule, where, of which id or producer, and the step that failed.

    Where directories of several brokers were given, the place begins with that of the broker.
    """
    texts = []
    several = len({Path(one.path).parent for one in report.audited}) > 1
    for one, finding in report.findings:
        whose = finding.transactional_id or (f"producer {finding.producer_id}" if finding.producer_id >= 0 else "")
        place = f"{Path(one.path).parent.name}/" * several + f"{one.topic}-{one.partition}@{finding.offset}"
        parts = (f"{finding.severity} {finding.rule.id} {place}", whose)
        texts.append(", ".join((*filter(None, parts), *filter(None, (finding.step,)))))
    return texts


def copied(case: AuditCase, recordings: Path, directory: Path) -> Path:
    """Parts of a recording, edited."""
    source = recordings / case.recording
    for part in sorted({each for pattern in case.parts for each in source.glob(pattern)}):
        place = directory / part.relative_to(source)
        if part.is_dir():
            shutil.copytree(part, place)
        else:
            place.parent.mkdir(exist_ok=True)
            shutil.copy2(part, place)
    if case.edit is not None:
        case.edit(directory)
    return directory


def written(case: AuditCase, directory: Path) -> Path:
    """The directory of the case's broker."""
    cluster = cluster_of(case.story, case.version)
    if case.change is not None:
        case.change(cluster)
    starts = {(topic, 0): start for topic, start in case.starts.items()}
    for broker in case.brokers:
        if case.kept is None:
            cluster.write(directory / broker, starts, closed=case.closed)
        else:
            end = len(cluster.coordinator)
            cluster.write_cleaned(directory / broker, sorted(number % end for number in case.kept), closed=case.closed)
        for name, batches in case.logs.items():
            folder, _, base = name.partition("/")
            write_segment(directory / broker / folder, batches, int(base or 0))
    if case.flushed:
        lines = [
            PartitionOffset("__transaction_state" if topic == "state" else topic, 0, Offset(end))
            for topic, end in case.flushed.items()
        ]
        (directory / "recovery-point-offset-checkpoint").write_bytes(encode_offsets(lines))
    if case.edit is not None:
        case.edit(directory)
    return directory
