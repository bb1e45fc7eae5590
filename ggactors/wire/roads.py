"""Records to plain values and back: the code compiled for each class, and the converter behind it.

Law: the short road takes records that have every field as declared and does nothing it need not; whatever does not fit goes
the long road, cattrs with every misfit collected, which fills in defaults or names the culprit. Both accept the same.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cache, partial
from types import NoneType
from typing import TYPE_CHECKING, Any, cast, get_args

from ggactors.wire.errors import WireError
from ggactors.wire.kinds import (
    SCALARS,
    Kind,
    Plain,
    is_choice,
    is_optional,
    is_plain,
    is_row,
    is_scalar,
    is_table,
    is_word,
    without_none,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from attrs import Attribute
    from cattrs import Converter


def road_out(cls: type) -> Callable[[Any], tuple[str, Plain]]:
    """Compile what turns a record into its tag and plain values."""
    return _road_out(_converter(), cls)


def road_in(cls: type) -> Callable[[Plain, Kind], Any]:
    """Compile the short road from plain values to a record. It raises all sorts of errors where the long road should be asked."""
    road: Callable[[Plain, Kind], Any] = _converter().get_structure_hook(cls)
    return road


def long_road_in(cls: type, fields: Plain) -> Any:
    """Turn plain values into a record, or raise the WireError that names the first thing that does not fit."""
    try:
        return _converter(detailed=True).get_structure_hook(cls)(fields, cls)
    except Exception as misfit:
        path, why = next(_misfits(misfit, cls.__name__))
        raise WireError(path, why) from misfit


@cache
def _converter(*, detailed: bool = False) -> Converter:
    """Make the converter, once per process; the ``detailed`` one is slow and collects every misfit with its path."""
    from attrs import has
    from cattrs import Converter

    made = Converter(detailed_validation=detailed, forbid_extra_keys=True)
    # What is registered later is asked first.
    made.register_unstructure_hook_factory(is_choice, partial(_choice_out, made))
    made.register_unstructure_hook_factory(is_optional, partial(_optional_out, made))
    made.register_unstructure_hook_factory(is_row, partial(_row_out, made))
    made.register_unstructure_hook_factory(is_table, partial(_table_out, made))
    for scalar in SCALARS:
        made.register_structure_hook(scalar, _scalar_in(scalar))
    made.register_structure_hook(StrEnum, _word_in)  # a word is a str too: the nearer class counts
    made.register_structure_hook_factory(is_choice, partial(_choice_in, made))
    made.register_structure_hook_factory(is_optional, partial(_optional_in, made))
    made.register_structure_hook_factory(is_row, partial(_row_in, made))
    made.register_structure_hook_factory(is_table, partial(_table_in, made))
    made.register_unstructure_hook_factory(has, partial(_record_out, made))
    if not detailed:
        made.register_structure_hook_factory(has, partial(_short_road, made))
    return made


# ---------------------------------------------------------------- records


def _road_out(converter: Converter, cls: type) -> Callable[[Any], tuple[str, Plain]]:
    if cls is NoneType:
        return lambda _: (cls.__name__, None)
    known, fields = _fields_out(converter, cls)
    return _compiled(["def road_out(record):", f" return {cls.__name__!r}, {fields}"], known)


def _record_out(converter: Converter, cls: type) -> Callable[[Any], Plain]:
    known, fields = _fields_out(converter, cls)
    return _compiled(["def record_out(record):", f" return {fields}"], known)


def _fields_out(converter: Converter, cls: type) -> tuple[dict[str, Any], str]:
    known: dict[str, Any] = {}
    fields = []
    for field in _fields(cls):
        value = f"record.{field.name}"
        if not is_plain(field.type):
            known[f"out_{field.name}"] = converter.get_unstructure_hook(field.type)
            value = f"out_{field.name}({value})"
        fields.append(f"{field.name!r}: {value}")
    return known, f"{{{', '.join(fields)}}}"


def _short_road(converter: Converter, cls: type) -> Callable[[Plain, Kind], Any]:
    """Compile the way in for records that have every field as declared.

    As many keys as fields, and every field found: then no key is unknown, which spares the search for one. What cattrs would
    generate calls a function per field and the class's ``__init__``; checks in line and slots set one by one take a third of
    the time. Only classes whose ``__init__`` does nothing else are made that way.
    """
    from cattrs.gen import make_dict_structure_fn_from_attrs

    declared = _fields(cls)
    lenient: Callable[..., Any] = make_dict_structure_fn_from_attrs(list(declared), cls, converter)
    if not declared:
        return lambda read, _: cls() if read == {} else lenient(read, cls)
    known: dict[str, Any] = {"cls": cls, "lenient": lenient, "make": object.__new__, "float_kinds": (float, int)}
    lines = ["def short_road(read, _):", f" if len(read) != {len(declared)}: return lenient(read, cls)"]
    for field in declared:
        value, kind = f"_{field.name}", field.type
        known[f"in{value}"], known[f"kind{value}"] = converter.get_structure_hook(kind), kind
        misfit = _misfit_in_line(value, kind)
        if is_word(kind):
            known[f"in{value}"] = _words(cast("type[StrEnum]", kind))
            lines.append(f" {value} = in{value}[read[{field.name!r}]]")
        elif misfit is None:
            lines.append(f" {value} = in{value}(read[{field.name!r}], kind{value})")
        else:
            lines.append(f" {value} = read[{field.name!r}]")
            lines += [f" if {misfit}: return lenient(read, cls)"] if misfit else []
    if _is_made_of_slots(cls):
        known |= {f"set_{field.name}": getattr(cls, field.name).__set__ for field in declared}
        lines += [
            " made = make(cls)",
            *(f" set_{field.name}(made, _{field.name})" for field in declared),
            " return made",
        ]
    else:
        lines.append(f" return cls({', '.join(f'{field.alias}=_{field.name}' for field in declared)})")
    return _compiled(lines, known)


def _misfit_in_line(value: str, kind: Kind) -> str | None:
    """Write the test that a value is not of ``kind``: empty when everything is, None when it takes more than a line."""
    if kind is Any or kind is object:
        return ""
    if is_optional(kind) and is_scalar(inner := without_none(kind)):
        return f"{value} is not None and {_misfit_in_line(value, inner)}"
    if kind is float:
        return f"{value}.__class__ not in float_kinds"
    return f"{value}.__class__ is not {kind.__name__}" if is_scalar(kind) and kind is not NoneType else None


def _is_made_of_slots(cls: type) -> bool:
    """Tell whether making a record is setting its slots and nothing else."""
    return not hasattr(cls, "__attrs_post_init__") and all(
        hasattr(getattr(cls, field.name, None), "__set__")
        and field.init
        and not field.converter
        and not field.validator
        for field in _fields(cls)
    )


def _fields(cls: type) -> tuple[Attribute[Any], ...]:
    from attrs import fields, resolve_types

    resolve_types(cls)
    return tuple(fields(cls))


def _compiled(lines: list[str], known: dict[str, Any]) -> Callable[..., Any]:
    exec("\n".join(lines), known)  # noqa: S102 - made of our own classes' field names, as attrs makes __init__
    made: Callable[..., Any] = known[lines[0].removeprefix("def ").partition("(")[0]]
    return made


# ---------------------------------------------------------------- everything else out


def _optional_out(converter: Converter, union: Kind) -> Callable[[Any], Plain]:
    inner = converter.get_unstructure_hook(without_none(union))
    return lambda value: None if value is None else inner(value)


def _row_out(converter: Converter, kind: Kind) -> Callable[[Any], Plain]:
    inner = converter.get_unstructure_hook(get_args(kind)[0])
    return lambda row: [inner(value) for value in row]


def _table_out(converter: Converter, kind: Kind) -> Callable[[Any], Plain]:
    inner = converter.get_unstructure_hook(get_args(kind)[1])
    return lambda table: {key: inner(value) for key, value in table.items()}


def _choice_out(converter: Converter, union: Kind) -> Callable[[Any], Plain]:
    roads = {member: _road_out(converter, member) for member in get_args(union)}
    return lambda record: roads[record.__class__](record)


# ---------------------------------------------------------------- everything else in


def _scalar_in(kind: type) -> Callable[[Plain, Kind], Any]:
    allowed = (float, int) if kind is float else (kind,)

    def scalar_in(read: Plain, _: Kind) -> Plain:
        if read.__class__ in allowed:
            return read
        raise TypeError(f"expected {kind.__name__}, got {read.__class__.__name__}")

    return scalar_in


@cache
def _words(kind: type[StrEnum]) -> dict[str, StrEnum]:
    return {word.value: word for word in kind}


def _word_in(read: Plain, kind: type[StrEnum]) -> StrEnum:
    words = _words(kind)
    if read.__class__ is str and read in words:
        return words[read]
    raise ValueError(f"{read!r} is none of {', '.join(words)}")


def _optional_in(converter: Converter, union: Kind) -> Callable[[Plain, Kind], Any]:
    kind = without_none(union)
    inner = converter.get_structure_hook(kind)
    return lambda read, _: None if read is None else inner(read, kind)


def _choice_in(converter: Converter, union: Kind) -> Callable[[Plain, Kind], Any]:
    roads = {member.__name__: (converter.get_structure_hook(member), member) for member in get_args(union)}

    def choice_in(read: Plain, _: Kind) -> Plain:
        match read:
            case [str() as tag, fields] if tag in roads:
                road, member = roads[tag]
                return road(fields, member)
        raise TypeError(f"expected one of {', '.join(roads)} and its fields")

    return choice_in


def _row_in(converter: Converter, kind: Kind) -> Callable[[Plain, Kind], Any]:
    made: Callable[[Any], Any] = list if len(get_args(kind)) == 1 else tuple
    of = get_args(kind)[0]
    inner = converter.get_structure_hook(of)

    def row_in(read: Plain, _: Kind) -> Plain:
        if read.__class__ is not list:
            raise TypeError(f"expected an array, got {read.__class__.__name__}")
        try:
            return made([inner(value, of) for value in read])
        except Exception:  # noqa: BLE001 - found again and raised with its place
            raise _first_misfit(enumerate(read), inner, of, kind) from None

    return row_in


def _table_in(converter: Converter, kind: Kind) -> Callable[[Plain, Kind], Any]:
    key_kind, of = get_args(kind)
    key_in, inner = converter.get_structure_hook(key_kind), converter.get_structure_hook(of)

    def table_in(read: Plain, _: Kind) -> Plain:
        if read.__class__ is not dict:
            raise TypeError(f"expected a map, got {read.__class__.__name__}")
        try:
            return {key_in(key, key_kind): inner(value, of) for key, value in read.items()}
        except Exception:  # noqa: BLE001 - found again and raised with its place
            for key in read:
                key_in(key, key_kind)
            raise _first_misfit(read.items(), inner, of, kind) from None

    return table_in


# ---------------------------------------------------------------- what does not fit


def _first_misfit(
    items: Iterable[tuple[Any, Plain]], inner: Callable[[Plain, Kind], Any], of: Kind, kind: Kind
) -> Exception:
    """Find the item that does not fit again, and note where it lies, the way cattrs notes it."""
    from cattrs.errors import IterableValidationError, IterableValidationNote

    for at, value in items:
        try:
            inner(value, of)
        except Exception as misfit:  # noqa: BLE001 - it is carried, not swallowed
            misfit.add_note(IterableValidationNote(f"structuring {kind} @ index {at}", at, of))
            return IterableValidationError(f"while structuring {kind}", [misfit], kind)
    return TypeError(f"expected {kind}")


def _misfits(error: BaseException, path: str) -> Iterator[tuple[str, str]]:
    """List what is wrong under ``path``, in the order of the fields, from the errors the detailed converter collected."""
    from cattrs.errors import ClassValidationError, ForbiddenExtraKeysError, IterableValidationError

    match error:
        case ClassValidationError():
            noted, bare = error.group_exceptions()
            for inner, field in noted:
                yield from _misfits(inner, f"{path}.{field.name}")
            for inner in bare:
                yield from _misfits(inner, path)
        case IterableValidationError():
            for inner, at in error.group_exceptions()[0]:
                yield from _misfits(inner, f"{path}[{at.index}]")
        case ForbiddenExtraKeysError():
            for key in sorted(map(str, error.extra_fields)):
                yield f"{path}.{key}", "unknown key"
        case KeyError():
            yield path, "missing"
        case AttributeError():  # the generated code asked something that is no map for its keys
            yield path, "expected a map of fields"
        case _:
            yield path, str(error)
