"""Named behaviours of Kafka's releases, and the profiles that have them.

A profile is one release (or one recorded build) seen as a set of behaviours. Decisions read behaviours,
never release names, so that a difference between versions has one name and one place.
Sources: the release branches named in the comments, and recordings of the two builds.
"""

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from spec.vocabulary import MAX_EPOCH, MAX_SEQUENCE


@dataclass(frozen=True, slots=True)
class Profile:
    """Behaviours of one release. Every default is that of the newest release.

    Attributes:
        name: release or recorded build.
        transaction_version: the feature `transaction.version`, 0, 1 or 2.
        cached_batches: batches kept per producer for duplicate detection: 5, or 1 in 0.11 (KAFKA-5494).
        recovered_batches: batches per producer known after a restart; snapshots keep the newest one.
        any_first_sequence: an unknown producer id may start at any sequence (2.5, KIP-360); before, at 0 only.
        unknown_producer_error: a producer without known sequence that does not start at 0 is answered
            UNKNOWN_PRODUCER_ID (1.0 to 2.4, KAFKA-5793) instead of OUT_OF_ORDER_SEQUENCE_NUMBER.
        unknown_after_marker: that answer also goes to a known producer of which only markers are left (2.0 to 2.4).
        first_offset_by_sequences: the first offset of a transaction is the last offset of its first batch less the
            difference of that batch's sequences (0.11 and 1.0), which is wrong for a batch that crosses the wrap, and
            for several records without sequences; so is the delta that is kept of a batch, and the first offset that
            its resend is answered. Since 2.0 they go by the batch's base offset.
        marker_replaces_batch: a marker takes the place of its producer's last batch for the detection of duplicates, as
            a batch of one record at the marker's offset (0.11), with the last sequence of its epoch where there is one.
        coordinator_data_checked: the leader compares data that a coordinator appends (offsets of a transaction) with
            the producer's epoch (2.2, first profile 2.4); before, such data is appended as it is, a lower epoch too.
        fenced_has_code: PRODUCER_FENCED has an error code of its own, 90 (2.7, KIP-588), and means at coordinators that
            an epoch is stale; before, that is INVALID_PRODUCER_EPOCH, as it is on Produce in every release.
        replica_tolerates_stale_marker: a replica logs a marker of a past epoch, or of a past coordinator, and continues
            (2.2, first profile 2.4); before, it stops. The epoch of data is checked on no replica before.
        invalid_record_has_code: INVALID_RECORD has an error code of its own, 87 (2.4, KIP-467); before, what is ill
            formed is answered CORRUPT_MESSAGE. In the profiles before, a request that has several batches for a
            partition cannot be read, so that its connection is closed, and the log does not count batches.
        records_compared_with_offsets: the count of a batch's records is compared with its offsets (2.0);
            before, a count of zero alone is refused.
        partition_verification: Produce asks the coordinator whether the partition is in the transaction (3.6, KIP-890);
            the broker's setting `transaction.partition.verification.enable` turns it off.
        verified_before_acks: the transaction of a Produce is verified, or its partition added to it, before acks are
            looked at, and batches of several ids or epochs in one request are refused whether or not partitions are
            verified (3.8, KAFKA-15987); before, acks come first, and ids alone are compared, where partitions are
            verified.
        abortable_has_code: TRANSACTION_ABORTABLE has an error code of its own, 120 (3.8, KIP-890); before, the
            coordinator answers INVALID_TXN_STATE where a verified partition is not in the transaction.
        network_exception_converted: a verification that is answered NETWORK_EXCEPTION is passed on as
            NOT_ENOUGH_REPLICAS (3.7); before, as it is.
        commits_verified: offsets that a transaction commits are verified with its coordinator as data are (3.7);
            before, they are not.
        ongoing_compares_epoch: a transaction is ongoing only for its own epoch (4.0, KAFKA-18575).
        stale_epoch_before_verification: a stale epoch is refused before the verification guard is looked at
            (4.2, and late in the branches of 4.1 and 4.0, KAFKA-19690).
        stale_epoch_before_coordinator: a stale epoch is refused before the coordinator is asked (4.1, KAFKA-18042).
        first_after_bump_is_zero: under version 2 the first sequence of a verified transaction is 0 (4.1, KAFKA-18202).
        marker_epoch_strict: under version 2 a marker must carry a bumped epoch, retries excepted (4.2, KAFKA-19446).
        marker_keeps_next_guard: a marker leaves the guard of the next transaction alone (4.0, KAFKA-18654).
        end_txn_epoch_exact: EndTxn is refused for any epoch but the current one (2.6); before, for a lower one alone,
            and for a higher one only once the outcome is written, of which no markers are sent then.
        failed_fence_remembered: the coordinator remembers that a fence raised the epoch in memory and was not written,
            and does not raise it again (2.6, KAFKA-9666); before, each try raises it once more.
        ids_from_controller: the controller hands out blocks of producer ids (3.0, KIP-730); before, the broker writes
            them into ZooKeeper, and tries until it succeeds.
        pending_checked_first: a coordinator in the middle of a transition says so before it looks at producer id and
            epoch (4.0, KAFKA-18660).
        fence_bumps_once: under version 2 the abort that fences an open transaction bumps the epoch once (4.0,
            KAFKA-19367); before, once for the fence and once more for the abort.
        fence_rotates: under version 2 the abort that fences a transaction at a client's last epoch draws the next
            producer id (4.3, KAFKA-20090); before, the id completes with epoch 32767.
        empty_abort_accepted: under version 2 an abort with the current epoch and no open transaction is carried out,
            with no partitions (4.0); before, it is refused.
        retry_by_stored_version: whether EndTxn may be a retry across an epoch bump is read from the version that the
            last transition was made with (before 4.0), not from that of the request.
        exhausted_reply_is_next: EndTxn at the last epoch answers the next producer id at once (4.0, KAFKA-18464);
            before, only its retry does.
        last_epoch_recovers: an id that reached epoch 32767 can still be ended and rotated (4.3, KAFKA-20090).
        client_version_kept: the coordinator records the transaction version of a client that adds partitions, and keeps
            it when the id becomes Empty (4.0); before, only the end of a transaction names one.
        completion_keeps_last_epoch: under version 2 the end of a transaction keeps the epoch before the bump
            (4.0), so that an InitProducerId that expects it counts as repeated; before, it is fenced.
        previous_id_always_follows: every transition overwrites the previous producer id with the current one (4.1,
            TransactionMetadata.completeTransitionTo); before, those to Empty alone and the end of a transaction of
            version 2.
        empty_clears_start: a transition to Empty clears the start time of the transaction before in memory too (4.1,
            KAFKA-15370); before, in the record alone.
        rotation_persisted: previous and next producer id are in the coordinator's log (4.3, KAFKA-20310).
        commits_fenced_by_generation: a transactional commit of offsets that names a member is compared with the group's
            members and generation (2.5, KIP-447); before, only the transactional id fences.
        empty_group_id_refused: a group with an empty id is answered INVALID_GROUP_ID where it would be coordinated, as
            by a transactional commit (2.0); before, by JoinGroup alone.
        group_not_found_has_code: a commit with a generation to a group that is not there is answered GROUP_ID_NOT_FOUND
            by the newer versions of its request (4.0); before, ILLEGAL_GENERATION by every version.
        dead_group_is_unavailable: a group that is dead on this coordinator is answered COORDINATOR_NOT_AVAILABLE before
            anything else (2.3); before, UNKNOWN_MEMBER_ID, to a SyncGroup after member and generation.
        rebalance_checked_last: a commit during a rebalance is compared with member and generation first (2.4); before,
            it is answered REBALANCE_IN_PROGRESS before these are looked at.
        current_member_validated: an instance that the group does not know is refused as such, not by JoinGroup alone;
            and a transactional commit that names an instance, a member or a generation is compared with all (3.0);
            before, a member is looked for and a generation compared only where the commit names one, in an empty group
            too.
        proposal_checked: the controller compares the sender of a proposed in-sync set with the leader, the set with the
            replicas and with the brokers that are there, and looks for epochs that it does not know yet (3.0); in 2.7
            it does not.
        stale_fetch_refused: a leader refuses the fetch of a follower's past incarnation (3.7); in 3.6 it takes the
            broker epoch over, and finds out where a set is proposed.
        offsets_verified_first: a transactional commit of offsets is compared with the group after the coordinator
            of its transaction was asked (KAFKA-15784); otherwise, a rebalance in between lets a past member in. No
            release has that window: up to 3.6 no commit of offsets is verified, and 3.7 has the fix.
        old_member_epoch_commits: a member of a consumer group (KIP-848) may commit with an older member epoch, where it
            was assigned the partition in that epoch or before (4.3, KIP-1251, KAFKA-20066; the branch of 4.2 does not
            have it); before, with its present one alone.
        scala_group_errors: an offset commit returns errors of the log as GroupMetadataManager encodes them (before
            4.0); since, as CoordinatorOperationExceptionHelper does.
        offsets_lag_marker: the marker on an offsets partition is answered before the offsets of its transaction are
            taken over or dropped (before the fix of KAFKA-17507).
        commit_creates_group: a transactional commit of offsets creates its group whatever generation it names, and
            before it is verified (group coordinator before 4.0); since, only where no generation is named.
        refused_commit_drops_pending: a transactional commit that the log refuses takes with it what the producer's
            transaction had pending for the same partitions, in memory alone (group coordinator before 4.0).
        read_offsets_create_group: a coordinator that reads the log knows the group of every offset that it met, aborted
            ones too (group coordinator of 4.0); before, of those that are still there.
        tombstone_drops_pending: a tombstone of an offset, read from the log too, drops what transactions have pending
            for it (group coordinator of 4.0); before, only a coordinator that itself deletes the offset drops that.
        leaderless_marker_dropped: a partition whose leader is unknown or not registered counts as deleted for the
            coordinator, which drops its marker and completes without it (4.3, since KAFKA-17573; KAFKA-20734); before,
            the marker waits for a leader.
        split_out_of_order: a proposed variant, in no release: a sequence below the expected one is answered
            DUPLICATE_SEQUENCE_NUMBER, one above it OUT_OF_ORDER_SEQUENCE_NUMBER.
        truncates_by_leader_epoch: a replica that returns cuts its log where the leader's epoch ends (0.11, KIP-101);
            before, at its own high watermark.
        truncation_names_epoch: the leader says which epoch ends there (2.0, KIP-279), so that a replica that does not
            have it goes further back; before, it says where alone.
        fetch_names_leader_epoch: a Fetch says which leader epoch its sender knows (2.1, KIP-320).
        fetch_finds_divergence: a Fetch also names the leader epoch of its sender's last record, and is answered where
            the two logs part (2.7, KIP-595); before, a follower asks for that before it fetches.
        insync_set_is_asked_for: a leader asks the controller for another in-sync set, and until it is answered counts
            who may be in either (2.7, KIP-497); before, it writes the set into ZooKeeper.
        quorum_controller: the controller is the leader of a Raft quorum (KRaft, 3.3); before, the broker that holds a
            node in ZooKeeper. Releases before 4.0 have both.
        replica_lag_time_max_ms: default of replica.lag.time.max.ms: 30 s since 2.5 (KIP-537), before 10 s.
        returns_at_epoch_start: a replica returns to the in-sync set only when it also has what its leader began its
            epoch with (2.1 and 2.0.1, KAFKA-7128); before, at the high watermark, which lags on a new leader.
        shrink_raises_leader_epoch: the controller raises the leader epoch when it takes a replica out of the in-sync
            set (before 3.6, KAFKA-15021).
        incarnations_compared: a replica returns to the in-sync set only in the incarnation whose fetches were counted
            (3.5, KIP-903).
        high_watermark_needs_min_isr: below min.insync.replicas the high watermark stays (3.7, KAFKA-15583).
        eligible_leader_replicas: who leaves an in-sync set that is too small stays electable, and who lost the tail of
            its log leaves even as the last one (4.1, KIP-966; 4.0 has it switched off).
        cleaner_compares_marker_keys: the cleaner takes a marker for an older version of a record whose key has the same
            bytes (before the fix of KAFKA-14055, 3.0 to 3.3 by branch).
        cleaner_keeps_last_of_round: a round of the cleaner keeps the last batch that it has read, though nothing of it
            is left (4.0 to 4.3, KAFKA-17076).
        cleaner_keeps_below_watermark: it keeps the last batch below the high watermark instead (4.4, KAFKA-20452).
        max_sequence: the sequence number after which the next one is 0; smaller in finite models, and None
            where sequences are never to wrap. Every release has 2^31-1.
        max_epoch: the epoch that only a coordinator uses, the one before being the last of a client; smaller in
            finite models. Every release has 2^15-1.
    """

    name: str
    transaction_version: int = 2
    cached_batches: int = 5
    recovered_batches: int = 1
    any_first_sequence: bool = True
    unknown_producer_error: bool = False
    unknown_after_marker: bool = False
    first_offset_by_sequences: bool = False
    marker_replaces_batch: bool = False
    coordinator_data_checked: bool = True
    fenced_has_code: bool = True
    replica_tolerates_stale_marker: bool = True
    invalid_record_has_code: bool = True
    records_compared_with_offsets: bool = True
    partition_verification: bool = True
    verified_before_acks: bool = True
    abortable_has_code: bool = True
    network_exception_converted: bool = True
    commits_verified: bool = True
    ongoing_compares_epoch: bool = True
    stale_epoch_before_verification: bool = True
    stale_epoch_before_coordinator: bool = True
    first_after_bump_is_zero: bool = True
    marker_epoch_strict: bool = True
    marker_keeps_next_guard: bool = True
    end_txn_epoch_exact: bool = True
    failed_fence_remembered: bool = True
    ids_from_controller: bool = True
    pending_checked_first: bool = True
    fence_bumps_once: bool = True
    fence_rotates: bool = True
    empty_abort_accepted: bool = True
    retry_by_stored_version: bool = False
    exhausted_reply_is_next: bool = True
    last_epoch_recovers: bool = True
    client_version_kept: bool = True
    completion_keeps_last_epoch: bool = True
    previous_id_always_follows: bool = True
    empty_clears_start: bool = True
    rotation_persisted: bool = True
    commits_fenced_by_generation: bool = True
    empty_group_id_refused: bool = True
    group_not_found_has_code: bool = True
    dead_group_is_unavailable: bool = True
    rebalance_checked_last: bool = True
    current_member_validated: bool = True
    proposal_checked: bool = True
    stale_fetch_refused: bool = True
    offsets_verified_first: bool = True
    old_member_epoch_commits: bool = True
    scala_group_errors: bool = False
    offsets_lag_marker: bool = False
    commit_creates_group: bool = False
    refused_commit_drops_pending: bool = False
    read_offsets_create_group: bool = True
    tombstone_drops_pending: bool = True
    leaderless_marker_dropped: bool = True
    split_out_of_order: bool = False
    truncates_by_leader_epoch: bool = True
    truncation_names_epoch: bool = True
    fetch_names_leader_epoch: bool = True
    fetch_finds_divergence: bool = True
    insync_set_is_asked_for: bool = True
    quorum_controller: bool = True
    replica_lag_time_max_ms: int = 30_000
    returns_at_epoch_start: bool = True
    shrink_raises_leader_epoch: bool = False
    incarnations_compared: bool = True
    high_watermark_needs_min_isr: bool = True
    eligible_leader_replicas: bool = True
    cleaner_compares_marker_keys: bool = False
    cleaner_keeps_last_of_round: bool = False
    cleaner_keeps_below_watermark: bool = True
    max_sequence: int | None = MAX_SEQUENCE
    max_epoch: int = MAX_EPOCH

    def under(self, transaction_version: int) -> "Profile":
        """The same release with another `transaction.version`."""
        return replace(self, transaction_version=transaction_version)


KAFKA_4_4: Final = Profile("4.4")
KAFKA_4_3: Final = replace(KAFKA_4_4, name="4.3", cleaner_keeps_last_of_round=True, cleaner_keeps_below_watermark=False)
KAFKA_4_2: Final = replace(
    KAFKA_4_3,
    name="4.2",
    fence_rotates=False,
    last_epoch_recovers=False,
    rotation_persisted=False,
    leaderless_marker_dropped=False,
    old_member_epoch_commits=False,
)
KAFKA_4_1: Final = replace(KAFKA_4_2, name="4.1", marker_epoch_strict=False)
KAFKA_4_0: Final = replace(
    KAFKA_4_1,
    name="4.0",
    stale_epoch_before_coordinator=False,
    first_after_bump_is_zero=False,
    eligible_leader_replicas=False,
    previous_id_always_follows=False,
    empty_clears_start=False,
)
SNAPSHOT_4_0: Final = replace(
    KAFKA_4_0,
    name="4.0-SNAPSHOT",
    ongoing_compares_epoch=False,
    marker_keeps_next_guard=False,
    pending_checked_first=False,
    fence_bumps_once=False,
    empty_abort_accepted=False,
    retry_by_stored_version=True,
    exhausted_reply_is_next=False,
    stale_epoch_before_verification=False,
    client_version_kept=False,
    completion_keeps_last_epoch=False,
)
KAFKA_3_9: Final = replace(
    SNAPSHOT_4_0,
    name="3.9.0",
    transaction_version=0,
    scala_group_errors=True,
    cleaner_keeps_last_of_round=False,
    offsets_lag_marker=True,
    commit_creates_group=True,
    refused_commit_drops_pending=True,
    read_offsets_create_group=False,
    tombstone_drops_pending=False,
    group_not_found_has_code=False,
)
BEFORE_3_7: Final = replace(KAFKA_3_9, name="before-3.7", offsets_verified_first=False, verified_before_acks=False)
"""The branch of 3.7 before the fix of KAFKA-15784. No release is like it: up to 3.6 no commit is verified."""
KAFKA_3_6: Final = replace(
    KAFKA_3_9,
    name="3.6",
    commits_verified=False,
    verified_before_acks=False,
    abortable_has_code=False,
    network_exception_converted=False,
    stale_fetch_refused=False,
    high_watermark_needs_min_isr=False,
)
KAFKA_3_9_UNVERIFIED: Final = replace(KAFKA_3_9, name="3.9.0-nover", partition_verification=False)
KAFKA_2_7: Final = replace(
    KAFKA_3_6,
    name="2.7",
    partition_verification=False,
    shrink_raises_leader_epoch=True,
    incarnations_compared=False,
    cleaner_compares_marker_keys=True,
    quorum_controller=False,
    ids_from_controller=False,
    current_member_validated=False,
    proposal_checked=False,
)
KAFKA_2_5: Final = replace(
    KAFKA_2_7,
    name="2.5",
    fenced_has_code=False,
    fetch_finds_divergence=False,
    insync_set_is_asked_for=False,
    end_txn_epoch_exact=False,
    failed_fence_remembered=False,
)
KAFKA_2_4: Final = replace(
    KAFKA_2_5,
    name="2.4",
    any_first_sequence=False,
    unknown_producer_error=True,
    unknown_after_marker=True,
    commits_fenced_by_generation=False,
    replica_lag_time_max_ms=10_000,
)
KAFKA_2_0: Final = replace(
    KAFKA_2_4,
    name="2.0",
    replica_tolerates_stale_marker=False,
    coordinator_data_checked=False,
    invalid_record_has_code=False,
    dead_group_is_unavailable=False,
    rebalance_checked_last=False,
    fetch_names_leader_epoch=False,
)
KAFKA_1_0: Final = replace(
    KAFKA_2_0,
    name="1.0",
    unknown_after_marker=False,
    truncation_names_epoch=False,
    returns_at_epoch_start=False,
    first_offset_by_sequences=True,
    records_compared_with_offsets=False,
    empty_group_id_refused=False,
)
KAFKA_0_11: Final = replace(
    KAFKA_1_0,
    name="0.11",
    cached_batches=1,
    unknown_producer_error=False,
    marker_replaces_batch=True,
)

RELEASES: Final = (
    KAFKA_0_11,
    KAFKA_1_0,
    KAFKA_2_0,
    KAFKA_2_4,
    KAFKA_2_5,
    KAFKA_2_7,
    KAFKA_3_6,
    KAFKA_3_9,
    KAFKA_3_9_UNVERIFIED,
    SNAPSHOT_4_0,
    KAFKA_4_0,
    KAFKA_4_1,
    KAFKA_4_2,
    KAFKA_4_3,
    KAFKA_4_4,
)
"""Every release and build, oldest first. One that behaves like the last is one more entry, `Profile("4.5")`."""

NEWEST: Final = RELEASES[-1]
SPLIT_OUT_OF_ORDER: Final = replace(NEWEST, name="split-out-of-order", split_out_of_order=True)

PROFILES: Final = MappingProxyType({profile.name: profile for profile in (*RELEASES, SPLIT_OUT_OF_ORDER)})
"""Every profile by release or build, oldest first; last what is only proposed."""


def oldest_alike(profile: Profile) -> Profile:
    """The oldest profile that behaves like this one: what is derived of it is true of this one, too."""
    return next((other for other in PROFILES.values() if replace(other, name=profile.name) == profile), profile)
