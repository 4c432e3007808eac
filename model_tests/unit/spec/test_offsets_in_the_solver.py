import random
from typing import Any, TypeVar

import pytest

from spec.engines.reading_z3 import INTEGERS, WIDE, Numbers, evaluate
from spec.protocol.committing import CommitRequest, commit, commit_in_transaction
from spec.protocol.groups import GroupEntry, KnownClaim, join, sync
from spec.protocol.offsets import OffsetEntry, apply, fetch, pending_after
from spec.protocol.records import build, flatten, scalars
from spec.versions import KAFKA_1_0, KAFKA_2_7, KAFKA_3_9, NEWEST, Profile

Record = TypeVar("Record")

READINGS = pytest.mark.parametrize("numbers", [INTEGERS, WIDE], ids=["integers", "bit-vectors"])
RELEASES = (KAFKA_1_0, KAFKA_2_7, KAFKA_3_9, NEWEST)
PROFILES = pytest.mark.parametrize("profile", RELEASES, ids=lambda profile: profile.name)
ERRORS = (0, 13, 47, 51, 90, 120)
DRAWS = 25


class Drawn:
    """Records drawn at random, each as Python has it and as the solver does."""

    def __init__(self, numbers: Numbers) -> None:
        self.chance = random.Random(7)
        self.numbers = numbers

    def pair(self, value: bool | int) -> tuple[Any, Any]:
        return value, self.numbers.value(value)

    def fact(self) -> tuple[Any, Any]:
        return self.pair(self.chance.random() < 0.5)

    def record(self, kind: type[Record]) -> tuple[Record, Record]:
        values = {name: self.scalar(of) for name, of in scalars(kind)}
        terms = {name: self.numbers.value(value) for name, value in values.items()}
        return build(kind, values.__getitem__), build(kind, terms.__getitem__)

    def scalar(self, kind: type) -> bool | int:
        return self.chance.random() < 0.5 if kind is bool else self.chance.choice([-1, 0, 1, 3])

    def request(self) -> tuple[CommitRequest, CommitRequest]:
        versions = self.pair(self.chance.randrange(10))
        errors = self.pair(self.chance.choice(ERRORS))
        claims, unnamed = self.record(KnownClaim), self.pair(self.chance.random() < 0.1)
        python, solver = (CommitRequest(*output) for output in zip(versions, errors, claims, unnamed, strict=True))
        return python, solver

    def of(self, term: Any) -> Any:
        return evaluate(term, {}, self.numbers)


@READINGS
@PROFILES
def test_who_may_commit_is_the_same_in_the_solver_as_in_python(numbers: Numbers, profile: Profile) -> None:
    """In a transaction and outside, the same check decides, with the same error."""
    drawn = Drawn(numbers)

    for _ in range(DRAWS):
        (group, group_term), (request, request_term) = drawn.record(GroupEntry), drawn.request()
        for decide in (commit_in_transaction, commit):
            expected, got = decide(group, request, profile), decide(group_term, request_term, profile)

            assert (expected.branch, expected.error) == (drawn.of(got.branch), drawn.of(got.error))


@READINGS
@PROFILES
def test_membership_is_the_same_in_the_solver_as_in_python(numbers: Numbers, profile: Profile) -> None:
    """Joining and getting an assignment: the same check, error and group."""
    drawn = Drawn(numbers)

    for _ in range(DRAWS):
        (group, group_term), (claim, claim_term) = drawn.record(GroupEntry), drawn.record(KnownClaim)
        for expected, got in (
            (join(group, claim, 5, profile), join(group_term, claim_term, numbers.value(5), profile)),
            (sync(group, claim, profile), sync(group_term, claim_term, profile)),
        ):
            assert (expected.branch, expected.error) == (drawn.of(got.branch), drawn.of(got.error))
            assert list(flatten(expected.entry)) == [(name, drawn.of(term)) for name, term in flatten(got.entry)]


@READINGS
@PROFILES
def test_offsets_are_the_same_in_the_solver_as_in_python(numbers: Numbers, profile: Profile) -> None:
    """What a marker commits, what a refusal leaves pending, what a fetch answers."""
    drawn = Drawn(numbers)

    for _ in range(DRAWS):
        (old, old_term), (new, new_term) = drawn.record(OffsetEntry), drawn.record(OffsetEntry)
        fact, fact_term = drawn.fact()
        applied, left = apply(old, new, commits=fact), pending_after(old, new, profile, appended=fact)
        reported = fetch(old, fact, stable=True)
        applied_term = apply(old_term, new_term, commits=fact_term)
        left_term = pending_after(old_term, new_term, profile, appended=fact_term)
        reported_term = fetch(old_term, fact_term, stable=True)

        assert applied.branch == drawn.of(applied_term.branch)
        assert list(flatten(applied.committed)) == [(n, drawn.of(term)) for n, term in flatten(applied_term.committed)]
        assert list(flatten(left)) == [(name, drawn.of(term)) for name, term in flatten(left_term)]
        assert (reported.error, reported.offset) == (drawn.of(reported_term.error), drawn.of(reported_term.offset))
