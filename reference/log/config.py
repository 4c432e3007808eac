"""The settings of a log that shape its files (LogConfig); defaults are Kafka's."""

from typing import Final, NamedTuple

from reference.log import sparse_index

UNLIMITED: Final = -1  # Kafka's number for no limit, the default of log.retention.bytes
_DAY_MS: Final = 24 * 60 * 60 * 1000  # milliseconds


class LogConfig(NamedTuple):
    """Settings by Kafka's names.

    Attributes:
        segment_bytes: a segment that would grow beyond is followed by a new one.
        segment_ms: so is one whose first batch is that much older than what comes.
        index_interval_bytes: an index entry is due once more than this was appended since the last one.
        segment_index_bytes: size to which an index is preallocated; a full one also ends the segment.
        retention_ms: segments whose newest record is older go, -1 never.
        retention_bytes: the oldest segments go while the log stays at least this large, -1 never.
        delete_retention_ms: how long tombstones and markers stay after the cleaner could have removed them.
        compacts: `cleanup.policy` is compact: the cleaner keeps the newest record of each key.
    """

    segment_bytes: int = 1024**3
    segment_ms: int = 7 * _DAY_MS
    index_interval_bytes: int = sparse_index.INTERVAL
    segment_index_bytes: int = sparse_index.PREALLOCATED
    retention_ms: int = 7 * _DAY_MS
    retention_bytes: int = UNLIMITED
    delete_retention_ms: int = _DAY_MS
    compacts: bool = False

    @property
    def index_file_size(self) -> int:
        """Bytes of a preallocated offset index."""
        return self.segment_index_bytes // sparse_index.OFFSET_ENTRY_SIZE * sparse_index.OFFSET_ENTRY_SIZE

    @property
    def time_index_file_size(self) -> int:
        """Bytes of a preallocated time index."""
        return self.segment_index_bytes // sparse_index.TIME_ENTRY_SIZE * sparse_index.TIME_ENTRY_SIZE


DEFAULT: Final = LogConfig()
