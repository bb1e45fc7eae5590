"""Golden bytes of every fact: what journals written by earlier versions hold. They are read for ever, so they only grow.

``python tests/kernel/kernel_golden.py`` adds the facts that have none yet; those that are there are never written again.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
from enum import StrEnum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

import attrs

import ggactors.protocol

STORE = Path(__file__).with_name("kernel_golden.json")


def protocol_unions() -> dict[str, Any]:
    """Every union of records that a page of the protocol names, by ``page.Name``."""
    unions = {}
    for page in pkgutil.iter_modules(ggactors.protocol.__path__):
        module = importlib.import_module(f"ggactors.protocol.{page.name}")
        for name, value in vars(module).items():
            if isinstance(value, UnionType) and all(attrs.has(member) for member in get_args(value)):
                unions[f"{page.name}.{name}"] = value
    return unions


def protocol_records() -> list[type]:
    """Every record of the protocol."""
    records = {}
    for page in pkgutil.iter_modules(ggactors.protocol.__path__):
        module = importlib.import_module(f"ggactors.protocol.{page.name}")
        for value in vars(module).values():
            if isinstance(value, type) and attrs.has(value) and value.__module__ == module.__name__:
                records[f"{page.name}.{value.__name__}"] = value
    return list(records.values())


def fact_unions() -> dict[str, Any]:
    """The unions that are journaled."""
    return {name: union for name, union in protocol_unions().items() if name.endswith("Fact")}


def sample(kind: Any, name: str = "") -> Any:
    """Make the one sample value of a kind, the same for ever."""
    args = get_args(kind)
    if kind is Any:
        return {"n": [1, 2.5, None, True, "x"]}
    if args and NoneType in args:
        return sample(next(arg for arg in args if arg is not NoneType), name)
    if isinstance(kind, UnionType):
        return sample(args[0], name)
    if get_origin(kind) is tuple:
        return (sample(args[0], f"{name}0"), sample(args[0], f"{name}1"))
    if get_origin(kind) is not None:
        return {f"{name} key": sample(args[1], name)}
    if attrs.has(kind):
        attrs.resolve_types(kind)
        return kind(**{field.alias: sample(field.type, field.name) for field in attrs.fields(kind)})
    if issubclass(kind, StrEnum):
        return next(iter(kind))  # the first: words are added at the end
    return {str: f"{name} \u00e9\udcff", int: 2**40 + len(name), float: 0.25, bool: True, bytes: b"\xff"}[kind]


def golden() -> dict[str, dict[str, str]]:
    """Read the store: page.Union → fact → hex."""
    return json.loads(STORE.read_text()) if STORE.exists() else {}


def main() -> None:
    from ggactors.wire import Tagged

    store = golden()
    for name, union in fact_unions().items():
        known = store.setdefault(name, {})
        for member in get_args(union):
            known.setdefault(member.__name__, Tagged(union).pack(sample(member)).hex())
    STORE.write_text(json.dumps(store, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
