"""Everything that is created on a user's cluster: under one prefix, listed, and removed at the end."""

import secrets
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from model_tests.probe.connection import BrokerFailure
from model_tests.probe.script import GROUP, PARTITIONS, SessionNames
from model_tests.probe.target import GROUP as GROUP_KIND
from model_tests.probe.target import Target, TopicInfo
from spec.vocabulary import Api

PREFIX: Final = "eos-conform"
AT_ONCE: Final = 10
"""Topics that are made together: a cluster takes about as long for ten as for one."""

USED_UP: Final = 60
"""Used topics after which they are removed while others are still used."""


@dataclass(slots=True)
class NamePool:
    """Fresh names for sessions.

    Attributes:
        target: the cluster.
        prefix: of everything that is made.
        left: what could not be removed.
    """

    target: Target
    prefix: str = field(default_factory=lambda: f"{PREFIX}-{secrets.token_hex(4)}")
    left: list[str] = field(default_factory=list)
    _fresh: deque[tuple[str, TopicInfo]] = field(default_factory=deque)
    _made: list[str] = field(default_factory=list)
    _groups: dict[str, str] = field(default_factory=dict)
    _sessions: int = 0
    _topics: int = 0

    def take(self, family: str) -> SessionNames:
        """Names that nothing was done under yet.

        Raises:
            BrokerFailure: no topic can be made.
        """
        if not self._fresh:
            self._make()
        topic, info = self._fresh.popleft()
        self._sessions += 1
        return SessionNames(f"{self.prefix}-{family}-{self._sessions}", topic, info)

    def give_back(self, names: SessionNames) -> None:
        """A session is over: its group is removed with its member, its topic later."""
        self._groups.update((names.named(GROUP), member) for member in names.members.values())

    def note_group(self, names: SessionNames) -> None:
        """A session has a group, which is to be removed."""
        self._groups[names.named(GROUP)] = ""

    def described(self) -> Iterator[str]:
        """What is made, before it is."""
        yield f"topics, groups and transactional ids that begin with {self.prefix}-; nothing else is touched"
        yield "topics and groups are removed in the end; a cluster forgets transactional ids by itself"

    def remove(self) -> None:
        """Remove what was made; what cannot be removed is in `left`."""
        if self._groups and not self.target.has(Api.DELETE_GROUPS):
            self.left.append(f"{len(self._groups)} groups, which a broker without DeleteGroups forgets by itself")
            self._groups.clear()
        for group, member in self._groups.items():
            self._try(f"group {group}", lambda group=group, member=member: self._remove_group(group, member))
        self._groups.clear()
        try:
            self.left += [f"topic {name}" for name in self.target.delete_topics(self._made)]
        except BrokerFailure:
            self.left += [f"topic {name}" for name in self._made]
        self._made.clear()
        self._fresh.clear()

    def _make(self) -> None:
        if len(self._made) >= USED_UP:
            self.remove()
        names = [f"{self.prefix}-{self._topics + number}" for number in range(AT_ONCE)]
        self._topics += AT_ONCE
        self._made += names
        found = self.target.create_topics(names, PARTITIONS)
        self._fresh.extend((name, found[name]) for name in names)

    def _remove_group(self, group: str, member: str) -> bool:
        if member:
            node, version = self.target.coordinator(GROUP_KIND, group), self.target.newest(Api.LEAVE_GROUP, 3)
            fields = {"group_id": group, "member_id": member, "members": [{"member_id": member}]}
            self.target.request(node, Api.LEAVE_GROUP, version, fields)
        return self.target.delete_group(group)

    def _try(self, what: str, remove: object) -> None:
        try:
            gone = remove() if callable(remove) else False
        except BrokerFailure:
            gone = False
        if not gone:
            self.left.append(what)
