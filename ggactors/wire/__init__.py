"""The one door to bytes: records in, msgpack out, and back (cattrs and msgpack live here and nowhere else).

Law: a record is written as ``[class name, {field: value}]``, so an unknown tag, an unknown key, a value of the wrong type and
bytes that are no record are all noticed, and all are one error, ``WireError``, that says where. A field that old bytes lack
takes its default. What was packed comes back equal: integers of any size, text that holds surrogates (file names that are not
UTF-8), arguments of a model nested as deep as JSON lets them be. Inside a field typed ``Any`` a tuple comes back as a list.

Letters and answers of one mailbox go through a ``Codec``, facts of a journal through a ``Tagged``. Both are cheap to make; the
code for a class is compiled when the class is first met.
"""

from __future__ import annotations

from types import NoneType
from typing import TYPE_CHECKING, Generic, TypeVar, get_args

from ggactors.wire.errors import WireError
from ggactors.wire.packing import pack_any, packer, unpack_any, unpack_quickly
from ggactors.wire.roads import long_road_in, road_in, road_out

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ggactors.wire.kinds import Kind, Plain

__all__ = ["Codec", "Tagged", "WireError"]

L = TypeVar("L")
A = TypeVar("A")


class Tagged(Generic[L]):
    """Bytes of every member of one union: ``A | B | C``, or of a single class.

    Members are told apart by class name, so two of them may not share one (ValueError).
    """

    def __init__(self, union: Kind) -> None:
        members: dict[str, type] = {}
        for member in get_args(union) or (union,):
            if members.setdefault(member.__name__, member) is not member:
                raise ValueError(f"two members of one union are called {member.__name__}")
        self._members = members
        self._roads_out = _RoadsOut(members)
        self._roads_in = _RoadsIn(members)
        self._pack = packer()

    def pack(self, record: L) -> bytes:
        """Write a member of the union. Raises WireError for anything else, and for values that are no wire values."""
        cls = record.__class__
        try:
            plain = self._roads_out[cls](record)
            return self._pack(plain)
        except WireError:
            raise
        except Exception as refused:  # noqa: BLE001 - the long way says it as one WireError
            return self._pack_slowly(record, refused)

    def unpack(self, packed: bytes) -> L:
        """Read a member of the union back. Raises WireError."""
        try:
            tag, fields = unpack_quickly(packed)
            return self._roads_in[tag](fields, None)  # type: ignore[no-any-return]
        except Exception:  # noqa: BLE001 - whatever it is, the long way says it as one WireError
            return self._unpack_slowly(packed)

    def _pack_slowly(self, record: L, refused: Exception) -> bytes:
        cls = record.__class__
        try:
            return pack_any(self._roads_out[cls](record))
        except Exception as still:  # noqa: BLE001 - said as what it is, whatever it was
            raise WireError(cls.__name__, f"cannot be packed: {still}") from refused

    def _unpack_slowly(self, packed: bytes) -> L:
        try:
            read: Plain = unpack_any(packed)
        except Exception as garbage:
            raise WireError("", f"not a record: {garbage.__class__.__name__} {garbage}".rstrip()) from garbage
        match read:
            case [str() as tag, fields] if tag in self._members:
                return long_road_in(self._members[tag], fields)  # type: ignore[no-any-return]
            case [str() as tag, _]:
                raise WireError(tag, f"unknown tag, not one of {', '.join(sorted(self._members))}")
            case _:
                raise WireError("", "not a record: expected a tag and its fields")


class Codec(Generic[L, A]):
    """The two directions of one mailbox: the letters an actor takes and the answers it gives.

    Built from two unions; ``None`` for an actor that answers nothing. All four functions raise WireError.
    """

    def __init__(self, letters: Kind, answers: Kind = None) -> None:
        taken: Tagged[L] = Tagged(letters)
        given: Tagged[A] = Tagged(NoneType if answers is None else answers)
        # Kept as bound methods: one call less on the way of every letter.
        self.pack_letter: Callable[[L], bytes] = taken.pack
        self.unpack_letter: Callable[[bytes], L] = taken.unpack
        self.pack_answer: Callable[[A], bytes] = given.pack
        self.unpack_answer: Callable[[bytes], A] = given.unpack


class _RoadsOut(dict[type, "Callable[[Any], tuple[str, Plain]]"]):
    """How each member becomes its tag and plain values; compiled when first asked for."""

    def __init__(self, members: dict[str, type]) -> None:
        super().__init__()
        self._members = members

    def __missing__(self, cls: type) -> Callable[[Any], tuple[str, Plain]]:
        if self._members.get(cls.__name__) is not cls:
            raise WireError(cls.__name__, f"not one of {', '.join(sorted(self._members))}")
        road = self[cls] = road_out(cls)
        return road


class _RoadsIn(dict[str, "Callable[[Plain, Kind], Any]"]):
    """How each tag's fields become its record; compiled when first asked for."""

    def __init__(self, members: dict[str, type]) -> None:
        super().__init__()
        self._members = members

    def __missing__(self, tag: str) -> Callable[[Plain, Kind], Any]:
        road = self[tag] = road_in(self._members[tag])
        return road
