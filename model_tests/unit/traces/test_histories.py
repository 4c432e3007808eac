"""History rules about client events: true traces hold, and a changed event is named by rule and check."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice, pairwise
from operator import itemgetter
from typing import Any

import pytest

from model_tests.judging.histories import Histories
from model_tests.judging.history_links import HISTORY_CHAINS
from model_tests.judging.inferred_faults import hidden_faults
from model_tests.judging.step_assumptions import Fault, claimed_in
from model_tests.monitor.monitor import Monitor
from model_tests.simulate.simulate import trace_of
from model_tests.traces.schema import complete
from model_tests.unit.support.audited_histories import (
    Rows,
    _first,
    _in_one_of_two,
    _owner,
    _taken,
    hidden_though_committed,
    late_request,
)
from spec import rules
from spec.rules import RULES
from spec.versions import PROFILES

TRACES = 240
"""Traces of the batch that the tests share: twelve of every release."""


@pytest.fixture(scope="module")
def traces() -> list[Rows]:
    return [[dict(row) for row in trace_of(seed)] for seed in range(TRACES)]


@pytest.fixture(scope="module")
def clean(traces: list[Rows]) -> list[Rows]:
    """Those that break nothing, not even outside of a domain."""
    return [rows for rows in traces if not broken(rows)]


def broken(rows: Iterable[Mapping[str, Any]]) -> set[tuple[str, str]]:
    """Rule and check of what the client events of a trace break, inside a domain or not."""
    histories = Histories()
    for row in rows:
        histories.add(row)
    names = (
        (check.rule.id, name)
        for judged in histories.judged()
        for name, check in judged.checks()
        if check.at_stake and not check.holds
    )
    return set(names)


@pytest.mark.slow
def test_true_traces_hold_and_every_rule_that_owes_a_trace_check_is_at_stake(traces: Sequence[Rows]) -> None:
    """What the reference shows breaks nothing where it is claimed, and no rule passes for want of a step."""
    monitor = Monitor()
    for rows in traces:
        for row in rows:
            monitor.judge(row)

    violations = monitor.finish()
    judged = {count.rule for count in monitor.rule_counts() if count.judged}

    assert () == violations
    assert {rule.id for rule in RULES.values() if "T" in rule.owes} <= judged


def test_no_check_of_what_clients_report_is_idle(traces: Sequence[Rows]) -> None:
    """Each is at stake in some of the traces."""
    at_stake = set[str]()
    for rows in traces[: TRACES // 2]:
        histories = Histories()
        for row in rows:
            histories.add(row)
        at_stake.update(name for judged in histories.judged() for name, check in judged.checks() if check.at_stake)

    assert {link.name for chain in HISTORY_CHAINS.values() for link in chain.links} == at_stake


Change = Callable[[Rows], bool]
"""Makes a trace false, if it can, and returns whether it did."""


def acknowledged_elsewhere(rows: Rows) -> bool:
    """An acknowledgement names the place of another batch."""
    acknowledged = [r for r in rows if r["api"] == "ClientAcknowledged" and r["acks"] == -1 and r["first_offset"] >= 0]
    other = next((r for r in acknowledged[1:] if r["partition"] == acknowledged[0]["partition"]), None)
    if other is None:
        return False
    other.update(first_offset=acknowledged[0]["first_offset"], last_offset=acknowledged[0]["last_offset"])
    return True


def read_at_another_place(rows: Rows) -> bool:
    """A batch that was acknowledged is read somewhere else, too."""
    known = {_batch(r): r for r in rows if r["api"] == "ClientAcknowledged" and r["acks"] == -1}
    row = _first(rows, lambda r: r["api"] == "ClientFetched" and r["producer_id"] >= 0 and _batch(r) in known)
    if row is None or known[_batch(row)]["first_offset"] < 0:
        return False
    row.update(first_offset=row["first_offset"] + 1_000, last_offset=row["last_offset"] + 1_000)
    return True


def _batch(row: Mapping[str, Any]) -> tuple[object, ...]:
    return row["topic"], row["partition"], row["writer"], row["first_record"]


def visible_though_aborted(rows: Rows) -> bool:
    """Of two batches of a transaction that was aborted one is given to the reader."""
    return _in_one_of_two(rows, delivered=False)


def asked_to_abort(rows: Rows) -> bool:
    """What a reader was given is of a transaction whose client requested an abort."""
    given = {_owner(row) for row in rows if _taken(row)}
    ends = [r for r in rows if r["api"].startswith("ClientEndTransaction") and (r["client"], r["transaction"]) in given]
    for row in ends:
        row["committed"] = False
    return bool(ends)


def read_twice(rows: Rows) -> bool:
    """A reader takes a batch of an answer once more."""
    pairs = pairwise(rows)
    taken = ((one, two) for one, two in pairs if one["api"] == two["api"] == "ClientFetched" and one["isolation"] == 1)
    found = next(((one, two) for one, two in taken if one["client"] == two["client"]), None)
    if found is None:
        return False
    found[1].update({name: found[0][name] for name in ("first_offset", "last_offset", "writer", "first_record")})
    return True


def another_writer(rows: Rows) -> bool:
    """Of two readers of a place one finds another writer's batch there."""
    taken = [row for row in rows if row["api"] == "ClientFetched" and row["writer"]]
    row = next((row for row in taken if sum(_batch(row) == _batch(other) for other in taken) > 1), None)
    if row is None:
        return False
    row["writer"] = "producer-99"
    return True


def later_before_earlier(rows: Rows) -> bool:
    """An idempotent producer's later record lies before an earlier one."""
    taken = [r for r in rows if r["api"] == "ClientFetched" and r["producer_id"] >= 0 and r["first_record"] >= 0]
    places = {_batch(row): row for row in taken}
    same = [r for r in places.values() if r["writer"] == taken[0]["writer"] and r["partition"] == taken[0]["partition"]]
    if len(same) < 2 or same[0]["first_offset"] == same[1]["first_offset"]:
        return False
    for row in taken:
        if _batch(row) == _batch(same[0]) and row is not same[0]:
            return False
    same[0]["first_record"], same[1]["first_record"] = same[1]["first_record"] + 500, same[0]["first_record"]
    return True


def another_marker(rows: Rows) -> bool:
    """The marker that a reader found behind what it was not given is a COMMIT."""
    hidden = _first(rows, lambda r: _taken(r, delivered=False))
    behind = [] if hidden is None else rows[hidden["step"] + 1 :]
    marker = next((r for r in behind if r["api"] == "ClientFetched" and r["control"] and _same_log(r, hidden)), None)
    if marker is None:
        return False
    marker["control_type"] = 1
    return True


def _same_log(row: Mapping[str, Any], other: Mapping[str, Any] | None) -> bool:
    return other is not None and all(row[name] == other[name] for name in ("client", "partition", "producer_id"))


def marker_lost(rows: Rows) -> bool:
    """Two transactions of a producer stand beside each other without a marker between them."""
    markers = [r for r in rows if r["api"] == "ClientFetched" and r["control"] and r["isolation"] == 1]
    for row in markers:
        row["producer_id"] = 10**6 + row["step"]
    return bool(markers)


def given_out_twice(rows: Rows) -> bool:
    """Two transactional ids get one producer id."""
    reported = [r for r in rows if r["api"] == "ClientInitTransactionsAnswered" and not r["error"]]
    other = next((r for r in reported if r["transactional_id"] != reported[0]["transactional_id"]), None)
    if other is None:
        return False
    other["producer_id"] = reported[0]["producer_id"]
    return True


def zombie_commits(rows: Rows) -> bool:
    """Another instance had got a newer epoch before the request to commit what became visible."""
    given = {_owner(row) for row in rows if _taken(row)}
    wanted = (r for r in rows if r["api"] == "ClientEndTransaction" and r["committed"])
    call = next((r for r in wanted if (r["client"], r["transaction"]) in given and r["step"] > 5), None)
    reported = (
        None
        if call is None
        else _first(rows, lambda r: r["api"] == "ClientInitTransactionsAnswered" and not r["error"])
    )
    if call is None or reported is None or reported["step"] > call["step"]:
        return False
    reported.update(producer_id=call["producer_id"], producer_epoch=call["producer_epoch"] + 1)
    return True


def offset_of_an_aborted_transaction(rows: Rows) -> bool:
    """A group resumes from an offset whose transaction's client requested an abort."""
    resumed = _first(rows, lambda r: r["api"] == "ClientFetchOffsets" and r["transaction"] >= 0 and not r["error"])
    ends = [] if resumed is None else [r for r in rows if r["api"].startswith("ClientEndTransaction")]
    changed = [r for r in ends if resumed is not None and (r["client"], r["transaction"]) == _owner(resumed)]
    for row in changed:
        row["committed"] = False
    return bool(changed)


def committed_offset_lost(rows: Rows) -> bool:
    """A group's coordinator finds no offset, after an application got the answer that one is committed."""
    reported = _first(rows, lambda r: r["api"] == "ClientEndTransactionAnswered" and r["committed"] and _has_offset(r))
    later = (
        []
        if reported is None
        else [r for r in rows[reported["step"] :] if r["api"] == "OffsetFetch" and not r["error"]]
    )
    found = [
        r for r in later if reported is not None and all(r[key] == reported[key] for key in ("topic", "partition"))
    ]
    for row in found:
        row.update(before_committed_offset=-1, offset=-1)
    return bool(found)


def _has_offset(row: dict[str, Any]) -> bool:
    return bool(row["group"]) and not row["error"]


def one_listed_less(rows: Rows) -> bool:
    """An answer lists one aborted transaction less than it counts."""
    return _left_out(rows, "ConsumerFetchAborted")


def _left_out(rows: Rows, api: str) -> bool:
    row = _first(rows, lambda r: r["api"] == api)
    if row is not None:
        rows.remove(row)
    return row is not None


def an_empty_list(rows: Rows) -> bool:
    """An answer lists nothing, and counts nothing, and its reader withholds what was aborted all the same."""
    if _first(rows, lambda r: _taken(r, delivered=False)) is None:
        return False
    rows[:] = [
        {**row, "aborted_count": min(row["aborted_count"], 0)} for row in rows if row["api"] != "ConsumerFetchAborted"
    ]
    return True


def range_not_listed(rows: Rows) -> bool:
    """Of two transactions of a producer that were aborted the later is not listed, and withheld all the same."""
    listed = [row for row in rows if row["api"] == "ConsumerFetchAborted"]
    key = itemgetter("client", "topic", "partition", "producer_id")
    later = [
        two for one, two in pairwise(sorted(listed, key=lambda r: (*key(r), r["first_offset"]))) if key(one) == key(two)
    ]
    gone = [
        row
        for row in listed
        if any(key(row) == key(two) and row["first_offset"] == two["first_offset"] for two in later)
    ]
    rows[:] = [row for row in rows if not any(row is each for each in gone)]
    return bool(gone)


def answer_not_taken_to_its_end(rows: Rows) -> bool:
    """A reader asks again right behind the first of the batches that it was answered."""
    fetches = [
        row for row in rows if row["api"] == "ConsumerFetch" and row["batch_count"] > 1 and row["isolation"] == 1
    ]
    for row in fetches:
        row["last_offset"] += 1
    return bool(fetches)


def begun_under_another_epoch(rows: Rows) -> bool:
    """An application gets an epoch, and begins its first transaction in one that it had before."""
    begun = next((row for row in rows if row["api"] == "ClientBeginTransaction" and row["producer_epoch"] > 0), None)
    if begun is None:
        return False
    begun["producer_epoch"] -= 1
    return bool(begun["transaction"] == 0)


def sent_under_another_epoch(rows: Rows) -> bool:
    """An application sends a record of a transaction in another epoch than it began."""
    sent = [row for row in rows if row["api"] == "ClientSend" and row["transaction"] >= 0 and row["producer_epoch"] > 0]
    for row in sent[-1:]:
        row["producer_epoch"] -= 1
    return bool(sent)


def identified_twice(rows: Rows) -> bool:
    """A call is answered a second time."""
    row = _first(rows, lambda r: r["api"] == "ClientInitTransactionsAnswered" and not r["error"])
    if row is not None:
        rows.insert(rows.index(row) + 1, dict(row))
        rows[:] = [{**each, "step": step} for step, each in enumerate(rows)]
    return row is not None


@pytest.mark.parametrize(
    ("change", "rule", "check"),
    [
        (acknowledged_elsewhere, rules.SEQ_EXACTLY_ONCE, "acknowledged_place"),
        (read_at_another_place, rules.SEQ_EXACTLY_ONCE, "one_place"),
        (read_at_another_place, rules.LSO_READ_COMMITTED, "reads_on"),
        (hidden_though_committed, rules.TXN_ATOMIC, "all_or_nothing"),
        (hidden_though_committed, rules.TXN_CLIENT_VERDICT, "as_reported_to_client"),
        (hidden_though_committed, rules.LSO_READ_COMMITTED, "visible_as_decided"),
        (visible_though_aborted, rules.TXN_ATOMIC, "all_or_nothing"),
        (visible_though_aborted, rules.TXN_CLIENT_VERDICT, "as_reported_to_client"),
        (visible_though_aborted, rules.LSO_ABORTED_INDEX, "aborted_is_listed"),
        (hidden_though_committed, rules.TXN_ONE_OUTCOME, "one_outcome"),
        (asked_to_abort, rules.TXN_NO_CROSSTALK, "outcome_matches_client"),
        (late_request, rules.TXN_NO_CROSSTALK, "acts_on_its_own"),
        (read_twice, rules.LSO_READ_COMMITTED, "reads_on"),
        (another_writer, rules.REPL_COMMITTED_SURVIVES, "read_place"),
        (later_before_earlier, rules.SEQ_ORDER, "in_order_sent"),
        (another_marker, rules.LSO_ABORTED_INDEX, "aborted_is_listed"),
        (one_listed_less, rules.LSO_ABORTED_INDEX, "listed_in_full"),
        (an_empty_list, rules.LSO_ABORTED_INDEX, "withheld_is_listed"),
        (range_not_listed, rules.LSO_ABORTED_INDEX, "withheld_is_in_range"),
        (answer_not_taken_to_its_end, rules.LSO_READ_COMMITTED, "reads_on"),
        (identified_twice, rules.TXN_CLIENT_VERDICT, "identified_first"),
        (begun_under_another_epoch, rules.TXN_CLIENT_VERDICT, "identified_first"),
        (sent_under_another_epoch, rules.TXN_CLIENT_VERDICT, "in_its_course"),
        (marker_lost, rules.TXN_MARKER_ONCE, "marked_between"),
        (given_out_twice, rules.IDS_UNIQUE, "of_one_name"),
        (zombie_commits, rules.FENCE_ZOMBIE_CANNOT_COMMIT, "no_zombie_commits"),
        (offset_of_an_aborted_transaction, rules.OFFSETS_ATOMIC, "offsets_with_outputs"),
        (committed_offset_lost, rules.OFFSETS_ATOMIC, "offsets_stay"),
    ],
    ids=lambda value: getattr(value, "__name__", str(getattr(value, "id", value))),
)
def test_a_false_event_is_named(clean: Sequence[Rows], change: Change, rule: rules.Rule, check: str) -> None:
    """In a trace that broke nothing before, the rule and the check name what is false."""
    copies = ([dict(row) for row in rows] for rows in clean)
    false = (rows for rows in copies if change(rows))

    assert any((rule.id, check) in broken(rows) for rows in islice(false, 60))


@pytest.mark.parametrize(
    ("moved", "found", "stays"),
    [(None, 7, True), (None, 6, False), (None, -1, False), (3, 3, True), (3, 2, False)],
)
def test_a_group_finds_what_was_last_reported_to_be_committed(moved: int | None, found: int, stays: bool) -> None:
    """Nothing lower than the offset of a transaction that is known as committed, or that a consumer went back to."""
    place = {"group": "g", "topic": "t", "partition": 0, "profile": "4.3", "transaction_version": 2, "error": 0}
    reported = [
        {"api": "ClientEndTransactionAnswered", "client": "a", "transaction": 0, "committed": True, "offset": 7}
    ]
    reported += [] if moved is None else [{"api": "ClientCommitOffsets", "client": "g", "offset": moved}]
    answer = {"api": "OffsetFetch", "node": "broker-0", "offset": found, "before_committed_offset": found}
    rows = [complete({**place, **each, "step": step}) for step, each in enumerate([*reported, answer])]

    assert (("offsets.atomic", "offsets_stay") in broken(rows)) is not stays


def test_a_trace_with_a_gap_reports_less_and_nothing_false(traces: Sequence[Rows]) -> None:
    """Rows of readers alone are judged among themselves: missing rows narrow what is said."""
    new = set[tuple[str, str]]()
    for rows in traces[:40]:
        new |= broken(row for row in rows if row["api"] == "ClientFetched") - broken(rows)

    assert set() == new - {("lso.read_committed", "reads_on")}


def test_the_circumstances_of_a_trace_are_those_of_its_steps() -> None:
    """An election, an expiry and a client that renumbers put rules out of their domain, each the right ones."""
    newest = PROFILES["4.3"]

    assert claimed_in(rules.SEQ_EXACTLY_ONCE, newest, 0)
    for fault in (Fault.UNCLEAN, Fault.FORGOTTEN, Fault.NOT_FIRST, Fault.RENUMBERED):
        assert not claimed_in(rules.SEQ_EXACTLY_ONCE, newest, fault), fault
        assert not claimed_in(rules.SEQ_ORDER, newest, fault), fault
    assert claimed_in(rules.TXN_ATOMIC, newest, Fault.OUTLIVED)
    assert not claimed_in(rules.TXN_ATOMIC, newest.under(1), Fault.OUTLIVED)
    assert claimed_in(rules.TXN_ATOMIC, newest.under(1), 0)
    assert not claimed_in(rules.TXN_NO_CROSSTALK, newest.under(1), 0)


def test_a_request_outlives_its_transaction_only_where_it_is_handled_late(traces: Sequence[Rows]) -> None:
    """A request of the transaction before the one that its client is in is late, by however little."""
    row = next(
        (row, rows)
        for rows in traces
        for row in rows
        if row["api"] == "EndTxn" and row["transaction"] > 0 and not list(hidden_faults(rows[: row["step"] + 1]))
    )
    late = [{**each, "transaction": each["transaction"] - 1} if each is row[0] else each for each in row[1]]

    assert [(row[0]["step"], Fault.OUTLIVED)] == [
        (each.step, each.fault) for each in hidden_faults(late[: row[0]["step"] + 1])
    ]
