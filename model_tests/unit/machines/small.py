"""Settings of small runs of a machine: the same examples every time, nothing shrunk, nothing kept."""

from hypothesis import HealthCheck, Phase, settings


def small(examples: int, steps: int = 30) -> settings:
    """Settings for so many examples of so many steps."""
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
