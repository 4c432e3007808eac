"""FindCoordinator: which partition of an internal topic a transactional id or a group belongs to.

The leader of that partition of `__transaction_state` or `__consumer_offsets` coordinates it.
Sources: TransactionStateManager.partitionFor, GroupMetadataManager.partitionFor, String.hashCode.
"""

from struct import unpack
from typing import Final

from spec.algebra import Term, choose

SMALLEST: Final = -(2**31)
"""The hash that has no positive counterpart in 32 bits."""


def partition_of(name_hash: Term, partitions: Term) -> Term:
    """The partition: the hash without its sign, modulo their number; the smallest hash counts as 0."""
    unsigned = choose(name_hash < 0, 0 - name_hash, name_hash)
    return choose(name_hash == SMALLEST, 0, unsigned) % partitions


def hash_of(name: str) -> int:
    """Java's hash of a string: a polynomial in 31 over its UTF-16 units, in 32 bits with sign."""
    encoded = name.encode("utf-16-be", "surrogatepass")
    units = unpack(f">{len(encoded) // 2}H", encoded)
    whole: int = sum(unit * 31**power for power, unit in enumerate(reversed(units)))
    return (whole - SMALLEST) % 2**32 + SMALLEST
