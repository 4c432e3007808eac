"""The table of the audit: logs, and everything that it says of them; a module is a chapter of rows."""

from typing import Final

from model_tests.unit.audit.cases import clusters, coordinators, copies, directories, recordings, timeouts, transactions
from model_tests.unit.audit.stories import AuditCase

ALL_CASES: Final[tuple[AuditCase, ...]] = (
    *transactions.CASES,
    *timeouts.CASES,
    *coordinators.CASES,
    *copies.CASES,
    *directories.CASES,
    *clusters.CASES,
    *recordings.CASES,
)
