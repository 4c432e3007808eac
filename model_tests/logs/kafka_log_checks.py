"""What may be wrong with the body of a batch."""

from enum import StrEnum, unique
from typing import NamedTuple


@unique
class BodyCheck(StrEnum):
    """What is looked at in a batch's body, in this order; a later check cannot be made where an earlier one fails."""

    CODEC = "codec"
    COMPRESSION = "compression"
    SIZE = "size"
    VARINT = "varint"
    FIELD_LENGTH = "field_length"
    RECORD_LENGTH = "record_length"
    RECORD_COUNT = "record_count"
    OFFSET_DELTA = "offset_delta"
    MAX_TIMESTAMP = "max_timestamp"
    PADDED_VARINT = "padded_varint"
    BASE_TIMESTAMP = "base_timestamp"


class BodyDamage(NamedTuple):
    """What is wrong with the body of a batch.

    Attributes:
        batch: number of the batch.
        record: number of the record in it, -1 where it is about none.
    """

    batch: int
    check: BodyCheck
    message: str
    record: int = -1
