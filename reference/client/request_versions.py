"""Which versions of its requests a producer uses, by the behaviours of the brokers it meets (ApiVersions)."""

from dataclasses import dataclass
from typing import Final

from spec.versions import Profile

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
