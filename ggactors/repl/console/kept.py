"""What is kept from one picture to the next. Law: it never shows; a thing is made anew once what it was made of is another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Same:
    """Stands for one object in a version: equal only to what stands for the very same, which it keeps alive."""

    __slots__ = ("thing",)

    def __init__(self, thing: object) -> None:
        """Stand for ``thing``."""
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.thing is self.thing

    def __hash__(self) -> int:
        return id(self.thing)


class Kept:
    """Things by name, each with the version of what it was made of."""

    def __init__(self) -> None:
        """Keep nothing so far."""
        self._things: dict[str, tuple[object, Any]] = {}

    def get(self, name: str, version: object, make: Callable[[], T]) -> T:
        """Give the thing of that name and version, made now if it is not kept."""
        known = self._things.get(name)
        if known is None or known[0] != version:
            known = self._things[name] = (version, make())
        thing: T = known[1]
        return thing
