"""The forms in which client histories are written."""

from enum import StrEnum, unique

from model_tests.common.reports import BadInput


@unique
class Form(StrEnum):
    """What a history is written as."""

    EDN = "edn"
    TOOLS = "tools"
    JOURNAL = "journal"
    TRACE = "trace"


def form_called(name: str) -> Form:
    """The form of a name.

    Raises:
        BadInput: there is none.
    """
    if name not in list(Form):
        raise BadInput(f"--history-format is one of {', '.join(Form)}, not {name!r}")
    return Form(name)
