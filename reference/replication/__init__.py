"""Brokers as leaders and followers, the in-sync set, truncation; the controller under KRaft and under ZooKeeper.

Arguments:
    elected: the leader now, or none.
    former: the partition's state before the election.
"""
