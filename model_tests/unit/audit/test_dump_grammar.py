"""The words by which a line that no tool of Kafka printed is passed over: every head has one of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_tests.logs.dump_grammar import DumpLine, _one_of, may_have_head


@pytest.mark.parametrize("kind", DumpLine, ids=lambda kind: kind.name)
@given(st.data())
def test_no_line_with_a_head_is_taken_for_one_without(kind: DumpLine, data: st.DataObject) -> None:
    """Whatever the pattern of the head allows: between its words, and as its numbers."""
    head = data.draw(st.from_regex(_one_of({kind: kind.value})))

    assert may_have_head(head)


def test_most_lines_of_applications_have_none() -> None:
    """Their rows of JSON, and what they log."""
    rows = ('{"t":1.5,"ev":"ack","p":0,"offset":12}', "INFO committed offset 12 of orders-0 (app.Main)", "")

    assert not any(map(may_have_head, rows))
