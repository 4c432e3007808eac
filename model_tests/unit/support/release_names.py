"""Names of releases among the values of a row."""

from spec.versions import Profile


def named(value: object) -> str | None:
    """The name of a profile; of another value, pytest's own."""
    return value.name if isinstance(value, Profile) else None
