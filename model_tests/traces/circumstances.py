"""In which circumstances a step was made, as far as its release says."""

from spec.rules import Circumstances
from spec.versions import KAFKA_3_9_UNVERIFIED, Profile


def circumstances_of(profile: Profile) -> Circumstances:
    """What a profile says about the circumstances of a run; a release that has no verification lacks nothing."""
    return Circumstances(
        transaction_version=profile.transaction_version,
        marker_epoch_checked=profile.marker_epoch_strict,
        partition_verification=profile.name != KAFKA_3_9_UNVERIFIED.name,
    )
