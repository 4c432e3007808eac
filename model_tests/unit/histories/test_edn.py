"""EDN as histories are written in it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_tests.histories.edn import EdnError, UnreadForm, forms, read


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{:type :ok, :f :txn}", {":type": ":ok", ":f": ":txn"}),
        ("[1 [2][3]]", (1, (2,), (3,))),
        ("(1 2)", (1, 2)),
        ("#{1 1 2}", frozenset((1, 2))),
        ("9223372036854775807 -3 +4 5N", (9223372036854775807, -3, 4, 5)),
        ("1.5 2e3 3M 22/7", (1.5, 2000.0, 3.0, "22/7")),
        ('"a \\"b\\"\\n\\u0041" \\c \\newline \\u0042', ('a "b"\nA', "c", "\n", "B")),
        ("nil true false symbol", (None, True, False, "symbol")),
        ("#jepsen.history.Op{:index 0}", {":index": 0}),
        ('#inst "2020-01-01"', "2020-01-01"),
        ("[1 #_ 2 #_(3 4) 5] ; the end", (1, 5)),
        ('{["orders" 0] nil}', {("orders", 0): None}),
    ],
)
def test_values_are_read(text: str, value: Any) -> None:
    """Of every kind that a history has."""
    found = read(text)

    assert (found[0] if len(found) == 1 else found) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{:a 1", "does not end"),
        ("[1 2)", "ends nothing"),
        ("}", "ends nothing"),
        ("{:a}", "without a value"),
        ('"open', "text does not end"),
        ("1x", "no number"),
        ("{{:a 1} 2}", "no key"),
        ("9" * 5001, "5001 digits"),
    ],
)
def test_what_is_no_edn_is_refused(text: str, reason: str) -> None:
    """With what is wrong."""
    with pytest.raises(EdnError, match=reason):
        read(text)


def test_a_form_that_cannot_be_read_does_not_hide_the_next() -> None:
    """Reading continues at the next line that begins a map; the last line may be half written."""
    lines = ["{:a 1}\n", "{:a [1\n", "{:a 3}\n", "{:a\n", " 4}\n", "{:a }\n", "{:a [5"]

    found = [(line, "unread" if isinstance(form, UnreadForm) else form[":a"]) for line, form in forms(lines)]

    assert found == [(1, 1), (2, "unread"), (3, 3), (4, 4), (6, "unread"), (7, "unread")]


@pytest.mark.parametrize("text", ["[{:a 1}\n {:a 2}]\n", "[\n{:a 1}\n{:a 2}\n]\n", "({:a 1} {:a 2})\n"])
def test_one_list_around_all_of_them_is_passed_over(text: str) -> None:
    """Some tools write a history as one value."""
    assert [form[":a"] for _, form in forms(text.splitlines(keepends=True))] == [1, 2]


_EDN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from((":ok", ":f", ":final?")),
    lambda inner: (
        st.lists(inner, max_size=4).map(tuple) | st.dictionaries(st.integers() | st.text(), inner, max_size=4)
    ),
    max_leaves=12,
)


def written(value: Any) -> str:
    """A value as EDN."""
    if value is None or isinstance(value, bool):
        return {None: "nil", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        is_keyword = value[:1] == ":" and value[1:].strip("?").isalpha()
        return value if is_keyword else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, tuple):
        return f"[{' '.join(map(written, value))}]"
    return "{" + ", ".join(f"{written(key)} {written(each)}" for key, each in value.items()) + "}"


@given(_EDN)
def test_what_is_written_is_read(value: Any) -> None:
    """Whatever is nested in whatever."""
    assert read(written(value)) == (value,)


@given(st.lists(st.text(alphabet='{}[]()"\\#_;:, \n1a')))
def test_no_text_is_too_much(lines: list[str]) -> None:
    """Whatever stands there is forms, or is said to be none."""
    for line, form in forms(lines):
        assert line >= 1
        assert not isinstance(form, UnreadForm) or form.reason
