"""One partition and its replicas: a leader appends, followers copy, the controller elects.

Arguments:
    one: a replica.
    world: all replicas, the controller, and the messages between them.
    other: another, or the same.
    replica: any of them.
    below: a position, not above the other one.
"""
