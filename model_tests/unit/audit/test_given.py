"""What each path was taken for, and what of a report comes first."""

from pathlib import Path

from model_tests.audit.given import GivenPath, given_paths
from model_tests.audit.needs import fine_of, headline, unexamined_of
from model_tests.audit.run import run
from model_tests.unit.audit.written import data, write_segment
from model_tests.unit.audit.written_cluster import WrittenCluster
from model_tests.unit.support.printed_reports import printed

A = ("a", 0)


def test_each_path_has_what_it_was_taken_for_or_why_it_was_not_used() -> None:
    """A partition, several, an archive, one with damage in it, and one of which nothing is known."""
    judged = [("logs/a-0", "a-0"), *((f"data/b-{n}", f"b-{n}") for n in range(6)), ("x.zip:c.txt", "c-0")]
    reasons = [("bad.txt", "line 3: no"), ("dir/e-0", "empty")]

    shown = given_paths(["logs", "data/", "x.zip", "bad.txt", "dir", "nothing", "s3://b/k?secret=1"], judged, reasons)

    assert [
        GivenPath("logs", True, "the log of a-0"),
        GivenPath("data/", True, "the logs of 6 partitions: b-0, b-1, b-2, b-3 and 2 more"),
        GivenPath("x.zip", True, "the log of c-0"),
        GivenPath("bad.txt", False, "line 3: no"),
        GivenPath("dir", False, "dir/e-0: empty"),
        GivenPath("nothing", False, "no log, and nothing that was printed of one, is in it"),
        GivenPath("s3://b/k", False, "no log, and nothing that was printed of one, is in it"),
    ] == list(shown)


def test_a_healthy_log_needs_nobody_and_fits_on_a_screen(tmp_path: Path) -> None:
    """What is fine is said, and nothing is left out."""
    cluster = WrittenCluster()
    cluster.init("x", 7)
    for number in range(40):
        cluster.transaction("x", [("a", number)])

    report = run([cluster.write(tmp_path)])

    assert headline(report) == "Nothing here needs you."
    assert list(unexamined_of(report)) == []
    assert "40 committed transactions have the outcome" in " ".join(fine_of(report))
    assert len(printed(report).splitlines()) <= 24
    assert report.to_json()["summary"]["headline"] == "Nothing here needs you."  # type: ignore[index]  # plain values


def test_what_needs_its_reader_comes_first_and_is_counted(tmp_path: Path) -> None:
    """A broken rule, a damaged place, then what is fine, then the details."""
    cluster = WrittenCluster()
    cluster.init("x", 7)
    cluster.transaction("x", [A])
    cluster.send("x", A)
    directory = cluster.write(tmp_path)
    (directory / "b-0").mkdir()

    output = printed(run([directory]))

    assert output.startswith("2 things need you: 1 broken rule, 1 damaged place.")
    order = [output.index(each) for each in ("need you", "Findings", "Damage", "held back", "Fine", "Partitions (open")]
    assert sorted(order) == order


def test_no_all_clear_is_given_where_something_was_not_examined(tmp_path: Path) -> None:
    """An open transaction without its coordinator's log, and a path that was not used."""
    write_segment(tmp_path / "a-0", [data(0, transactional=True), data(1, transactional=True)])
    other = tmp_path / "notes"
    other.mkdir()

    alone = headline(run([tmp_path / "a-0"]))

    assert alone.startswith("Nothing here is shown to be wrong, but not all could be examined")
    assert "not used: " in printed(run([tmp_path / "a-0", other]))
