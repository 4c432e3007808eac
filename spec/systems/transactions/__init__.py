"""The transactions of one transactional id, whole: clients, network, coordinators, partitions.

Arguments:
    batch: its number among those of the transaction to the partition, from 0.
    view: the state of the system, and what is asked of it.
    instance: of the client: each has the transactional id in turn.
    txn: a client's transaction, by its number, or a bump that it has asked for.
    decision: a transaction that the coordinator has decided, by its number.
    coordinator: the coordinator's epoch.
    reader: which one: of committed data, or of all.
    p: a partition.
    b: a batch of the transaction there.
    q: another partition, or the same.
    c: a batch of the transaction there.
    before: the state of the system before the step.
    after: the state after it.
    now: milliseconds, by the coordinator's clock.
    timeout: of the transaction, as the request asks for it, in milliseconds.
    version: of the request.
    refusal: the error of a log that refuses the record.
    count: how many partitions the transaction has before the step.
    fate: how the append to the coordinator's log ends.
    _: not read.
"""
