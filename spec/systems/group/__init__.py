"""A group that reads a partition: members come and go, and what they have processed counts when its offset does.

Arguments:
    state: of the system, before what is asked of it happens.
    generation: any, also one that has not come yet; its member is meant.
    run: what a member works on between two commits of its offset.
    other: another run.
    position: of a record in the partition that the group reads.
    offset: the one that a commit names: that after the last record.
    bound: up to where a fetch is answered, not included.
    way: how the run's offset is committed.
"""
