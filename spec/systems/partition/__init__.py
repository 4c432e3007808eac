"""One partition with transactions: data, markers, replication, failover and readers, for any number of producers.

Arguments:
    producer: which one.
    log: the partition, as its leader and its followers have it.
"""
