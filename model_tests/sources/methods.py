"""A method of a Scala or Java file, found by its name and its indentation."""

import re
from collections.abc import Iterator

KEYWORDS = "return|throw|else|new|case|if|while|for|try|catch|yield"


def bodies(text: str, name: str) -> Iterator[str]:
    """Every method of this name in a file, each with its body: overloads and nested ones too."""
    lines = text.splitlines()
    declares = _declaration(name)
    for at, line in enumerate(lines):
        if declares.search(line):
            yield "\n".join(lines[at : _end(lines, at)])


def _declaration(name: str) -> re.Pattern[str]:
    """A line that declares the method: `def name` in Scala; in Java a type before it, and no statement."""
    called = re.escape(name)
    scala = rf"\bdef {called}(?![\w])"
    java = rf"^ +(?!(?:{KEYWORDS})\b)(?:[\w<>\[\],.?@]+ )+{called}\((?!.*;\s*$)"
    constructor = (
        rf"^ +(?:public |private |protected )?{called}\((?!.*;\s*$)(?=.*[,{{(]\s*$|.*\)\s*\{{)"
        if name[0].isupper()
        else r"(?!)"
    )
    scala_class = rf"\b(?:class|object|trait) {called}(?![\w])"
    return re.compile(f"{scala}|{java}|{constructor}|{scala_class}")


def _end(lines: list[str], start: int) -> int:
    """The line after a method: it ends before the next line that is indented no further and closes nothing of it."""
    indent = _indent(lines[start])
    opened = False
    for at in range(start + 1, len(lines)):
        line = lines[at]
        if not line.strip():
            continue
        if _indent(line) > indent:
            opened = True
            continue
        if line.strip().startswith(("}", ")", "{", "(", "throws", "extends", "with ")):
            if line.strip().rstrip(";") == "}" or (line.strip().startswith("}") and opened and line.strip()[-1] != "{"):
                return at + 1
            continue
        return at
    return len(lines)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
