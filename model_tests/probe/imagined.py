"""A broker that is imagined: it answers a script as the specification of a release does, without a network.

What a release answers is known before any broker is asked. So sessions that distinguish two releases can be searched
for, and what no session distinguishes can be said.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from model_tests.conform.answers import Answer, ObservableState, RecordedJoin
from model_tests.conform.api_versions import TAKEN
from model_tests.conform.compare import Symbols
from model_tests.conform.decision_log import Decision
from model_tests.conform.fields import Json, SessionFields
from model_tests.conform.on_specification import OnSpecification
from model_tests.conform.recorded_answers import BUMPS_SINCE, as_recorded, ids_in, state_as_recorded
from model_tests.conform.recorded_requests import request_of, resolved
from model_tests.conform.sessions import DEFAULT_SEGMENT_BYTES, SessionStep, step_of
from model_tests.conform.side_by_side import MakeSide
from model_tests.probe.client import OPEN, Sent, knowledge_of, recorded_api
from model_tests.probe.observing import STABLE_SINCE, Level
from model_tests.probe.requests import Announced, version_of
from model_tests.probe.script import (
    AWAIT,
    COPY,
    EXHAUST,
    GROUP,
    JOIN,
    OFFSETS_TOPIC,
    PARTITIONS,
    SETTLE,
    TOPIC,
    Script,
    ScriptAction,
    SessionNames,
)
from model_tests.probe.target import TopicInfo
from spec.versions import Profile
from spec.vocabulary import NO_PRODUCER_ID, Api

IMAGINED: Final = "imagined"
GROUPS: Final = "C"
"""The family of sessions that have a group."""

RECORDER: Final[Mapping[str, dict[str, Any]]] = MappingProxyType({SETTLE: {}, JOIN: {"group": GROUP}})
"""What is no request of its own, and is written so."""


def level_under(profile: Profile) -> Level:
    """How much of its state a broker of a release shows."""
    return Level.FULL if Api.LIST_TRANSACTIONS in TAKEN[profile.name] else Level.OFFSETS


class ImaginedBroker:
    """A broker of a profile, and the client that plays a script on it."""

    def __init__(
        self,
        profile: Profile,
        script: Script,
        make: MakeSide = OnSpecification,
        announced: Announced | None = None,
    ) -> None:
        """A fresh broker for one script.

        Args:
            profile: of the broker.
            script: that is played on it.
            make: what answers.
            announced: the versions that the client sends; None for all that the release takes.
        """
        self._announced = TAKEN[profile.name] if announced is None else announced
        self._profile = profile
        self._script = script
        self._names = SessionNames(IMAGINED, TOPIC, TopicInfo(0, "", (0,) * PARTITIONS))
        self._client = knowledge_of(self._names, profile)
        self._side = make(profile, self._names.partitions, DEFAULT_SEGMENT_BYTES)
        self._symbols = Symbols()
        self._asked = self._observed()
        self._origins: list[int] = []

    @property
    def partitions(self) -> tuple[str, ...]:
        """Of the topic."""
        return self._names.partitions

    @property
    def decided(self) -> tuple[Decision, ...]:
        """The decisions on the last step, if the specification made them."""
        return self._side.decided if isinstance(self._side, OnSpecification) else ()

    def steps(self) -> Iterator[tuple[int, SessionStep]]:
        """The key of each action that can be done, and its step."""
        for action in self._script.actions:
            sent = self._prepared(action)
            if sent is not None:
                yield action.key, self._done(action, sent)

    def _prepared(self, action: ScriptAction) -> Sent | None:
        """What an action sends; None where it means nothing here."""
        if action.api == COPY:
            return self._client.sent.get(action.original)
        place = len(self._origins)
        if action.api == EXHAUST:
            bumps = self._client.request(action, 0)
            return None if bumps is None else Sent(place, EXHAUST, 0, bumps, {})
        if action.api == AWAIT:
            known, awaited = self._side.seen().transactions.get(action.who), self._client.request(action, 0)
            shown = level_under(self._profile) is Level.FULL and known is not None and known.state == OPEN
            return Sent(place, AWAIT, 0, awaited, {}) if awaited and shown else None
        if action.api in RECORDER:
            instance = {"group_instance_id": action.instance or None} if action.api == JOIN else {}
            return Sent(place, action.api, 0, RECORDER[action.api] | instance, {})
        version = version_of(self._announced, self._profile, action, explicit=self._script.legacy)
        request = None if version is None else self._client.request(action, version)
        if version is None or request is None:
            return None
        return Sent(place, recorded_api(action.api, request), version, request, {})

    def _done(self, action: ScriptAction, sent: Sent) -> SessionStep:
        step: dict[str, Any] = {"api": sent.api, "version": sent.version, "request": sent.request}
        if action.api == COPY:
            step["replay_of"] = sent.place
        self._origins.append(self._origins[sent.place] if action.api == COPY else len(self._origins))
        unseen: dict[str, Any] = {"after": {"producers": {}}} if sent.api == AWAIT else {}
        requested = request_of(sent.api, SessionFields(IMAGINED, step | unseen), self._origins[-1])
        answer = self._side.answer(resolved(requested, self._symbols.number, self._symbols.member))
        seen = self._side.seen()
        self._meet(answer, seen)
        identified = sent.api == Api.END_TXN and sent.version >= BUMPS_SINCE
        form = {"producer_id": NO_PRODUCER_ID} if identified else {}
        step["response"] = as_recorded(answer, form, self._symbols.symbol) or {"error": "NONE", "error_code": 0}
        step["after"] = self._after(seen)
        if action.api == JOIN:
            self._client.joined = True
        elif action.api not in (SETTLE, AWAIT):
            self._client.take(action, sent, step["response"])
        whole = self._asked.keys() >= {"producers", "offsets"}
        return step_of(SessionFields(IMAGINED, step), self._origins[-1], self._profile, whole=whole)

    def _meet(self, answer: Answer, seen: ObservableState) -> None:
        for number in ids_in(answer, seen):
            self._symbols.meet(number)
            self._names.meet(number)
        if isinstance(answer, RecordedJoin):
            self._symbols.meet_member(answer.member)
        for partition in seen.partitions.values():
            for producer in partition.producers:
                self._names.coordinator_epoch(producer.producer_id, producer.coordinator_epoch)

    # --- the state that is observed -------------------------------------------------------------------------------

    def _observed(self) -> dict[str, Any]:
        """What of the state a session records, with the names that are asked for."""
        ids = sorted({action.who for action in self._script.actions if action.who.startswith("t")})
        groups = self._script.family == GROUPS
        requested: dict[str, Any] = {"offsets": {}}
        if groups and TAKEN[self._profile.name][Api.OFFSET_FETCH][1] >= STABLE_SINCE:
            requested["groups"] = {GROUP: {each: {} for each in self.partitions}}
        if level_under(self._profile) is Level.FULL:
            requested["producers"] = {f"{OFFSETS_TOPIC}[{GROUP}]": {}} if groups else {}
            if ids:
                requested["transactions"] = {each: {} for each in ids}
        return requested

    def _after(self, seen: ObservableState) -> Json:
        written = state_as_recorded(seen, self._asked, self._symbols.symbol)
        producers = {where: list(known.values()) for where, known in written["producers"].items()}
        return {part: producers if part == "producers" else written[part] for part in self._asked}
