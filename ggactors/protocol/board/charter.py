"""What the board is run by: configuration handed to the rules."""

from __future__ import annotations

from attrs import field, frozen


@frozen(kw_only=True)
class Filer:
    """What one profile may name on the issues it files (A2, F1)."""

    implementers: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    reviewers_required: bool = False


@frozen(kw_only=True)
class Charter:
    """What the board is run by: the maxima (P1), the declared profiles, and what each filer may name."""

    max_epics: int
    max_issues: int
    max_retries: int
    profiles: tuple[str, ...]
    filers: dict[str, Filer] = field(factory=dict)
    names: dict[str, str] = field(factory=dict)
    """Display names of the profiles, by id (R9)."""
