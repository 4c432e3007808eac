"""One partition and its replicas: a leader appends, followers copy, the controller elects.

Arguments:
    one: a replica.
    world: all replicas, the controller, and the messages between them.
    other: another, or the same.
    replica: any of them.
    leader: a replica that takes itself for the leader.
    below: a position, not above the other one.
"""
