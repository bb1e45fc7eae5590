"""The Python arm's guest side, first part: the module ``gg``. It runs inside CPython on WASI, never in the package.

Nothing here is trusted by the host: a program can reach and change all of it, and deceives only itself. Requests leave as one
JSON line on descriptor 2; the reply comes on descriptor 0, eight hexadecimal digits of length before it.

It imports nothing that is not compiled into the interpreter: ``json`` alone, with the ``re`` it needs, would take longer than
everything else does.
"""

from __future__ import annotations

import sys
from _json import encode_basestring_ascii, make_encoder, make_scanner
from posix import read as _read
from posix import write as _write

TYPE_CHECKING = False  # importing it would double the time an interpreter takes to boot
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any
else:
    ModuleType = type(sys)

_FIRST, _PIECE = 1 << 12, 1 << 16
"""Bytes of a reply that are asked for first, which most fit into, and then: the more is asked for, the longer that takes."""
_IMPORT_FROM = 109
_MOST_TEXT = 4000


class _Reading:
    """How replies are read: what ``json``'s own scanner takes from its decoder."""

    strict = False
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float

    @staticmethod
    def object_hook(fields: dict[str, Any]) -> Any:
        """Make a record of every object."""
        return Record(fields)


def ask(letter: dict[str, Any]) -> Any:
    """Send the host one letter and read its reply."""
    return _sent("".join(_encode(letter, 0)).encode() + b"\n")


def _sent(line: bytes) -> Any:
    while line:
        line = line[_write(2, line) :]
    got = _read(0, _FIRST)
    if len(got) < 8:
        raise RuntimeError("the host did not answer; was its reply read by something else?")
    size = 8 + int(got[:8], 16)
    pieces = [got]
    have = len(got)
    while have < size:
        pieces.append(_read(0, min(size - have, _PIECE)))
        have += len(pieces[-1])
    return _scan(b"".join(pieces)[8:].decode(), 0)[0]


def _plain(value: Any) -> Any:
    """Turn what a program plausibly passes into plain values: paths, sets, views of mappings."""
    if hasattr(value, "__fspath__"):
        return value.__fspath__()
    if isinstance(value, (set, frozenset, type({}.keys()), type({}.values()))):
        return list(value)
    if isinstance(value, (bytes, bytearray)):
        raise TypeError("bytes cannot be passed; decode them to a str")
    raise TypeError(f"a {type(value).__name__} cannot be passed; use str, int, float, bool, None, list or dict")


def text_of(error: BaseException) -> str:
    """Give an exception's text, cut, whatever that takes."""
    try:
        return str(error)[:_MOST_TEXT]
    except BaseException:  # noqa: BLE001 - a program's exception may do anything
        return "(its text could not be made)"


# As `json` makes it, except that it does not look for circles, which end as recursion that is too deep. NaN is refused.
_encode = make_encoder(None, _plain, encode_basestring_ascii, None, ": ", ", ", False, False, False)


# ---------------------------------------------------------------- what programs see


class Error(Exception):
    """A call was refused or failed. ``code`` says why in one word, ``operation`` which call, ``message`` what to do instead."""

    code = "error"

    def __init__(self, message: str = "", code: str | None = None, operation: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.operation = operation
        if code is not None:
            self.code = code


class NotFound(Error):  # noqa: N818 - a name of the contract
    """There is no such thing."""

    code = "not-found"


class InvalidArgument(Error):  # noqa: N818 - a name of the contract
    """An argument is missing, unknown or of the wrong shape."""

    code = "invalid-argument"


class Conflict(Error):  # noqa: N818 - a name of the contract
    """The state of things does not allow it."""

    code = "conflict"


class Refused(Error):  # noqa: N818 - a name of the contract
    """It is not allowed."""

    code = "refused"


class Unavailable(Error):  # noqa: N818 - a name of the contract
    """You do not have this call."""

    code = "unavailable"


class LimitExceeded(Error):  # noqa: N818 - a name of the contract
    """A maximum, a size or a time-out was passed."""

    code = "limit-exceeded"


class IOFailure(Error):  # noqa: N818 - a name of the contract
    """The world failed: a disk, a process, a connection."""

    code = "io-error"


ERRORS: dict[str, type[Error]] = {
    kind.code: kind for kind in (NotFound, InvalidArgument, Conflict, Refused, Unavailable, LimitExceeded, IOFailure)
}


class Record(dict):  # type: ignore[type-arg]
    """A result with named fields: ``r.name`` and ``r["name"]`` are the same."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"this record has no {_close(name, self)}", name=name, obj=self) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]


_scan = make_scanner(_Reading)  # type: ignore[arg-type]


class Unchanged:
    """The type of ``UNCHANGED``: passing it for an optional argument is the same as leaving the argument out."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNCHANGED"

    def __bool__(self) -> bool:
        return False


UNCHANGED = Unchanged()


class Function:
    """One operation of the SDK. Calling it crosses the membrane."""

    def __init__(self, module: str, name: str, params: list[list[Any]]) -> None:
        self.__name__ = name
        self.__qualname__ = name
        self.__module__ = f"gg.{module}"
        self._id = f"{module}.{name}"
        self._params = params
        self._names = [name for name, needed, _ in params if needed or len(params) == 1]
        """The arguments that may be given by position: the required ones, and one that is alone."""
        self._needed = [name for name, needed, _ in params if needed]
        self._head = f'{{"call": "{self._id}", "args": '

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return str(ask({"doc": self._id}))

    @property
    def __signature__(self) -> Any:
        from inspect import Parameter, Signature

        kinds = dict.fromkeys(self._names, Parameter.POSITIONAL_OR_KEYWORD)
        return Signature(
            [
                Parameter(name, kinds.get(name, Parameter.KEYWORD_ONLY), default=Parameter.empty if needed else default)
                for name, needed, default in self._params
            ]
        )

    def __repr__(self) -> str:
        return f"<function gg.{self._id}{self._shape()}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Have the operation carried out. Raises Error, or the kind of it for its code."""
        sent = self._bind(args, kwargs)
        try:
            reply = _sent(f"{self._head}{''.join(_encode(sent, 0))}}}\n".encode())
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidArgument(f"{self._id}: {text_of(error)}", operation=self._id) from None
        if "error" in reply:
            failed = reply["error"]
            code = failed["code"]
            raise ERRORS.get(code, Error)(failed["message"], code, self._id) from None
        return reply["value"]

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        names = self._names
        if not kwargs and len(args) == len(self._needed) and UNCHANGED not in args:
            return dict(zip(names, args, strict=False))
        if len(args) > len(names):
            raise self._misused(f"takes {len(names)} positional argument{'s'[: len(names) != 1]}, not {len(args)}")
        sent = dict(zip(names, args, strict=False))
        known = [name for name, _, _ in self._params]
        for name, value in kwargs.items():
            if name not in known:
                raise self._misused(f"has no argument {_close(name, known)}")
            if name in sent:
                raise self._misused(f"got `{name}` twice")
            sent[name] = value
        sent = {name: value for name, value in sent.items() if value is not UNCHANGED}
        missing = [name for name in self._needed if name not in sent]
        if missing:
            raise self._misused(f"needs {' and '.join(f'`{name}`' for name in missing)}")
        return sent

    def _misused(self, what: str) -> InvalidArgument:
        return InvalidArgument(f"{self._id} {what}: gg.{self._id}{self._shape()}", operation=self._id)

    def _shape(self) -> str:
        positional = self._names
        said = [name if needed else f"{name}={default!r}" for name, needed, default in self._params]
        if len(positional) < len(said):
            said.insert(len(positional), "*")
        return f"({', '.join(said)})"


class Module(ModuleType):
    """A module of the SDK: its functions are made when they are first named."""

    def __init__(self, name: str, functions: dict[str, list[list[Any]]]) -> None:
        super().__init__(f"gg.{name}", f"Operations of gg.{name}: {', '.join(functions)}.")
        self.__all__ = list(functions)
        self.__functions__ = functions

    def __getattr__(self, name: str) -> Any:
        functions: dict[str, list[list[Any]]] = self.__dict__.get("__functions__", {})
        if name in functions:
            made = Function(self.__name__[3:], name, functions[name])
            setattr(self, name, made)
            return made
        raise _unknown(f"{self.__name__} has no {_close(name, functions)}", name, self)

    def __dir__(self) -> list[str]:
        return list(self.__all__)


class Package(ModuleType):
    """The module ``gg`` itself."""

    __modules__: tuple[str, ...]
    __all__: list[str]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module 'gg' has no attribute {name!r}", name=name, obj=self)
        homes = [
            f"gg.{module}.{_snake(name)}"
            for module in self.__modules__
            if _snake(name) in self.__dict__[module].__functions__
        ]
        hint = f"`{name}`; did you mean `{homes[0]}`?" if homes else _close(name, self.__all__)
        raise _unknown(f"gg has no {hint}", name, self)

    def __dir__(self) -> list[str]:
        return list(self.__all__)


def _unknown(what: str, name: str, owner: object) -> Exception:
    """Make the error for an unknown name: `from … import` replaces the text of an AttributeError, so it gets its own."""
    frame = sys._getframe(2)  # whoever asked for the attribute
    if frame.f_code.co_code[frame.f_lasti] == _IMPORT_FROM:
        return ImportError(what, name=name)
    return AttributeError(what, name=name, obj=owner)


def _snake(name: str) -> str:
    return "".join(f"_{one.lower()}" if one.isupper() else one for one in name).lstrip("_")


def _close(name: str, known: Any) -> str:
    """Quote a name that is not among those known, with the one that was probably meant, or all there are."""
    known = [str(one) for one in known]
    if _snake(name) in known:
        return f"`{name}`; in Python it is spelled `{_snake(name)}`"
    from difflib import get_close_matches

    close = get_close_matches(_snake(name), known, n=1, cutoff=0.6)
    if close:
        return f"`{name}`; did you mean `{close[0]}`?"
    return f"`{name}`; there is {', '.join(known[:40]) or 'nothing in it'}"


def make_gg(sdk: dict[str, dict[str, list[list[Any]]]]) -> Package:
    """Make the module ``gg`` and its modules, of the functions and arguments an agent has."""
    gg = Package("gg", "Everything a program can reach: files, commands, the board and the rest of the run.")
    gg.__path__ = []
    sys.modules["gg"] = gg
    gg.__modules__ = tuple(sdk)
    for name, functions in sdk.items():
        module = Module(name, functions)
        sys.modules[module.__name__] = module
        setattr(gg, name, module)
    kinds: list[type[Error]] = [Error, *ERRORS.values()]
    for kind in kinds:
        kind.__module__ = "gg"
        setattr(gg, kind.__name__, kind)
    Record.__module__ = Unchanged.__module__ = "gg"
    gg.__dict__.update(UNCHANGED=UNCHANGED, Record=Record)
    gg.__all__ = [*sdk, "Error", *(kind.__name__ for kind in ERRORS.values()), "UNCHANGED", "Record"]
    return gg
