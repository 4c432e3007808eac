"""Systems: decisions composed with clients, a network and faults; and lemmas of decisions for all inputs.

Arguments:
    profile: the release whose behaviours the decision reads.
    entry: the partition's state of the batch's producer.
    request: the batch that arrives.
    seen: the partition's state of the verification.
    decide: the decision, or the step, that the fact is about.
    state: of the whole system, before the action.
    partition: which one.
    batch: its number, from 0, in the order in which its client made it.
    epoch: that it carries, or is to have.
    position: in the log, counted in batches from 0.
"""
