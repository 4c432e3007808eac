"""What each field of a report means, by its place; `*` stands for a key that is a name or a number."""

from collections.abc import Mapping
from typing import Final

PLACE: Final = {"topic": "topic", "partition": "number of the partition"}
IDENTITY: Final = {"producer_id": "producer id", "producer_epoch": "its epoch"}
SECONDS: Final = "seconds that it took"


def _under(place: str, meanings: Mapping[str, str]) -> dict[str, str]:
    return {f"{place}.{name}": meaning for name, meaning in meanings.items()}


MEANINGS: Final[Mapping[str, Mapping[str, str]]] = {
    "bugs": _under(
        "[]",
        {
            "name": "the bug: its ticket, or what it is called",
            "rule": "the rule that it breaks",
            "profile": "the release that was searched",
            "expected": "`violated` or `holds`, as the catalogue says",
            "got": "what the search says: `violated`, `holds`, or `unknown` with the reason",
            "depth": "actions of the shortest counterexample, or how deep was searched",
            "seconds": SECONDS,
            "replayed": "the reference did what the search says",
        },
    ),
    "conform": {
        "sessions": "sessions that were judged",
        "steps": "their steps; each is agreed, undecided or disagreed",
        "agreed": "steps on which specification and reference agree with the broker",
        "undecided": "steps that differ where the recording says that they may",
        "disagreed_steps": "steps on which one side differs",
        **_under(
            "unsupported",
            {
                "sessions": "sessions that were not judged",
                "steps": "their steps",
                "apis.*": "sessions by what they need",
                "families.*": "sessions by family",
            },
        ),
        **_under(
            "families[]",
            {
                "kafka": "build",
                "txn_version": "its transaction version",
                "family": "family of sessions",
                "sessions": "sessions of it that were judged",
                "steps": "their steps",
            },
        ),
        "seconds": SECONDS,
        **_under(
            "undecided_steps[]", {"session": "id of the session", "step": "number of the step", "reason": "why it may"}
        ),
        **_under(
            "disagreed[]",
            {
                "session": "id of the session",
                "step": "number of the step",
                "by": "`specification` or `reference`",
                "expected.*": "recorded fields that differ, by where they are",
                "got.*": "the same on this side",
                "path": "file of the session",
                "api": "name of the request",
                "request.*": "the request as it was recorded",
                "guard": "which check of the specification decided, and on which values",
                "rules[]": "rules at stake in the step",
            },
        ),
        "damage[]": "a file or line that could not be read",
        "notes[]": "what else is worth saying",
    },
    "audit": {
        **_under(
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
        **_under(
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
        **_under(
            "transactions.listed[]",
            IDENTITY
            | {
                "transactional_id": "transactional id",
                "marker_epoch": "epoch of its markers",
                "verdict": "what became of it",
                "coordinator_state": "its last state in the coordinator's log",
                "coordinator_epoch": "of the coordinator that decided; -1 if not known",
                "started_ms": "when its first partition was registered, by the coordinator's clock",
                "duration_ms": "from then to its Complete; -1 if it is not there",
                "timeout_ms": "its timeout",
                "coordinator_offsets[]": "of its first record, of Prepare and of Complete; -1 for none",
                **_under(
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
        **_under(
            "transactions.open_without_coordinator_log[]",
            PLACE | IDENTITY | {"first_offset": "of its data", "last_offset": "of its data"},
        ),
        "history.attempts.*": "transactions by what the client was told",
        "history.acknowledged.*": "acknowledged records by what the client was told and what became of them",
        "history.not_given": "acknowledged records of partitions whose logs are not here",
        "clients.path": "the client history; empty if none was given, or a journal beside logs",
        "clients.operations.*": "its operations by how they ended",
        "clients.sent": "records that were to be sent",
        "clients.given": "records that readers were given",
        "clients.partitions": "partitions that it tells of",
        "clients.processes": "processes of which it has operations",
        **_under(
            "clients.classes[]",
            {
                "class": "class of anomalies, as Jepsen's checker names it",
                "rule": "the rule that it breaks",
                "statement": "what it means",
                "allowed": "why it may be legal; empty where it never is",
                "judged": "records, or pairs of them, that were looked at",
                "violation": "cases that break the rule",
                "suspicious": "cases that are legal",
                "undecided": "cases that the history does not decide",
                "cases[].severity": "`violation`, `suspicious` or `undecided`",
                "cases[].key": "the partition, as the history calls it",
                "cases[].offsets[]": "offsets that it is about, those that are known",
                "cases[].values[]": "values that it is about",
                "cases[].operations[].index": "index of an operation, or its line where the history has none",
                "cases[].operations[].process": "its process",
                "cases[].operations[].name": "what was called",
                "cases[].message": "what was found",
            },
        ),
        "clients.partial[]": "why the history is not whole, so that what is absent from it proves nothing",
        "clients.undecidable.*": "records of which something cannot be told, by what",
        "clients.damage.*": "lines that could not be read, by reason",
        "clients.passed_over.*": "lines that tell nothing of records, by what they are",
        "cluster.replicated": "partitions of which more than one replica was given",
        "cluster.compared": "batches that were held against another replica",
        "cluster.elections": "changes of leaders by the controller's log; that nobody leads any more is one too",
        "cluster.shrinks": "how often an in-sync set lost a member",
        "cluster.expansions": "how often one gained a member",
        "cluster.unclean": "elections of a leader that was not in sync",
        **_under(
            "cluster.partitions[]",
            PLACE
            | {
                "replicas[]": "a broker that has it",
                "in_sync[]": "a broker in its in-sync set, at the end of the controller's log",
                "leaders[].leader_epoch": "a leader epoch",
                "leaders[].leader": "broker that led in it; -1 for nobody",
                "leaders[].in_sync[]": "a broker in the in-sync set when it began",
                "leaders[].unclean": "the leader was not in sync before",
                "leaders[].offset": "of its record in the controller's log",
                "leaders[].time": "when it was decided, in milliseconds",
            },
        ),
        **_under(
            "groups.offsets[]",
            PLACE
            | {
                "group": "the consumer group",
                "offset": "committed offset; -1 if none",
                "recorded_at": "offset of its record; -1 if none",
                "committed": "commits in transactions that became true",
                "aborted": "commits in transactions that did not",
                "pending[].producer_id": "whose transaction is open",
                "pending[].producer_epoch": "its epoch",
                "pending[].offset": "what it would commit",
                "pending[].recorded_at": "offset of its record",
            },
        ),
        "groups.passed_over.*": "records of the groups' log that are no offsets, by name",
        "cluster.passed_over.*": "records of the controller's log that were not looked at, by name",
        **_under("damage[]", {"path": "file", "position": "byte in it", "message": "what is wrong"}),
        "judged.*": "by rule, on how much it was held: batches, transactions, acknowledged records",
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
        **_under(
            "rules[]",
            {
                "id": "the rule",
                "statement": "its statement",
                "domain": "where it is claimed",
                "evidence.*.verdict": "by kind: `proved`, `holds`, `violated`, `unknown`, `missing`, `not run`",
                "evidence.*.count": "what was judged, in the unit of its kind",
                "evidence.*.*": "further figures",
                "evidence.*.seconds": SECONDS,
                "evidence.*.detail": "of a violation, the first; of a proof, its assumptions",
                "owed[].evidence": "a kind of evidence that is still to come",
                "owed[].issue": "the issue that brings it",
                "waived[].evidence": "a kind of evidence that is waived",
                "waived[].reason": "why",
            },
        ),
        **_under(
            "controls[]",
            {
                "name": "what was changed",
                "rule": "the rule that this must break",
                "expected": "what must be found",
                "got": "what was found",
                "detail": "more, where there is more",
            },
        ),
        **_under(
            "mutants[]",
            {
                "name": "the planted defect",
                "rule": "the rule that it breaks",
                "killed_by[]": "a check that saw it, with the rule it named",
                "killed": "the rule that it breaks is among them",
                "seconds": SECONDS,
            },
        ),
        **_under(
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
