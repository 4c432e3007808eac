"""How sure a finding is."""

from enum import StrEnum, unique


@unique
class Severity(StrEnum):
    """How sure a finding is, and whether it is a failure."""

    VIOLATION = "violation"  # the rule is broken
    KNOWN = "known"  # outside the rule's domain, or a known bug of the recorded build
    SUSPICIOUS = "suspicious"  # legal, but rarely meant
    UNDECIDED = "undecided"  # what would decide is not in the log
