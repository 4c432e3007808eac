"""Parts that another process can import."""

import os

from model_tests.verify.results import PartResult, Result, RuleVerdict, RunEffort
from spec import rules
from spec.evidence import Layer


def proves(effort: RunEffort) -> PartResult:
    """A part that finds something."""
    found = Result(rules.SEQ_ORDER, Layer.PROOF, RuleVerdict.PROVED, 12, 1.0)
    return PartResult("proves", (found,), extra={"process": os.getpid(), "rules": frozenset({"seq.order"})})


def breaks(effort: RunEffort) -> PartResult:
    """A part that raises."""
    raise ValueError("no such thing")


def dies(effort: RunEffort) -> PartResult:
    """A part whose process ends."""
    os._exit(3)
