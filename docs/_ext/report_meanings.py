"""The meaning of each field of a report, by its place; `*` stands for a key that is a name or a number.

What writes an object says what its fields mean, in the section `Fields` of its docstring; tables here go there.
"""

from collections.abc import Mapping
from typing import Final

from docstrings import written
from proof_meanings import OF_PROOFS, SECONDS, under

from model_tests.bugs.judged import JudgedBug
from model_tests.conform.report import ConformReport, SessionDisagreement, Undecided, UnjudgedSessions
from model_tests.probe.fingerprint import Fingerprint, ShownBehaviour
from model_tests.probe.report import Cause, ProbeReport
from model_tests.record.report import RecordReport
from model_tests.serve.report import ServeReport

PLACE: Final = {"topic": "topic", "partition": "number of the partition"}
IDENTITY: Final = {"producer_id": "producer id", "producer_epoch": "its epoch"}
MEANINGS: Final[Mapping[str, Mapping[str, str]]] = {
    "bugs": under("[]", written(JudgedBug.entries)),
    "prove": OF_PROOFS,
    "conform": {
        **written(ConformReport.figures),
        **written(ConformReport.to_json),
        **under("unsupported", written(UnjudgedSessions.to_json)),
        **under("undecided_steps[]", written(Undecided.to_json)),
        **under("disagreed[]", written(SessionDisagreement.to_json)),
    },
    "probe": {
        **written(ProbeReport.to_json),
        **under("causes[]", written(Cause.to_json)),
        **under("fingerprint", written(Fingerprint.to_json)),
        **under("fingerprint.behaviours[]", written(ShownBehaviour.to_json)),
    },
    "record": written(RecordReport.to_json),
    "serve": written(ServeReport.to_json),
    "audit": {
        **under(
            "partitions[]",
            PLACE
            | {
                "log_start": "first offset of the log",
                "lso": "last stable offset",
                "high_watermark": "high watermark: the log end of a log at rest",
                "log_end": "offset after the last record",
                "batches": "batches",
                "records": "records",
                "visible_records": "records that a read_committed consumer sees",
                "producers": "producer ids that wrote",
                "open_transactions[].producer_id": "producer id of a transaction without a marker",
                "open_transactions[].producer_epoch": "its epoch",
                "open_transactions[].first_offset": "where it begins",
                "cleaned": "the log cleaner has been here",
                "unjudged_beside_damage": "batches of whose sequence unreadable bytes hide the predecessor",
                "path": "its folder",
            },
        ),
        **under(
            "findings[]",
            PLACE
            | IDENTITY
            | {
                "rule": "the rule",
                "severity": "`violation`, `known`, `suspicious` or `undecided`",
                "offset": "base offset of the first offending batch",
                "message": "what was found, and what was expected",
                "guard": "the check of the append decision that refuses the batch; empty if none does",
                "transactional_id": "whose transaction it is; empty if not known",
                "step": "the step of the protocol that failed; empty if not known",
                "remedy": "what can be done: a command, or what to look at; empty if nothing",
                "path": "folder of the partition",
            },
        ),
        "transactions.counts.*": "transactions by verdict",
        "transactions.without_coordinator_log.markers": "markers of producers without their coordinator's log",
        "transactions.without_coordinator_log.open": "open transactions of such producers",
        "transactions.undecided[].missing": "what would decide more",
        "transactions.undecided[].times": "how often it was missed",
        **under(
            "transactions.listed[]",
            IDENTITY
            | {
                "transactional_id": "transactional id",
                "marker_epoch": "epoch of its markers",
                "verdict": "what became of it",
                "coordinator_state": "its last state in the coordinator's log",
                "coordinator_epoch": "of the coordinator that decided; -1 if not known",
                "ended_by": "`client`, `fence`, `timeout`, `client or fence`; empty if it is open or not known",
                "expired_ms": "when its id was removed after it; -1 if it was not",
                "started_ms": "when its first partition was registered, by the coordinator's clock",
                "duration_ms": "from then to its Complete; -1 if it is not there",
                "timeout_ms": "its timeout",
                "coordinator_offsets[]": "of its first record, of Prepare and of Complete; -1 for none",
                **under(
                    "partitions[]",
                    PLACE
                    | {
                        "first_offset": "of its data; -1 for none",
                        "last_offset": "of its data; -1 for none",
                        "marker_offset": "of its marker; -1 for none",
                        "records": "records",
                        "outcome": "`COMMIT`, `ABORT`, or empty without a marker",
                    },
                ),
                "undecided[]": "what would be needed to say more",
            },
        ),
        **under(
            "transactions.open_without_coordinator_log[]",
            PLACE | IDENTITY | {"first_offset": "of its data", "last_offset": "of its data"},
        ),
        "history.attempts.*": "transactions by the answer that the client got",
        "history.acknowledged.*": "acknowledged records by the answer that the client got and by their outcome",
        "history.not_given": "acknowledged records of partitions whose logs are not here",
        "clients.path": "the client history; empty if none was given, or a journal beside logs",
        "clients.operations.*": "its operations by how they ended",
        "clients.sent": "records that were to be sent",
        "clients.given": "records that readers were given",
        "clients.partitions": "partitions of which it has operations",
        "clients.processes": "processes of which it has operations",
        **under(
            "clients.classes[]",
            {
                "class": "class of anomalies, as Jepsen's checker names it",
                "rule": "the rule that it breaks",
                "statement": "what it means",
                "allowed": "why it may be legal; empty where it never is",
                "judged": "records, or pairs of them, that were judged",
                "violation": "cases that break the rule",
                "suspicious": "cases that are legal",
                "undecided": "cases that the history does not decide",
                "cases[].severity": "`violation`, `suspicious` or `undecided`",
                "cases[].key": "the partition, as the history calls it",
                "cases[].offsets[]": "offsets that it is about, where they are known",
                "cases[].values[]": "values that it is about",
                "cases[].operations[].index": "index of an operation, or its line where the history has none",
                "cases[].operations[].process": "its process",
                "cases[].operations[].name": "what was called",
                "cases[].message": "what was found",
            },
        ),
        "clients.partial[]": "why the history is not whole, so that what is absent from it proves nothing",
        "clients.undecidable.*": "records of which something stays open, by what",
        "clients.damage.*": "lines that could not be read, by reason",
        "clients.passed_over.*": "lines without records, by their kind",
        "cluster.replicated": "partitions of which more than one replica was given",
        "cluster.compared": "batches that were compared with another replica",
        "cluster.elections": "changes of leaders by the controller's log, also to no leader",
        "cluster.shrinks": "how often an in-sync set lost a member",
        "cluster.expansions": "how often one gained a member",
        "cluster.unclean": "elections of a leader that was not in sync",
        "cluster.again": "elections of the last known leader while no replica was in sync; nothing is lost by one",
        **under(
            "cluster.not_read[]",
            {
                "path": "the controller's log",
                "kind": "kind of record, by its name or number",
                "version": "its version, which is not known",
                "newest": "the newest version of it that is known; -1 where the kind is not",
                "count": "how many there are",
                "first": "offset of the first",
                "last": "offset of the last",
            },
        ),
        **under(
            "cluster.partitions[]",
            PLACE
            | {
                "replicas[]": "a broker that has it",
                "in_sync[]": "a broker in its in-sync set, at the end of the controller's log",
                "leaders[].leader_epoch": "a leader epoch",
                "leaders[].leader": "broker that led in it; -1 for none",
                "leaders[].in_sync[]": "a broker in the in-sync set when it began",
                "leaders[].unclean": "the leader was not in sync before",
                "leaders[].again": "no replica was in sync, and the last known leader leads again",
                "leaders[].offset": "of its record in the controller's log",
                "leaders[].time": "when it was decided, in milliseconds",
            },
        ),
        **under(
            "groups.offsets[]",
            PLACE
            | {
                "group": "the consumer group",
                "offset": "committed offset; -1 if none",
                "recorded_at": "offset of its record; -1 if none",
                "recorded_ms": "the time of its record; -1 if none",
                "committed": "commits in transactions that became true",
                "aborted": "commits in transactions that did not",
                "pending[].producer_id": "whose transaction is open",
                "pending[].producer_epoch": "its epoch",
                "pending[].offset": "what it would commit",
                "pending[].recorded_at": "offset of its record",
            },
        ),
        **under(
            "held_back[]",
            IDENTITY
            | {
                "name": "the partition, as the report calls it",
                "offset": "its last stable offset",
                "behind": "offsets between that and the high watermark",
                "waiting": "records there that are committed, or in no transaction",
                "transactional_id": "whose transaction holds it; empty if not known",
                "groups[]": "a group's offset that is in the transaction",
                "since_ms": "when the transaction began; -1 if not known",
                "aborted_ms": "when its coordinator aborts it by itself; -1 if never, or if not known",
                "overdue": "it should have been aborted by then",
                "ends": "what there is to say of its end, and what to do",
            },
        ),
        "groups.passed_over.*": "records of the groups' log that are no offsets, by name",
        "cluster.passed_over.*": "records of the controller's log that were not looked at, by name",
        **under("damage[]", {"path": "file", "position": "byte in it", "message": "what is wrong"}),
        "judged.*": "by rule, on how much it was held: batches, transactions, acknowledged records",
        "summary.headline": "how much needs the reader",
        "summary.fine[]": "what was judged and is as it should be",
        "summary.not_examined[]": "what was not examined, or not decided, and why",
        "given[].path": "a path that was given",
        "given[].used": "something in it was judged",
        "given[].taken_for": "what it was taken for, or why it was not used",
        "missing[].path": "a text that stands for a log",
        "missing[].line": "the line of it from which on something is missing",
        "missing[].message": "what is missing, what that costs, and what to give instead",
        "ignored[]": "a file or folder that is no part of a log",
        "assumed[]": "what the logs do not say and the verdicts take for granted",
        "shown[]": "what of the findings and transactions is here, where not all are; all were judged",
        "seconds": SECONDS,
    },
    "verify": {
        "commit": "what was checked out; empty without git",
        "sources": "digest of `spec`, `reference` and `model_tests` without unit tests: what the results are of",
        "profile": "`quick`, `default` or `deep`",
        "seconds": SECONDS,
        "ok": "everything holds that was to be judged",
        "failures[]": "what is wrong, a line each",
        **under(
            "rules[]",
            {
                "id": "the rule",
                "statement": "its statement",
                "domain": "where it is claimed",
                "evidence.*.verdict": "by kind: `proved`, `holds`, `violated`, `unknown`, `missing`, `not run`",
                "evidence.*.count": "what was judged, in the unit of its kind",
                "evidence.*.*": "further figures",
                "evidence.*.seconds": SECONDS,
                "evidence.*.detail": "of a violation, the first; of a proof of facts alone, that it assumes nothing",
                "evidence.*.assumptions[]": "what the proof, or the system that was searched, takes for granted",
                "waived[].evidence": "a kind of evidence that is waived",
                "waived[].reason": "why",
            },
        ),
        **under(
            "controls[]",
            {
                "name": "what was changed",
                "rule": "the rule that this must break",
                "system": "the system that is changed, where it is one",
                "expected": "what must be found",
                "got": "what was found",
                "detail": "more, where there is more",
            },
        ),
        **under(
            "mutants[]",
            {
                "name": "the planted defect",
                "rule": "the rule that it breaks",
                "killed_by[]": "a check that saw it, with the rule it named",
                "killed": "the rule that it breaks is among them",
                "seconds": SECONDS,
            },
        ),
        **under(
            "parts[]",
            {
                "name": "the part",
                "seconds": SECONDS,
                "share": "seconds that it may take",
                "overran": "it took longer",
                "sampled": "`ran n of N` where it took a sample",
                "failures[]": "what went wrong beyond single results",
            },
        ),
        "*.*": "figures of one part, under its name",
    },
}
