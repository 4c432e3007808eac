from collections import defaultdict

import pytest

from reference.cluster import Cluster, client_name
from reference.faults import STATE_RETAINED
from reference.schedule import ProducerScheduler
from reference.tape import Tape
from spec.versions import KAFKA_0_11, KAFKA_2_4, NEWEST, Profile


def logged(cluster: Cluster) -> dict[str, list[object]]:
    """Ordinals of the batches in the leader's log, in log order, by producer."""
    appended = {
        (row["producer_id"], row["producer_epoch"], row["base_sequence"]): (str(row["client"]), row["batch"])
        for row in cluster.recorder.rows
        if row["api"] == "Produce" and row["appended"]
    }
    found: defaultdict[str, list[object]] = defaultdict(list)
    for batch in cluster.partitions[0].leader.log:
        client, ordinal = appended[batch.producer_id, batch.producer_epoch, batch.base_sequence]
        found[client].append(ordinal)
    return found


@pytest.mark.parametrize("profile", [NEWEST, KAFKA_2_4, KAFKA_0_11], ids=lambda profile: profile.name)
@pytest.mark.parametrize("seed", range(6))
def test_while_state_is_retained_every_batch_is_there_once_and_in_order(seed: int, profile: Profile) -> None:
    """Breaks, copies and failovers: what was acknowledged is in the log exactly once, in the order of sending."""
    cluster = Cluster(profile, trace=seed)
    scheduler = ProducerScheduler(cluster, Tape.seeded(seed), STATE_RETAINED)
    for _ in range(800):
        scheduler.turn()

    settled = scheduler.settle()

    assert settled
    found = logged(cluster)
    for number, producer in enumerate(cluster.producers):
        acknowledged = [batch.ordinal for _, batch in producer.history if batch.outcome]
        assert len(acknowledged) > 20
        assert acknowledged == found[client_name(number)]
