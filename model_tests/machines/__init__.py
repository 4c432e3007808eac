"""Machines: the reference driven from Hypothesis or from a seeded tape, each step compared with the specification.

Arguments:
    batch: as it was sent.
    answer: to the request.
    end: offset behind the last record.
    ledger: where rules at stake are counted, and violations kept.
    origin: who sends it.
"""
