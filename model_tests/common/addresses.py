"""Addresses of brokers, as users write them."""

from collections.abc import Iterator
from typing import Final, NamedTuple

LAST_PORT: Final = 2**16 - 1
"""A port has 16 bits."""


class Address(NamedTuple):
    """Where a broker listens.

    Attributes:
        host: its name or IP address.
        port: its port.
    """

    host: str
    port: int

    def __str__(self) -> str:
        """As users write it: an IPv6 address in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def address_of(text: str, least_port: int = 1) -> Address:
    """Host and port from HOST:PORT.

    Args:
        text: as a user wrote it.
        least_port: 0 where a free port may be chosen.

    Raises:
        ValueError: it is neither; the message is the text.
    """
    host, _, port = text.strip().rpartition(":")
    if not host or not port.isdecimal() or not least_port <= int(port) <= LAST_PORT:
        raise ValueError(text.strip())
    return Address(host.strip("[]"), int(port))


def addresses_of(text: str) -> Iterator[Address]:
    """Addresses from HOST:PORT[,HOST:PORT].

    Raises:
        ValueError: one is none; the message is its text.
    """
    return (address_of(each) for each in text.split(","))
