"""The rows of a client history in the trace schema: one for each event, whatever form it was read from."""

from enum import StrEnum, unique
from typing import Final


@unique
class HistoryEvent(StrEnum):
    """What a row reports, by the row's `api`; between `INVOKED` and an outcome all rows are of one operation."""

    INVOKED = "ClientInvoked"
    SENT = "ClientSent"  # a record that was to be sent, with its offset if it was acknowledged with one
    GIVEN = "ClientGiven"  # a record that a reader was given
    OK = "ClientOk"
    INFO = "ClientInfo"  # it is not known whether the operation happened
    FAIL = "ClientFail"
    UNPLACED = "ClientUnplaced"  # it is not known how the process comes to its partitions
    ASSIGNED = "ClientAssigned"  # it chooses its partitions
    SUBSCRIBED = "ClientSubscribed"  # its group chooses them, at any time
    TRACKED = "ClientTracked"  # likewise, and each such time has a row
    RESET = "ClientReset"  # the process begins anew with all partitions but those that are kept
    KEPT = "ClientKept"
    BROKEN = "ClientBroken"  # it need not read on in a partition
    FROM_START = "ClientFromStart"  # some process reads a partition from its start
    PARTIAL = "ClientPartial"  # why the history is not whole
    UNREAD = "ClientUnread"  # lines that could not be read, by reason


HISTORY_APIS: Final = frozenset(map(str, HistoryEvent))
"""The apis of all these rows."""

OUTCOMES: Final = frozenset(map(str, (HistoryEvent.OK, HistoryEvent.INFO, HistoryEvent.FAIL)))
"""Those with which an operation ends."""
