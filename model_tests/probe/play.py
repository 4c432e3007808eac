"""One script played on a live broker: each step is recorded as a session, and judged as `eos conform FILE` does."""

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any, Final, NamedTuple

from model_tests.conform.side_by_side import MakeSide, StepComparison
from model_tests.probe.client import JOINED, OPEN, TIMED_OUT, TIMEOUT_MS, Sent
from model_tests.probe.judging import LIVE, SessionJudge
from model_tests.probe.observing import Level, NotObservable, Observer
from model_tests.probe.played import COMPLETING, OVERTAKEN, PATIENT, UNREADY, Patience, PlayedSession, SessionEnded
from model_tests.probe.script import (
    AWAIT,
    BRIEF_MS,
    COPY,
    EXHAUST,
    GROUP,
    JOIN,
    SETTLE,
    TOPIC,
    Script,
    ScriptAction,
    SessionNames,
)
from model_tests.probe.session_clients import UNREADY_S, SessionClients
from model_tests.probe.target import PAUSE_S, TRANSIENT, NodeRequest, Target, attempts, name_of
from spec.versions import Profile
from spec.vocabulary import Api, ErrorCode

SOON_S: Final = 0.5
"""After which a state in which markers are owed is judged as it is: some transactions never complete."""

UNSEEN_END_S: Final = 0.1
"""How long markers are given where nothing of them can be seen."""

BATCHED: Final = ("INVALID_TXN_STATE", "TRANSACTION_ABORTABLE")
"""The names of the error of a verification that requests of other clients may decide between."""

WITHIN: Final = 0.8
"""The share of a timeout within which a session has done what comes before it."""

CONCURRENT: Final = ErrorCode.CONCURRENT_TRANSACTIONS.name


class Raced(NamedTuple):
    """A request that was sent at the same time as others, and its answer."""

    action: ScriptAction
    sent: Sent
    answer: dict[str, Any]

    def may_have_met(self, others: Sequence["Raced"]) -> bool:
        """Whether the coordinator may have refused it because it was still writing down another one of these.

        Such a request has no effect (`TransactionMetadata.pendingTransitionInProgress`).
        """
        named = self.sent.request.get("transactional_id")
        same = (each for each in others if each is not self and each.sent.request.get("transactional_id") == named)
        return named is not None and self.answer["error"] == CONCURRENT and any(same)


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
        sides: Mapping[str, MakeSide] = LIVE,
    ) -> None:
        """A fresh session.

        Args:
            target: the broker.
            profile: that it is compared with.
            level: how much of its state can be asked for.
            names: of the session, fresh.
            script: what to do.
            shared: other clients may use the broker at the same time.
            patience: with states that differ.
            stops: the session ends where it differs; else it goes on, and is not judged any further.
            sides: that answer beside the broker.
        """
        self._sides = sides
        ids = sorted({action.who for action in script.actions if action.who.startswith("t")})
        self._target = target
        self._profile = profile
        self._names = names
        self._script = script
        self._shared = shared
        self._patience = patience
        self._stops = stops
        self._asker = SessionClients(target, profile, names, legacy=script.legacy)
        self._observer = Observer(target, names, level, ids, groups=script.family == "C")
        self._unsettled = False
        self._owing: dict[str, set[str]] = {}
        self._completing: set[str] = set()
        self._offsets: Mapping[str, Any] = {}
        self._transactions: Mapping[str, Any] = {}
        self._within: dict[str, float] = {}

    def play(self) -> PlayedSession:
        """Play the script to its end, or to the first step that differs.

        Raises:
            BrokerFailure: the broker does not answer.
        """
        self._observer.begin()
        played = PlayedSession(self._script, self._header(), partitions=self._names.partitions)
        self._played = played
        self._judge = SessionJudge(played, self._profile, self._observer.level, self._sides)
        actions, place = self._script.actions, 0
        try:
            while place < len(actions) and not (self._stops and self._judge.disagrees):
                racing = _racing(actions[place:])
                if len(racing) > 1:
                    self._race(racing)
                else:
                    self._act(actions[place])
                place += len(racing)
        except SessionEnded as ended:
            played.undecided = str(ended)
        return played

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

    # --- single steps ---------------------------------------------------------------------------------------------

    def _act(self, action: ScriptAction) -> None:
        """Do one step, if it can be done."""
        if self._unsettled and not action.racy:
            self._settle()
        if action.api == SETTLE:
            self._record(action, {"api": SETTLE, "version": 0, "request": {}, "response": _error(0)}, observed=True)
            return
        if action.api == JOIN:
            self._join(action)
            return
        if action.api == AWAIT:
            self._await_timeout(action)
            return
        sent = self._asker.prepared(action, self._judge.place)
        if sent is None:
            return
        if action.api == EXHAUST:
            self._exhaust(action, sent)
            return
        completing = not self._unsettled and sent.request.get("transactional_id") in self._completing
        looks = () if action.racy else self._observer.plan
        answer, seen = self._asker.answered(sent, looks, completing=completing)
        self._note_end(sent, answer)
        self._finish(action, sent, answer, () if self._completing else seen)  # else seen before its markers came

    def _finish(self, action: ScriptAction, sent: Sent, answer: dict[str, Any], seen: Sequence[Any] = ()) -> None:
        """Learn from the answer, wait for what it set under way, record and judge."""
        step = self._step(action, sent, answer)
        self._asker.client.take(action, sent, answer)
        if sent.api == Api.INIT_PRODUCER_ID:
            self._limit(str(sent.request["transactional_id"]), sent.request["timeout"])
        if action.racy:
            self._unsettled = True
            self._record(action, {**step, "racy": True}, observed=False)
            return
        self._record(action, step, observed=True, seen=seen)

    def _step(self, action: ScriptAction, sent: Sent, answer: dict[str, Any]) -> dict[str, Any]:
        step = {"api": sent.api, "version": sent.version, "request": sent.request, "response": answer}
        if action.api == COPY:
            step["replay_of"] = sent.place
        asks = sent.sent_api in (Api.PRODUCE, Api.TXN_OFFSET_COMMIT) and answer["error"] in BATCHED
        return (
            {**step, "racy_error": "verification_batching", "accept_errors": BATCHED} if asks and self._shared else step
        )

    def _join(self, action: ScriptAction) -> None:
        joined = self._asker.joined(action.instance)
        self._names.members[JOINED] = joined["member"]
        self._asker.client.joined = True
        response = {**_error(joined["error_code"]), "member": JOINED, "generation": joined["generation"]}
        request = {"group": GROUP, "group_instance_id": action.instance or None}
        self._record(action, {"api": JOIN, "version": 0, "request": request, "response": response}, observed=True)

    def _await_timeout(self, action: ScriptAction) -> None:
        """Wait until the coordinator has aborted a transaction, if one is seen to be open."""
        request = self._asker.client.request(action, 0)
        if request is None or self._transactions.get(action.who, {}).get("state") != OPEN:
            return
        for _ in attempts(self._patience.times_out_s, pause_s=PAUSE_S):
            state = self._observed() or {}
            if state["transactions"][action.who].get("state") == TIMED_OUT:
                break
        self._limit(action.who, BRIEF_MS)
        self._record(action, {"api": AWAIT, "version": 0, "request": request, "response": _error(0)}, observed=True)

    def _limit(self, who: str, timeout_ms: int) -> None:
        """What follows has to be done before a transaction of this id times out."""
        self._within.pop(who, None)
        if 0 < timeout_ms < TIMEOUT_MS:
            self._within[who] = time.monotonic() + timeout_ms / 1_000 * WITHIN

    def _exhaust(self, action: ScriptAction, sent: Sent) -> None:
        """Bump the epoch until it is the last one; an answer that is no bump is a step of its own."""
        times, last, odd = self._asker.exhausted(sent)
        if times:
            bumps = {**sent.request, "times": times}
            self._finish(action, sent._replace(request=bumps), {"error_code": 0, **last})
        if odd:
            request = {name: value for name, value in sent.request.items() if name != "times"}
            plain = {**request, "producer_id": -1, "producer_epoch": -1}
            self._finish(action, Sent(self._judge.place, Api.INIT_PRODUCER_ID, 0, plain, {}), odd)

    # --- markers --------------------------------------------------------------------------------------------------

    def _note_end(self, sent: Sent, answer: Mapping[str, Any]) -> None:
        """Keep account of the partitions that are owed a marker once their transaction ends."""
        who = str(sent.request.get("transactional_id"))
        error = answer["error"]
        if sent.api == Api.ADD_PARTITIONS_TO_TXN and error == "NONE":
            self._owing.setdefault(who, set()).update(sent.request["partitions"])
        ends = (sent.api == Api.END_TXN and error == "NONE") or (
            sent.api == Api.INIT_PRODUCER_ID and error == CONCURRENT
        )
        if not ends:
            self._completing.discard(who)
        elif not self._observer.sees_transactions:
            self._completing.add(who)
            self._await_ends(self._owing.pop(who, set()))

    def _await_ends(self, partitions: set[str]) -> None:
        """Wait until each partition has something more than when it was last looked at: its marker."""
        if self._observer.level is Level.NONE:
            time.sleep(UNSEEN_END_S)
            return
        before = {partition: self._offsets.get(partition, {}).get("hw", 0) for partition in partitions}
        for _ in attempts(self._patience.agrees_s, pause_s=0.002):
            offsets = (self._observed() or {}).get("offsets", {})
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
        self._note_state(state or {})
        return state

    def _observed(self) -> dict[str, Any] | None:
        for _ in attempts(UNREADY_S):
            try:
                return self._observer.observe()
            except NotObservable:
                self._observer.begin()
        raise SessionEnded(UNREADY)

    # --- several connections --------------------------------------------------------------------------------------

    def _race(self, actions: Sequence[ScriptAction]) -> None:
        """Send requests over several connections at once, and find an order that explains the answers.

        Raises:
            SessionEnded: a node was not ready.
        """
        if self._unsettled:
            self._settle()
        prepared = [(each, sent) for each in actions if (sent := self._asker.prepared(each, self._judge.place))]
        sendings = [
            (action, sent, self._target.connection(self._asker.node(sent, anew=False), action.lane))
            for action, sent in prepared
        ]
        for _, sent, connection in sendings:
            self._target.send(connection, [NodeRequest(-1, sent.api, sent.version, sent.fields)])
        raced = [
            Raced(action, sent, self._asker.recorded(sent, connection.receive()))
            for action, sent, connection in sendings
        ]
        if any(each.answer["error_code"] in TRANSIENT for each in raced):
            raise SessionEnded(UNREADY)
        self._unsettled = True
        for each in raced:
            self._note_end(each.sent, each.answer)
            self._asker.client.take(each.action, each.sent, each.answer)
        self._explain(raced)

    def _explain(self, raced: Sequence[Raced]) -> None:
        """Record the answers in the first order that explains them all; one that has met another is left out of it."""
        saved = self._judge.save()
        without_one = ([other for other in raced if other is not each] for each in raced if each.may_have_met(raced))
        for listed in (raced, *without_one):
            for order in permutations(listed):
                if self._agrees_in(order):
                    self._played.met += len(raced) - len(listed)
                    return
                self._judge.go_back(saved)
        self._agrees_in(raced)

    def _agrees_in(self, order: Sequence[Raced]) -> bool:
        """Record racing steps in an order, up to the first that differs; whether none does."""
        for action, sent, answer in order:
            self._asker.client.sent[action.key] = sent._replace(place=self._judge.place)
            self._record(action, {**self._step(action, sent, answer), "racy": True}, observed=False)
            if self._judge.disagrees:
                return False
        return True

    # --- recording ------------------------------------------------------------------------------------------------

    def _record(self, action: ScriptAction, step: dict[str, Any], *, observed: bool, seen: Sequence[Any] = ()) -> None:
        """Write the step down with the state after it, and judge it; a state that differs is looked at again.

        Args:
            action: that was done.
            step: what came of it.
            observed: the state after it belongs to it.
            seen: what was answered to the requests that ask for the state, if they followed at once.

        Raises:
            SessionEnded: a transaction may have timed out in the meantime.
        """
        if any(time.monotonic() > until for until in self._within.values()):
            raise SessionEnded(OVERTAKEN)
        states: Iterator[dict[str, Any] | None] = self._states(seen) if observed else iter((None,))
        state = next(states)
        found = self._judge.record(action.key, step if state is None else {**step, "after": state})
        while found is not None and found.disagreed and _in_state_alone(found):
            state = next(states, None)
            if state is None:
                break
            found = self._judge.look_again(state)
        if found is not None and found.disagreed:
            self._end_if_completing(step)

    def _states(self, seen: Sequence[Any]) -> Iterator[dict[str, Any] | None]:
        """The state once markers are written; read again while another state is expected."""
        state = self._at_once(seen) or self._settle(SOON_S)
        yield state
        began = time.monotonic()
        while time.monotonic() < began + self._patience[not Observer.is_under_way(state)]:
            time.sleep(PAUSE_S)
            state = self._settle(SOON_S)
            yield state

    def _at_once(self, seen: Sequence[Any]) -> dict[str, Any] | None:
        """The state that was asked for together with the step; None if that was too early, or nothing was."""
        if not seen:
            return None
        try:
            state = self._observer.read(seen)
        except NotObservable:
            return None
        if Observer.is_under_way(state):
            return None
        self._note_state(state)
        return state

    def _note_state(self, state: Mapping[str, Any]) -> None:
        self._offsets, self._transactions = state.get("offsets", {}), state.get("transactions", {})

    def _end_if_completing(self, step: Mapping[str, Any]) -> None:
        """A refusal because of the transaction before shows nothing where its completion cannot be seen."""
        if step["response"]["error"] == CONCURRENT and not self._observer.sees_transactions:
            self._judge.drop()
            raise SessionEnded(COMPLETING)


def _racing(actions: Sequence[ScriptAction]) -> Sequence[ScriptAction]:
    """The first action, with those after it that are sent at the same time over other connections."""
    lanes = [actions[0].lane]
    for action in actions[1:]:
        if action.lane in lanes or not action.lane or action.api in (SETTLE, JOIN, EXHAUST, AWAIT):
            break
        lanes.append(action.lane)
    return actions[: len(lanes)]


def _in_state_alone(found: StepComparison) -> bool:
    """Whether the answer is as it should be, and only the state after differs."""
    return all(where.startswith("after.") for each in found.disagreed for where in each.expected)


def _error(code: int) -> dict[str, Any]:
    return {"error": name_of(code), "error_code": code}
