"""What has been counted so far, for the terminal and for the report."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from model_tests.record.exchange import Exchange, error_name, errors_in
from spec.rules import Rule
from spec.vocabulary import Api, ErrorCode

FENCES: Final = frozenset(
    {
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.TRANSACTION_COORDINATOR_FENCED,
        ErrorCode.FENCED_INSTANCE_ID,
    }
)
"""Answers by which one instance learns that another has taken its place."""

GROUP_FENCES: Final = frozenset({ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID})
"""Likewise for offsets: a member of a generation that is over."""

OFFSETS: Final = (Api.OFFSET_COMMIT, Api.TXN_OFFSET_COMMIT)
SHOWN: Final = 100
"""Contradictions that the report describes; all are counted."""

MOST_KINDS: Final = 10_000
"""Kinds of software and errors that are counted apart; clients may change their names without end."""

OTHERS: Final = "others"


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Answers that cannot all be true.

    Attributes:
        rule: that they break.
        what: in one line.
    """

    rule: Rule
    what: str


@dataclass(slots=True)
class Counts:
    """Numbers of a run.

    Attributes:
        requests: by software and api.
        errors: by software, api and name of the error.
        outcomes: transactions by how they ended.
        faults: what went wrong on the way, by name.
        fences: answers by which an instance learned that it is fenced.
        duplicates: batches that were acknowledged once more, as duplicates.
        records: records that were acknowledged.
        unread: requests and answers that passed undecoded, by api and version.
        not_journaled: acknowledged batches that the journal lacks, by the reason.
        connections: of clients.
        closed: connections that were closed because of what came over them.
        contradicted: contradictions; `contradictions` has the first of them.
    """

    requests: Counter[tuple[str, str]] = field(default_factory=Counter)
    errors: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    fences: int = 0
    duplicates: int = 0
    records: int = 0
    unread: Counter[str] = field(default_factory=Counter)
    not_journaled: Counter[str] = field(default_factory=Counter)
    connections: int = 0
    closed: int = 0
    contradicted: int = 0
    contradictions: list[Contradiction] = field(default_factory=list)

    def requested(self, exchange: Exchange) -> None:
        """A request has come from a client."""
        key = exchange.link.software, exchange.api
        full = len(self.requests) >= MOST_KINDS and key not in self.requests
        self.requests[(OTHERS, exchange.api) if full else key] += 1

    def answered(self, exchange: Exchange) -> None:
        """A broker has answered."""
        if exchange.answer is None:
            return
        for code in errors_in(exchange.answer):
            key = exchange.link.software, exchange.api, error_name(code)
            full = len(self.errors) >= MOST_KINDS and key not in self.errors
            self.errors[(OTHERS, *key[1:]) if full else key] += 1
            if code in FENCES or (code in GROUP_FENCES and exchange.api in OFFSETS):
                self.fences += 1

    def contradicts(self, rule: Rule, what: str) -> None:
        """Answers cannot all be true."""
        self.contradicted += 1
        if len(self.contradictions) < SHOWN:
            self.contradictions.append(Contradiction(rule, what))
