"""One script played on a live broker: each step is recorded as a session, and judged as `eos conform FILE` does."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any, Final, NamedTuple

from model_tests.conform.fields import MalformedSession, SessionFields
from model_tests.conform.sessions import Session, SessionStep, profile_of, step_of
from model_tests.conform.side_by_side import SideBySide, StepComparison
from model_tests.probe.answers import recorded
from model_tests.probe.client import JOINED, TIMEOUT_MS, ClientKnowledge, Sent
from model_tests.probe.names import GROUP, TOPIC, SessionNames
from model_tests.probe.observing import Level, NotObservable, Observer
from model_tests.probe.requests import fields_of
from model_tests.probe.script import COPY, JOIN, SETTLE, Action, Script
from model_tests.probe.target import GROUP as GROUP_KIND
from model_tests.probe.target import PAUSE_S, TRANSACTION, TRANSIENT, Request, Target, attempts, name_of
from model_tests.probe.versions import version_of
from spec.versions import Profile
from spec.vocabulary import Api, ErrorCode


class Patience(NamedTuple):
    """How long a state is looked at again that is not as it should be, in seconds.

    Attributes:
        settles_s: while markers are owed of a transaction that the specification completes.
        agrees_s: otherwise; a broker shows some of its state only a moment later.
    """

    settles_s: float = 30.0
    agrees_s: float = 2.0


PATIENT: Final = Patience()
HASTY: Final = Patience(1.5, 0.5)
"""For sessions that are played to see again what a patient one has shown."""

SOON_S: Final = 0.5
"""After which a state in which markers are owed is judged as it is: some transactions never complete."""

COMPLETES_S: Final = 3.0
"""How long a request is sent again that the transaction before refuses, where its completion cannot be seen."""

UNREADY_S: Final = 20.0
"""How long a request is sent again that a leader or coordinator is not ready for."""

UNREADY: Final = "a leader or coordinator was not ready"
NO_ORDER: Final = "two connections raced, and no order of the two requests explains the answers"
COMPLETING: Final = "the transaction before may not have been complete, which this broker does not show"
UNRECORDED: Final = "the answer cannot be written as a session"

BATCHED: Final = ("INVALID_TXN_STATE", "TRANSACTION_ABORTABLE")
"""The names of the error of a verification that requests of other clients may decide between."""

SESSION_MS: Final = 1_800_000
"""Session timeout of a group's member: it outlives its session."""


@dataclass(slots=True)
class Played:
    """A session that was played.

    Attributes:
        session: in the format of recorded sessions.
        keys: of the actions, one for each of its steps, -1 where it has none.
        comparisons: of its steps, as far as they were judged.
        typed: its steps, as they were judged.
        partitions: of its topic.
        undecided: why it ended before its script did, empty if it did not.
    """

    script: Script
    session: dict[str, Any]
    keys: list[int] = field(default_factory=list)
    comparisons: list[StepComparison] = field(default_factory=list)
    typed: list[SessionStep] = field(default_factory=list)
    partitions: tuple[str, ...] = ()
    undecided: str = ""

    @property
    def disagreed(self) -> StepComparison | None:
        """The step at which specification or reference differ from the broker: always the last one."""
        return self.comparisons[-1] if self.comparisons and self.comparisons[-1].disagreed else None


class _Ended(Exception):
    """The session cannot be judged any further; the message says why."""


class Player:
    """A script on its way through a broker."""

    def __init__(
        self,
        target: Target,
        profile: Profile,
        level: Level,
        names: SessionNames,
        script: Script,
        *,
        shared: bool,
        patience: Patience = PATIENT,
        stops: bool = True,
    ) -> None:
        """A fresh session.

        Args:
            target: the broker.
            profile: that it is held against.
            level: how much of its state can be asked for.
            names: of the session, fresh.
            script: what to do.
            shared: other clients may use the broker at the same time.
            patience: with states that differ.
            stops: the session ends where it differs; else it goes on, and is not judged any further.
        """
        ids = sorted({action.who for action in script.actions if action.who.startswith("t")})
        group = script.family == "C"
        self._target = target
        self._profile = profile
        self._names = names
        self._script = script
        self._shared = shared
        self._patience = patience
        self._stops = stops
        self._client = ClientKnowledge(names, profile.transaction_version, profile.max_epoch)
        self._observer = Observer(target, names, level, ids, groups=group)
        self._unsettled = False
        self._owing: dict[str, set[str]] = {}
        self._completing: set[str] = set()
        self._offsets: Mapping[str, Any] = {}
        self._steps: list[dict[str, Any]] = []
        self._origins: list[int] = []
        self._played = Played(script, {}, partitions=names.partitions)
        self._judge: SideBySide | None = None

    def play(self) -> Played:
        """Play the script to its end, or to the first step that differs.

        Raises:
            BrokerFailure: the broker does not answer.
        """
        self._observer.begin()
        self._played.session = self._header()
        actions, place = self._script.actions, 0
        try:
            while place < len(actions) and not (self._stops and self._played.disagreed is not None):
                racing = self._racing(actions[place:])
                if len(racing) > 1:
                    self._race(racing)
                else:
                    self._act(actions[place])
                place += len(racing)
        except _Ended as ended:
            self._played.undecided = str(ended)
        self._played.session["steps"] = self._steps
        self._played.typed = [self._typed(place) for place in range(len(self._steps))]
        return self._played

    def _header(self) -> dict[str, Any]:
        return {
            "id": self._names.prefix,
            "family": self._script.family,
            "kafka": self._profile.name,
            "txn_version": self._profile.transaction_version,
            "config": {"verification": self._profile.partition_verification, "seed": self._script.seed},
            "topics": {TOPIC: {"partitions": len(self._names.partitions)}},
            "transactional_ids": list(self._observer.ids),
            "groups": [GROUP] if self._observer.groups else [],
            "observed": str(self._observer.level),
            "announced": {api: list(found) for api, found in sorted(self._target.announced.items())},
            "steps": [],
        }

    # --- single requests ------------------------------------------------------------------------------------------

    def _act(self, action: Action) -> None:
        """Do one step, if it can be done."""
        if action.api == SETTLE:
            self._settle()
            self._record(action, {"api": SETTLE, "version": 0, "request": {}, "response": _error(0)}, observed=True)
            return
        if not action.racy and self._unsettled:
            self._settle()
        if action.api == JOIN:
            self._join(action)
            return
        sent = self._prepared(action)
        if sent is None:
            return
        answer = self._answered(sent)
        self._note_end(sent, answer)
        self._finish(action, sent, answer)

    def _prepared(self, action: Action) -> Sent | None:
        """The request of an action; None where it means nothing here."""
        index = len(self._steps)
        if action.api == COPY:
            original = self._client.sent.get(action.original)
            return None if original is None else original
        version = version_of(
            self._target.announced, self._profile, action.api, action.version, explicit=self._script.legacy
        )
        request = None if version is None else self._client.request(action, version)
        if version is None or request is None:
            return None
        fields = fields_of(action.api, request, self._names, f"s{index}", time.time_ns() // 1_000_000)
        return Sent(index, action.api, version, request, fields)

    def _answered(self, sent: Sent) -> dict[str, Any]:
        """The answer as it is recorded, once the node that should give it is ready to.

        Raises:
            _Ended: it is not for too long.
        """
        completes_until = time.monotonic() + COMPLETES_S
        for number in attempts(UNREADY_S):
            request = Request(self._node(sent, anew=number > 0), sent.api, sent.version, sent.fields)
            answer = self._recorded(sent, self._target.ask(*request))
            completing = self._is_completing(sent, answer) and time.monotonic() < completes_until
            if not completing and not self._is_unready(sent, answer):
                return answer
        raise _Ended(UNREADY)

    def _recorded(self, sent: Sent, answer: Any) -> dict[str, Any]:
        try:
            return recorded(sent.api, sent.version, answer, sent.request, self._names)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise _Ended(f"{UNRECORDED}: {sent.api} without {error}") from error

    def _is_unready(self, sent: Sent, answer: Mapping[str, Any]) -> bool:
        """Whether the cluster asks to send it again, and nothing has come of it."""
        code = answer["error_code"]
        unheard = sent.api == Api.ADD_PARTITIONS_TO_TXN and code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return code in TRANSIENT or unheard  # the topic is there; the coordinator has not heard of it yet

    def _is_completing(self, sent: Sent, answer: Mapping[str, Any]) -> bool:
        """Whether the transaction before is in the way, on a broker that does not show when it is complete."""
        refused = answer["error_code"] == ErrorCode.CONCURRENT_TRANSACTIONS
        return refused and not self._unsettled and sent.request.get("transactional_id") in self._completing

    def _node(self, sent: Sent, *, anew: bool) -> int:
        match sent.api:
            case Api.PRODUCE | Api.FETCH:
                return self._leader(sent.request["partition"], anew=anew)
            case Api.WRITE_TXN_MARKERS:
                return self._leader(sent.request["markers"][0]["partitions"][0], anew=anew)
            case Api.TXN_OFFSET_COMMIT | Api.OFFSET_COMMIT | Api.OFFSET_FETCH:
                return self._target.coordinator(GROUP_KIND, self._names.named(GROUP), anew=anew)
            case Api.LIST_TRANSACTIONS:
                return self._target.coordinator(TRANSACTION, self._names.named(self._observer.ids[0]), anew=anew)
        named = sent.request["transactional_id"]
        return -1 if named is None else self._target.coordinator(TRANSACTION, self._names.named(named), anew=anew)

    def _leader(self, partition: str, *, anew: bool) -> int:
        if anew:
            self._names.info = self._target.described_topics([self._names.topic])[self._names.topic]
        return self._names.leader(int(partition.rpartition("-")[2]))

    def _finish(self, action: Action, sent: Sent, answer: dict[str, Any]) -> None:
        """Learn from the answer, wait for what it set under way, record and judge."""
        step = self._step(action, sent, answer)
        self._client.take(action, sent, answer)
        if action.racy:
            self._unsettled = True
            self._record(action, {**step, "racy": True}, observed=False)
            return
        self._record(action, step, observed=True)

    def _step(self, action: Action, sent: Sent, answer: dict[str, Any]) -> dict[str, Any]:
        step = {"api": sent.api, "version": sent.version, "request": sent.request, "response": answer}
        if action.api == COPY:
            step["replay_of"] = sent.place
        asks = sent.api in (Api.PRODUCE, Api.TXN_OFFSET_COMMIT) and answer["error"] in BATCHED
        return (
            {**step, "racy_error": "verification_batching", "accept_errors": BATCHED} if asks and self._shared else step
        )

    # --- the group ------------------------------------------------------------------------------------------------

    def _join(self, action: Action) -> None:
        """The only member joins; it gets its id first where the release wants that."""
        version = self._target.newest(Api.JOIN_GROUP, 5)
        group = self._names.named(GROUP)
        node = self._target.coordinator(GROUP_KIND, group)
        fields = {
            "group_id": group,
            "session_timeout_ms": SESSION_MS if self._target.has(Api.OFFSET_DELETE) else 300_000,
            "rebalance_timeout_ms": TIMEOUT_MS,
            "member_id": "",
            "group_instance_id": None,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": b""}],
        }
        joined = self._target.ask(node, Api.JOIN_GROUP, version, fields)
        if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            joined = self._target.ask(node, Api.JOIN_GROUP, version, {**fields, "member_id": joined.member_id})
        if joined.error_code:
            raise _Ended(f"{UNREADY}: JoinGroup is answered {name_of(joined.error_code)}")
        member, generation = joined.member_id, int(joined.generation_id)
        synced = self._target.ask(
            node,
            Api.SYNC_GROUP,
            self._target.newest(Api.SYNC_GROUP, 3),
            {
                "group_id": group,
                "generation_id": generation,
                "member_id": member,
                "assignments": [{"member_id": member, "assignment": b""}],
            },
        )
        self._names.members[JOINED] = member
        self._client.joined = True
        response = {**_error(int(synced.error_code)), "member": JOINED, "generation": generation}
        request = {"group": GROUP, "group_instance_id": None}
        self._record(action, {"api": JOIN, "version": 0, "request": request, "response": response}, observed=True)

    # --- markers --------------------------------------------------------------------------------------------------

    def _note_end(self, sent: Sent, answer: Mapping[str, Any]) -> None:
        """Keep account of the partitions that are owed a marker once their transaction ends."""
        who = str(sent.request.get("transactional_id"))
        error = answer["error"]
        if sent.api == Api.ADD_PARTITIONS_TO_TXN and error == "NONE":
            self._owing.setdefault(who, set()).update(sent.request["partitions"])
        ends = (sent.api == Api.END_TXN and error == "NONE") or (
            sent.api == Api.INIT_PRODUCER_ID and error == "CONCURRENT_TRANSACTIONS"
        )
        if not ends:
            self._completing.discard(who)
        elif not self._observer.sees_transactions:
            self._completing.add(who)
            self._await_ends(self._owing.pop(who, set()))

    def _await_ends(self, partitions: set[str]) -> None:
        """Wait until each partition has something more than when it was last looked at: its marker."""
        if self._observer.level is Level.NONE:
            time.sleep(0.1)
            return
        before = {partition: self._offsets.get(partition, {}).get("hw", 0) for partition in partitions}
        for _ in attempts(self._patience.agrees_s, pause_s=0.002):
            state = self._observed() or {}
            offsets = state.get("offsets", {})
            if all(offsets.get(partition, {}).get("hw", 0) > end for partition, end in before.items()):
                return

    def _settle(self, most_s: float | None = None) -> dict[str, Any] | None:
        """Wait until no transaction owes markers, but not for ever; the state then."""
        state: dict[str, Any] | None = None
        for _ in attempts(self._patience.settles_s if most_s is None else most_s, pause_s=0.002):
            state = self._observed()
            if not Observer.is_under_way(state):
                break
        self._unsettled = False
        self._offsets = (state or {}).get("offsets", {})
        return state

    def _observed(self) -> dict[str, Any] | None:
        for _ in attempts(UNREADY_S):
            try:
                return self._observer.observe()
            except NotObservable:
                self._observer.begin()
        raise _Ended(UNREADY)

    # --- two connections ------------------------------------------------------------------------------------------

    def _racing(self, actions: Sequence[Action]) -> Sequence[Action]:
        """The first action, with those after it that are sent at the same time over other connections."""
        lanes = [actions[0].lane]
        for action in actions[1:]:
            if action.lane in lanes or not action.lane or action.api in (SETTLE, JOIN):
                break
            lanes.append(action.lane)
        return actions[: len(lanes)]

    def _race(self, actions: Sequence[Action]) -> None:
        """Send requests over several connections at once, and find an order that explains the answers.

        Raises:
            _Ended: none does.
        """
        if self._unsettled:
            self._settle()
        prepared = [(action, sent) for action in actions if (sent := self._prepared(action)) is not None]
        sendings = [
            (action, sent, self._target.connection(self._node(sent, anew=False), action.lane))
            for action, sent in prepared
        ]
        for _, sent, connection in sendings:
            self._target.send(connection, [Request(-1, sent.api, sent.version, sent.fields)])
        answers = [(action, sent, self._recorded(sent, connection.receive())) for action, sent, connection in sendings]
        if any(answer["error_code"] in TRANSIENT for _, _, answer in answers):
            raise _Ended(UNREADY)
        self._unsettled = True
        for action, sent, answer in answers:
            self._note_end(sent, answer)
            self._client.take(action, sent, answer)
        if not self._in_some_order(answers):
            raise _Ended(NO_ORDER)

    def _in_some_order(self, answers: Sequence[tuple[Action, Sent, dict[str, Any]]]) -> bool:
        """Record the answers in the first order that the specification can explain; whether there is one."""
        before, origins, keys = list(self._steps), list(self._origins), list(self._played.keys)
        judged = list(self._played.comparisons)
        for order in permutations(answers):
            for action, sent, answer in order:
                self._client.sent[action.key] = sent._replace(place=len(self._steps))
                self._record(action, {**self._step(action, sent, answer), "racy": True}, observed=False)
                if self._played.disagreed is not None:
                    break
            else:
                return True
            self._steps, self._origins, self._played.keys = list(before), list(origins), list(keys)
            self._played.comparisons = list(judged)
            self._judge = None
        return False

    # --- recording and judging ------------------------------------------------------------------------------------

    def _record(self, action: Action, step: dict[str, Any], *, observed: bool) -> None:
        """Write the step down with the state after it, and judge it; a state that differs is looked at again."""
        place = len(self._steps)
        self._steps.append(step)
        self._origins.append(self._origins[step["replay_of"]] if "replay_of" in step else place)
        self._played.keys.append(action.key)
        states: Iterator[dict[str, Any] | None] = self._states() if observed else iter((None,))
        for number, state in enumerate(states):
            if state is not None:
                step["after"] = state
            if self._played.disagreed is not None and not number:
                return
            if number:
                self._played.comparisons.pop()
                self._judge = None
            found = self._judged(place)
            self._played.comparisons.append(found)
            if not found.disagreed or not _in_state_alone(found):
                break
        self._end_if_completing(step)

    def _states(self) -> Iterator[dict[str, Any] | None]:
        """The state once markers are written, and again while somebody asks for another."""
        state = self._settle(SOON_S)
        yield state
        began = time.monotonic()
        while time.monotonic() < began + self._patience[not Observer.is_under_way(state)]:
            time.sleep(PAUSE_S)
            state = self._settle(SOON_S)
            yield state

    def _end_if_completing(self, step: Mapping[str, Any]) -> None:
        """A refusal because of the transaction before shows nothing where its completion cannot be seen."""
        refused = step["response"]["error"] == ErrorCode.CONCURRENT_TRANSACTIONS.name
        if self._played.disagreed is not None and refused and not self._observer.sees_transactions:
            self._played.comparisons.pop()
            self._played.keys.pop()
            self._steps.pop()
            raise _Ended(COMPLETING)

    def _judged(self, place: int) -> StepComparison:
        """The last step beside specification and reference, which have seen those before it."""
        if self._judge is None:
            self._judge = SideBySide(self._empty())
            for earlier in range(place):
                self._judge.play(self._typed(earlier))
        return self._judge.play(self._typed(place))

    def _typed(self, place: int) -> Any:
        try:
            return step_of(
                SessionFields(f"step {place}", self._steps[place]),
                self._origins[place],
                self._profile,
                whole=self._observer.level is Level.FULL,
            )
        except MalformedSession as error:
            self._steps.pop()
            self._played.keys.pop()
            raise _Ended(f"{UNRECORDED}: {error}") from error

    def _empty(self) -> Session:
        fields = SessionFields("the session", self._played.session)
        return Session(self._names.prefix, self._script.family, profile_of(fields), self._names.partitions, ())


def _in_state_alone(found: StepComparison) -> bool:
    """Whether the answer is as it should be, and only the state after differs."""
    return all(where.startswith("after.") for each in found.disagreed for where in each.expected)


def _error(code: int) -> dict[str, Any]:
    return {"error": name_of(code), "error_code": code}
