"""The common part of all invariants of transactions: the account, the circumstances, and the latest events."""

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from model_tests.machines.rule_counts import Ledger
from model_tests.machines.transaction_setting import TransactionSetting
from spec.rules import Rule

LATEST: Final = 12
"""The number of events in a message."""


@dataclass(slots=True)
class TransactionWatch:
    """An onlooker's notes.

    Attributes:
        step: events so far.
        doing: the latest of them.
        delayed: a request has arrived that its sender did not wait for any more.
        forgotten: producer state has expired.
    """

    setting: TransactionSetting
    ledger: Ledger
    step: int = 0
    doing: deque[str] = field(default_factory=lambda: deque(maxlen=LATEST))
    delayed: bool = False
    forgotten: bool = False

    def happens(self, event: str) -> None:
        """An event begins."""
        self.step += 1
        self.doing.append(event)
        self.ledger.steps += 1

    def expect(self, rule: Rule, holds: bool, message: str) -> None:
        """Note that a rule was at stake, and a violation unless it holds; `said` is what is wrong then."""
        if holds:
            self.ledger.expect(rule, True, "")
            return
        circumstances = self.setting.circumstances(delayed=self.delayed, forgotten=self.forgotten)
        profile = self.setting.profile
        where = f"{profile.name}, transaction version {profile.transaction_version}"
        self.ledger.expect(rule, False, f"{message} ({where}; after {'; '.join(self.doing)})", circumstances)
