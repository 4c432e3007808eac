"""The table of the audit: logs, and everything that it says of them; a module is a chapter of rows."""

from typing import Final

from model_tests.unit.audit.audit_case import AuditCase
from model_tests.unit.audit.cases import (
    broken_batches,
    client_histories,
    clusters,
    controllers,
    coordinators,
    copies,
    derived_files,
    directories,
    elections,
    groups,
    misplaced,
    missing_markers,
    partitions,
    record_bodies,
    recordings,
    timeouts,
    transactions,
    wrong_epochs,
)

ALL_CASES: Final[tuple[AuditCase, ...]] = (
    *broken_batches.CASES,
    *client_histories.CASES,
    *clusters.CASES,
    *controllers.CASES,
    *coordinators.CASES,
    *copies.CASES,
    *derived_files.CASES,
    *directories.CASES,
    *elections.CASES,
    *groups.CASES,
    *misplaced.CASES,
    *missing_markers.CASES,
    *partitions.CASES,
    *record_bodies.CASES,
    *recordings.CASES,
    *timeouts.CASES,
    *transactions.CASES,
    *wrong_epochs.CASES,
)
