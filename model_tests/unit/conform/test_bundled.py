from collections import Counter

from model_tests.conform.bundled import LEAST, bundled, sample, sessions_in
from model_tests.conform.sessions import FAMILIES, LIVE


def test_every_family_is_in_every_sample() -> None:
    """However small it is, and each file has some of its own."""
    small = sample(10_000)

    counts = Counter(session.family for session in sessions_in(small.lines))

    assert counts.keys() == FAMILIES.keys() - LIVE
    assert min(counts.values()) >= LEAST
    assert small.of == 15_263


def test_a_sample_is_always_the_same() -> None:
    """And in the order of the files."""
    lines = sample(600).lines

    assert lines == sample(600).lines
    assert list(lines) == sorted(lines, key=lambda line: (line.file, line.number))


def test_one_in_one_is_everything() -> None:
    """Nothing is left out, and nothing is there twice."""
    assert sample(1, ("T", "ET")).lines == tuple(bundled(("T", "ET")))


def test_families_select() -> None:
    """By the fields of each line."""
    chosen = sample(20, ("FX", "P"))

    assert {session.family for session in sessions_in(chosen.lines)} == {"FX", "P"}
    assert chosen.of == 59 + 56 + 152 + 86 + 87 + 54
