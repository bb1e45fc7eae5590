"""What ``ggactors init`` writes."""


def starter_crew() -> dict[str, str]:
    """Write."""
    return {}
