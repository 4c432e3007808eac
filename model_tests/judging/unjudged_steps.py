"""Steps that nothing judges, counted by name: no decision covers them, and no rule compares anything in them.

Some are what happens around the requests that are judged: an application starts, a broker is registered. Others are
steps that lack what would have put them before a judge, as the transactional id of an EndTxn.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from model_tests.judging.columns_judged import columns_of_step
from model_tests.judging.coordinator_links import hands_out_new_id, is_on_id
from model_tests.judging.histories import is_on_chain
from model_tests.judging.log_links import is_on_log
from model_tests.judging.place_links import is_on_place
from model_tests.traces.schema import HISTORY_APIS, Row

KIND: Final = "passed over: "
"""How verdicts on them are called; the api follows."""

SHOWN: Final = 15
"""Apis that are printed; the JSON has all."""


def is_passed_over(row: Row) -> bool:
    """Whether nothing judges the step, and nothing in it is needed to judge another."""
    if row["api"] in HISTORY_APIS or is_on_log(row) or is_on_id(row) or is_on_place(row):
        return False
    return not (columns_of_step(row) or is_on_chain(row) or hands_out_new_id(row.__getitem__))


def counted(rows: Iterable[Row]) -> dict[str, int]:
    """The number of such steps, by api."""
    return dict(Counter(str(row["api"]) for row in rows if is_passed_over(row)).most_common())


def counted_in(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The same, of kinds of verdicts and how often each came."""
    found = Counter[str]()
    for kind, count in counts:
        if kind.startswith(KIND) and not is_of_history(kind):
            found[kind.removeprefix(KIND)] += count
    return dict(found.most_common())


def is_of_history(kind: str) -> bool:
    """Whether verdicts of this kind are on rows of a client history, which is judged as a whole."""
    return kind.removeprefix(KIND) in HISTORY_APIS


def reported(counts: Mapping[str, int]) -> Iterator[str]:
    """Them in a line, the most frequent first; nothing where there are none."""
    if counts:
        listed = [f"{count} x {api or 'no api'}" for api, count in list(counts.items())[:SHOWN]]
        others = len(counts) - len(listed)
        listed += [f"{others} other apis"] if others else []
        yield f"steps that no rule judges: {', '.join(listed)}"
