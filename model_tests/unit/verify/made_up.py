"""Parts that another process can import."""

import os

from model_tests.verify.results import Effort, Part, Result, Verdict
from spec import rules
from spec.evidence import Layer


def proves(effort: Effort) -> Part:
    """A part that finds something."""
    found = Result(rules.SEQ_ORDER, Layer.PROOF, Verdict.PROVED, 12, 1.0)
    return Part("proves", (found,), extra={"process": os.getpid(), "rules": frozenset({"seq.order"})})


def breaks(effort: Effort) -> Part:
    """A part that raises."""
    raise ValueError("no such thing")


def dies(effort: Effort) -> Part:
    """A part whose process ends."""
    os._exit(3)
