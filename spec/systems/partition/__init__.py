"""One partition with transactions: data, markers, replication, failover and readers, for any number of producers.

Arguments:
    producer: which one.
"""
