"""What a field's annotation says. Law: these are the kinds records are made of; cattrs is not asked about any other."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, TypeAlias, Union, get_args, get_origin

Kind: TypeAlias = Any
"""A type as an annotation has it: a class, ``tuple[X, ...]``, a union."""
Plain: TypeAlias = Any
"""A value msgpack knows: None, bool, int, float, str, bytes, and lists and dicts of these."""

SCALARS: tuple[type, ...] = (str, int, float, bool, bytes, NoneType)


def is_scalar(kind: Kind) -> bool:
    """Tell a kind that is checked by its class alone."""
    return kind in SCALARS


def is_word(kind: Kind) -> bool:
    """Tell an enumeration of strings."""
    return isinstance(kind, type) and issubclass(kind, StrEnum)


def is_optional(kind: Kind) -> bool:
    """Tell a union with None."""
    return _is_union(kind) and NoneType in get_args(kind)


def is_choice(kind: Kind) -> bool:
    """Tell a union without None: its members are records, written with their tags."""
    return _is_union(kind) and NoneType not in get_args(kind)


def is_row(kind: Kind) -> bool:
    """Tell ``tuple[X, ...]`` and ``list[X]``."""
    args = get_args(kind)
    return _origin(kind) is list or (_origin(kind) is tuple and len(args) == 2 and args[1] is Ellipsis)


def is_table(kind: Kind) -> bool:
    """Tell ``dict[K, V]`` and ``Mapping[K, V]``."""
    return _origin(kind) in (dict, Mapping)


def is_plain(kind: Kind) -> bool:
    """Tell what msgpack writes as it is, all the way down."""
    if is_row(kind) or is_table(kind) or is_optional(kind):
        return all(part is Ellipsis or is_plain(part) for part in get_args(kind))
    return kind is Any or kind is object or is_scalar(kind) or is_word(kind)


def without_none(union: Kind) -> Kind:
    """Give the union without None."""
    return Union[tuple(part for part in get_args(union) if part is not NoneType)]  # noqa: UP007 - built at run time


def _is_union(kind: Kind) -> bool:
    return isinstance(kind, UnionType) or _origin(kind) is Union


def _origin(kind: Kind) -> object:
    return get_origin(kind)
