"""What the source of this project comes down to: results of other code have other names."""

from collections.abc import Iterator
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable


def digest_of(*packages: str) -> str:
    """What the source of these packages or modules comes down to: other text, another digest."""
    digest = sha256()
    for package in packages:
        parent, _, module = package.rpartition(".")
        found = files(parent).joinpath(module) if parent else files(package)
        found = found if found.is_dir() else files(parent).joinpath(f"{module}.py")
        for name, text in sorted(_sources(found, package)):
            digest.update(name.encode() + b"\0" + text + b"\0")
    return digest.hexdigest()[:16]


def _sources(found: Traversable, name: str) -> Iterator[tuple[str, bytes]]:
    if found.is_file():
        yield name, found.read_bytes()
        return
    for inner in found.iterdir():
        if inner.name.endswith(".py") or (inner.is_dir() and not inner.name.startswith(("_", "."))):
            yield from _sources(inner, f"{name}/{inner.name}")
