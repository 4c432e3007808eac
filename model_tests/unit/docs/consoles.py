"""Commands and outputs as pages show them."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

CONSOLE: Final = re.compile(r"^```console\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL)
SECONDS: Final = re.compile(r"in \d+(\.\d+)? s\b")


def blocks(page: Path) -> list[str]:
    """Every block of commands on a page."""
    return [str(text) for text in CONSOLE.findall(page.read_text(encoding="utf-8"))]


def output_of(page: Path, command: str) -> list[str]:
    """What a page shows of a command's output, without what it leaves out.

    Raises:
        ValueError: the page does not show the command.
    """
    for block in blocks(page):
        before, found, after = block.partition(command + "\n")
        if found and before.rpartition("\n")[2].startswith("$ "):
            return [line for line in after.partition("\n$ ")[0].splitlines() if line.strip() not in ("", "...")]
    raise ValueError(f"{page.name} does not show {command!r}")


def not_printed(shown: Iterable[str], printed: str) -> list[str]:
    """The lines that are shown and were not printed; spaces at the end, and seconds, are no difference."""
    lines = {_plain(line) for line in printed.splitlines()}
    return [line for line in shown if _plain(line) not in lines]


def _plain(line: str) -> str:
    return SECONDS.sub("in a moment", line.rstrip())
