from reference.network import Network


def test_a_connection_keeps_its_order() -> None:
    """In order, only the oldest message of each connection can come next."""
    network: Network[str] = Network(ordered=True)
    for channel, payload in ((1, "a"), (1, "b"), (2, "c")):
        network.send(channel, payload)

    assert ["a", "c"] == [message.payload for message in network.deliverable()]


def test_without_order_everything_can_come_next() -> None:
    """Out of order, any message can."""
    network: Network[str] = Network(ordered=False)
    for payload in "abc":
        network.send(1, payload)

    assert ["a", "b", "c"] == [message.payload for message in network.deliverable()]


def test_a_copy_comes_later_with_the_same_number() -> None:
    """A delivered message may leave a copy, which holds up nothing."""
    network: Network[str] = Network()
    sent = network.send(1, "a")
    network.send(1, "b")

    network.deliver(sent, leave_copy=True)

    assert [("b", 1, False), ("a", 0, True)] == [(m.payload, m.number, m.copy) for m in network.deliverable()]


def test_a_break_takes_the_tail() -> None:
    """What was sent last is lost; what arrives is a beginning of what was sent."""
    network: Network[str] = Network()
    for payload in "abc":
        network.send(1, payload)
    network.send(2, "d")

    network.cut(1, 1)

    assert ["a", "d"] == [message.payload for message in network.in_transit]
