"""Settings of a producer (ProducerConfig), and the request versions that it uses (ApiVersions)."""

from dataclasses import dataclass
from typing import Final

from reference.client.partition_queue import MAX_IN_FLIGHT
from reference.client.partitioners import ByKey, Partitioner, RoundRobin, StickyByBatch, StickyByBytes
from reference.tape import Tape
from spec.versions import Profile

STICKY_SINCE: Final = (2, 4)
"""First release whose producers stay with a partition until a batch is full (KIP-480)."""

BYTES_SINCE: Final = (3, 3)
"""First release whose producers stay with a partition for so many bytes (KIP-794)."""


@dataclass(frozen=True, slots=True)
class ProducerSettings:
    """Settings of accumulator and sender; the defaults are those of the newest release.

    Attributes:
        batch_bytes: batch.size.
        linger_ms: linger.ms; 0 before 4.0 (KIP-1030).
        buffer_bytes: buffer.memory.
        max_block_ms: max.block.ms.
        max_request_bytes: max.request.size.
        max_in_flight: max.in.flight.requests.per.connection; with 1, a partition sends one batch at a time.
        request_timeout_ms: request.timeout.ms.
        retry_backoff_ms: retry.backoff.ms.
        retry_backoff_max_ms: retry.backoff.max.ms, up to which each attempt doubles it (3.7, KIP-580); before, all
            are alike. Kafka adds or takes a random part of up to a fifth.
        new_leader_ends_backoff: a batch whose partition has another leader by now is sent at once (3.7, KIP-951).
    """

    batch_bytes: int = 16_384
    linger_ms: int = 5
    buffer_bytes: int = 33_554_432
    max_block_ms: int = 60_000
    max_request_bytes: int = 1_048_576
    max_in_flight: int = MAX_IN_FLIGHT
    request_timeout_ms: int = 30_000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1000
    new_leader_ends_backoff: bool = True

    def backoff_ms(self, attempts: int) -> int:
        """How long a batch that was sent so many times waits before it is sent again."""
        doubled: int = self.retry_backoff_ms << min(attempts - 1, 32)
        return min(max(self.retry_backoff_ms, self.retry_backoff_max_ms), doubled)


def default_partitioner(release: tuple[int, int], tape: Tape, batch_bytes: int) -> Partitioner:
    """What a producer of a release does about a record that names no partition.

    Args:
        release: major and minor version.
        tape: of all chance.
        batch_bytes: batch.size.
    """
    if release >= BYTES_SINCE:
        return ByKey(StickyByBytes(tape, batch_bytes))
    if release >= STICKY_SINCE:
        return ByKey(StickyByBatch(tape))
    return ByKey(RoundRobin(tape.below(2**31)))


# --- Which versions of its requests a producer uses, by the behaviours of the brokers it meets (ApiVersions) --


BUMPS_SINCE: Final = 3
"""First version of InitProducerId by which a producer gets a new epoch for the one it has (KIP-360)."""

CLAIMS_SINCE: Final = 3
"""First version of TxnOffsetCommit that says which member of the group asks (KIP-447)."""


@dataclass(frozen=True, slots=True)
class RequestVersions:
    """The versions of a producer's requests.

    Attributes:
        transaction_version: the feature that they follow from.
        fenced_has_code: whether the release knows PRODUCER_FENCED; before, INVALID_PRODUCER_EPOCH says both.
    """

    transaction_version: int
    produce: int
    init_producer_id: int
    add_partitions: int
    add_offsets: int
    txn_offset_commit: int
    end_txn: int
    fenced_has_code: bool = True

    @property
    def bumps_by_ending(self) -> bool:
        """Whether the end of a transaction hands out the next epoch, and brokers add partitions (KIP-890)."""
        return self.transaction_version >= 2

    @property
    def bumps_by_asking(self) -> bool:
        """Whether the coordinator gives a new epoch to a producer that shows the one it has."""
        return self.init_producer_id >= BUMPS_SINCE


TRANSACTION_VERSION_2: Final = RequestVersions(2, 12, 5, 3, 3, 5, 5)
GENERIC_ERRORS: Final = RequestVersions(0, 11, 5, 3, 3, 4, 4)
FENCED_BY_NAME: Final = RequestVersions(0, 9, 4, 3, 3, 3, 3)
BEFORE_FENCED_BY_NAME: Final = RequestVersions(0, 8, 3, 1, 1, 3, 1, fenced_has_code=False)
BEFORE_BUMPS: Final = RequestVersions(0, 8, 1, 1, 1, 2, 1, fenced_has_code=False)


def request_versions(profile: Profile) -> RequestVersions:
    """What a producer of the same release uses."""
    if profile.transaction_version >= 2:
        return TRANSACTION_VERSION_2
    if not profile.any_first_sequence:
        return BEFORE_BUMPS
    if not profile.fenced_has_code:
        return BEFORE_FENCED_BY_NAME
    return GENERIC_ERRORS if profile.partition_verification else FENCED_BY_NAME
