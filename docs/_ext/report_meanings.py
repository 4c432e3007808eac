"""The meaning of each field of a report, by its place; `*` stands for a key that is a name or a number.

What writes an object says what its fields mean, in the section `Fields` of its docstring. This says only where in a
report the object is.
"""

from collections.abc import Callable, Mapping
from typing import Final

from docstrings import written

from model_tests.audit.cluster import ClusterReport
from model_tests.audit.groups import GroupsReport
from model_tests.audit.history_report import HistoryReport
from model_tests.audit.report import AuditReport, consequence_json, finding_json, partition_json
from model_tests.audit.transactions_report import judged_json, open_json, transactions_json
from model_tests.bugs.judged import JudgedBug
from model_tests.conform.report import ConformReport, SessionDisagreement, Undecided, UnjudgedSessions
from model_tests.histories.report import ClientsReport
from model_tests.probe.fingerprint import Fingerprint, ShownBehaviour
from model_tests.probe.report import Cause, ProbeReport
from model_tests.record.report import RecordReport
from model_tests.serve.report import ServeReport
from model_tests.verify.assumed import as_json
from model_tests.verify.older_versions import Earlier
from model_tests.verify.prove import ProofReport, obligation_json
from model_tests.verify.report import VerifyReport, control_json, mutant_json, rule_json, share_json
from model_tests.verify.theorems import Theorem

WRITERS: Final[Mapping[str, Mapping[str, tuple[Callable[..., object], ...]]]] = {
    "bugs": {"[]": (JudgedBug.entries,)},
    "prove": {
        "": (ProofReport.to_json,),
        "obligations[]": (obligation_json,),
        "theorems[]": (Theorem.to_json,),
        "assumptions[]": (as_json,),
        "earlier[]": (Earlier.to_json,),
    },
    "conform": {
        "": (ConformReport.figures, ConformReport.to_json),
        "unsupported": (UnjudgedSessions.to_json,),
        "undecided_steps[]": (Undecided.to_json,),
        "disagreed[]": (SessionDisagreement.to_json,),
    },
    "probe": {
        "": (ProbeReport.to_json,),
        "causes[]": (Cause.to_json,),
        "fingerprint": (Fingerprint.to_json,),
        "fingerprint.behaviours[]": (ShownBehaviour.to_json,),
    },
    "record": {"": (RecordReport.to_json,)},
    "serve": {"": (ServeReport.to_json,)},
    "audit": {
        "": (AuditReport.to_json,),
        "partitions[]": (partition_json,),
        "findings[]": (finding_json,),
        "consequences[]": (consequence_json,),
        "transactions": (transactions_json,),
        "transactions.listed[]": (judged_json,),
        "transactions.open_without_coordinator_log[]": (open_json,),
        "history": (HistoryReport.to_json,),
        "clients": (ClientsReport.to_json,),
        "cluster": (ClusterReport.to_json,),
        "groups": (GroupsReport.to_json,),
    },
    "verify": {
        "": (VerifyReport.to_json,),
        "rules[]": (rule_json,),
        "controls[]": (control_json,),
        "mutants[]": (mutant_json,),
        "parts[]": (share_json,),
    },
}
"""By command and place, what writes the object there."""


def meanings_of(command: str) -> dict[str, str]:
    """The meaning of each field of a command's report, by its place."""
    return {
        f"{place}.{name}" if place else name: meaning
        for place, writers in WRITERS[command].items()
        for writer in writers
        for name, meaning in written(writer).items()
    }


MEANINGS: Final[Mapping[str, Mapping[str, str]]] = {command: meanings_of(command) for command in WRITERS}
