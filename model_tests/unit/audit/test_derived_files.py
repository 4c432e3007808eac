"""What an aborted index says only because its log lacks a marker, whichever it is."""

from dataclasses import replace

import numpy as np

from model_tests.audit.log import read_log, surroundings
from model_tests.audit.partition import audit_batches
from model_tests.logs.kafka_log_derived import read_derived
from model_tests.logs.kafka_log_folders import LogFolder
from spec import rules
from spec.vocabulary import ABSENT, ControlType


def test_what_entries_say_of_a_marker_that_the_log_lacks_is_one_finding(log: LogFolder) -> None:
    """The next transaction, which is aborted, seems to begin too early, and to hold back those that end within it."""
    batches, derived = read_log(log)[0], read_derived(log)
    commits = np.flatnonzero(batches.control_type == ControlType.COMMIT.value)
    counts = []
    for marker in commits[:60].tolist():
        producer_id = batches.producer_id.copy()
        producer_id[marker] = ABSENT
        verdict = audit_batches(replace(batches, producer_id=producer_id), surroundings(log), derived=derived)
        reported = [one.message for one in verdict.findings if one.rule is rules.LSO_ABORTED_INDEX]
        if any("says first offset" in message for message in reported):
            counts.append(len(reported))

    assert set(counts) == {1}
