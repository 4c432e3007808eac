"""`eos audit`: logs of real brokers judged, each partition on its own, then joined.

Arguments:
    profile: the release whose rules are checked.
    partition: which one.
    epoch: of the producer, None for the transaction's.
    log: of one partition on one broker.
    batches: of the log, as columns.
    around: what is known of the log beside its batches: checkpoints, where segments begin.
    damage: what could not be read; more may be added.
    derived: the files that are derived from batches: snapshots and indexes.
    verdict: on the log, so far.
"""
