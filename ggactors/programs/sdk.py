"""The program SDK of one agent, read off its operations: what a language calls them, their documentation, the search in it.

Law: pure text, and one source. The stubs a guest makes, the names the membrane lets through, the pages ``gg.docs`` gives and the
summary in the system prompt are all made here of the same declarations, in the spelling of the agent's language.
"""

from __future__ import annotations

import json
import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from ggactors.protocol.program import DocPage, Language, ValueType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ggactors.protocol.program import FieldSpec, OperationSpec, ParamSpec, ResultSpec

_PYTHON_TYPES = {
    ValueType.TEXT: "str",
    ValueType.INTEGER: "int",
    ValueType.NUMBER: "float",
    ValueType.FLAG: "bool",
    ValueType.TEXTS: "list[str]",
    ValueType.RECORD: "Record",
    ValueType.RECORDS: "list[Record]",
    ValueType.ANY: "Any",
    ValueType.NOTHING: "None",
}
_SCRIPT_TYPES = {
    ValueType.TEXT: "string",
    ValueType.INTEGER: "number",
    ValueType.NUMBER: "number",
    ValueType.FLAG: "boolean",
    ValueType.TEXTS: "string[]",
    ValueType.RECORD: "object",
    ValueType.RECORDS: "object[]",
    ValueType.ANY: "unknown",
    ValueType.NOTHING: "void",
}
_QUOTED_NAME = re.compile(r"`([a-z][a-z0-9]*(?:_[a-z0-9]+)+)`")
_WORDS = re.compile(r"[a-z0-9]+")


def camel(name: str) -> str:
    """Spell a snake_case name the way JavaScript does."""
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def by_position(params: Sequence[ParamSpec]) -> list[ParamSpec]:
    """List the arguments that may be given by position: the required ones, and one that is alone."""
    return [param for param in params if param.required or len(params) == 1]


def in_order(params: Sequence[ParamSpec]) -> list[ParamSpec]:
    """List the arguments as they are written: those that may be given by position, then the others."""
    return sorted(params, key=by_position(params).__contains__, reverse=True)


class Sdk:
    """The SDK of one agent in its language. Make it once per agent: it is asked at every program."""

    def __init__(self, operations: Sequence[OperationSpec], language: Language) -> None:
        self.language = language
        self.operations = {operation.id: operation for operation in operations}
        """Every operation the SDK declares, by id."""
        self.script = language is not Language.PYTHON
        self._by_call = {f"{one.module}.{self.spelled(one.function)}": one for one in operations}
        self.modules: dict[str, list[OperationSpec]] = {}
        for operation in operations:
            self.modules.setdefault(operation.module, []).append(operation)
        self.wire = self._wire()
        """The operations as the guest's bootstrap reads them: JSON."""
        self._pages: tuple[DocPage, ...] | None = None

    # ------------------------------------------------------------ spelling

    def spelled(self, name: str) -> str:
        """Spell a name the language's way."""
        return camel(name) if self.script else name

    def called(self, operation: str) -> str:
        """Name an operation the way a program calls it: ``gg.files.readFile``."""
        module, _, function = operation.partition(".")
        return f"gg.{module}.{self.spelled(function)}"

    def worded(self, text: str) -> str:
        """Spell the names quoted in a text the language's way: `` `read_file` `` is `` `readFile` `` in JavaScript."""
        return _QUOTED_NAME.sub(lambda found: f"`{camel(found[1])}`", text) if self.script else text

    def find(self, called: str) -> OperationSpec | None:
        """Find the operation a program calls by ``module.function`` in the language's spelling."""
        return self._by_call.get(called)

    def plain(self, operation: OperationSpec, args: Mapping[str, Any]) -> dict[str, Any]:
        """Name a call's arguments in snake_case; a name the operation does not have stays as it is."""
        names = {self.spelled(param.name): param.name for param in operation.params}
        return {names.get(name, name): value for name, value in args.items()}

    def signature(self, operation: OperationSpec, *, types: bool = True) -> str:
        """Write how an operation is called, as the language writes it."""
        called = self.spelled(operation.function)
        return (_script_signature if self.script else _python_signature)(called, operation, types)

    def unknown(self, operation: str) -> str:
        """Say that there is no such operation, and which was probably meant."""
        close = get_close_matches(operation[:100], self.operations, n=1, cutoff=0.6)
        hint = f"; did you mean `{self.called(close[0])}`?" if close else ""
        return f"there is no call `{_shown(self.called(operation))}`{hint}"

    # ------------------------------------------------------------ documentation

    @property
    def pages(self) -> tuple[DocPage, ...]:
        """Every page: one a module, one an operation, and one on errors."""
        if self._pages is None:
            self._pages = tuple(self._write_pages())
        return self._pages

    def summary(self) -> str:
        """List every module's calls in one line each: what a system prompt needs where it does not carry the pages."""
        parts: list[str] = []
        for module, operations in self.modules.items():
            parts.append(f"gg.{module}")
            parts += [
                f"  {self.signature(one, types=False)}: {self.worded(_first_sentence(one.doc))}" for one in operations
            ]
        return "\n".join(parts)

    def open(self, name: str) -> DocPage | None:
        """Give the page of that name; ``gg.`` before it and the other language's spelling are forgiven."""
        wanted = _plain_name(name)
        return next((page for page in self.pages if _plain_name(page.name) == wanted), None)

    def doc(self, operation: str) -> str:
        """Give an operation's documentation, or say that there is none."""
        page = self.open(operation)
        return page.text if page is not None else self.unknown(operation)

    def search(self, query: str, *, module: str | None = None) -> list[DocPage]:
        """Find pages by words, the best first: a word in a name counts more than one in the text. No words: all pages."""
        words = _WORDS.findall(_plain_name(query))
        pages = [page for page in self.pages if module is None or page.module == module.removeprefix("gg.")]
        scored = [(self._score(page, words), index, page) for index, page in enumerate(pages)]
        return [page for score, _, page in sorted(scored, key=lambda one: (-one[0], one[1])) if score > 0 or not words]

    # ------------------------------------------------------------ making

    def _wire(self) -> str:
        return json.dumps(
            {
                module: {
                    self.spelled(operation.function): [
                        [self.spelled(param.name), param.required, param.default]
                        for param in in_order(operation.params)
                    ]
                    for operation in operations
                }
                for module, operations in self.modules.items()
            }
        )

    def _write_pages(self) -> list[DocPage]:
        pages: list[DocPage] = []
        for module, operations in self.modules.items():
            names = ", ".join(self.spelled(one.function) for one in operations)
            text = "\n\n".join(self._doc(one) for one in operations)
            pages.append(DocPage(name=module, module=module, summary=f"gg.{module}: {names}", text=text))
            for one in operations:
                name = f"{module}.{self.spelled(one.function)}"
                summary = self.worded(_first_sentence(one.doc))
                pages.append(DocPage(name=name, module=module, summary=summary, text=self._doc(one)))
        return [*pages, _errors_page(self.script)]

    def _doc(self, operation: OperationSpec) -> str:
        lines = [f"gg.{operation.module}.{self.signature(operation)}", "", self.worded(operation.doc)]
        if operation.params:
            lines += ["", "Arguments:", *(f"  {self._argument(param)}" for param in in_order(operation.params))]
        result = operation.result
        if result.doc:
            lines += ["", f"Gives {self.worded(result.doc)}"]
        if result.fields:
            lines += ["", "Fields:", *(f"  {self._field(one)}" for one in result.fields)]
        return "\n".join(lines)

    def _argument(self, param: ParamSpec) -> str:
        said = [f"{self.spelled(param.name)}: {self.worded(param.doc)}"]
        if param.choices:
            said.append(f"One of {', '.join(param.choices)}.")
        if param.clears:
            none, left_out = ("null", "undefined") if self.script else ("None", "gg.UNCHANGED")
            said.append(f"Left out or {left_out} keeps what is there; {none} clears it.")
        return " ".join(said)

    def _field(self, one: FieldSpec) -> str:
        types = _SCRIPT_TYPES if self.script else _PYTHON_TYPES
        doc = f": {self.worded(one.doc)}" if one.doc else ""
        return f"{self.spelled(one.name)} ({types[one.type]}){doc}"

    @staticmethod
    def _score(page: DocPage, words: list[str]) -> int:
        name, summary, text = _plain_name(page.name), page.summary.lower(), page.text.lower()
        return sum(5 * (word in name) + 3 * (word in summary) + (word in text) for word in words)


def _python_signature(called: str, operation: OperationSpec, types: bool) -> str:
    said: list[str] = []
    positional = by_position(operation.params)
    for param in in_order(operation.params):
        if param not in positional and "*" not in said:
            said.append("*")
        said.append(_python_param(param, types))
    gives = f" -> {_PYTHON_TYPES[operation.result.type]}" if operation.result.type is not ValueType.NOTHING else ""
    return f"{called}({', '.join(said)}){gives}"


def _python_param(param: ParamSpec, types: bool) -> str:
    default = "gg.UNCHANGED" if param.clears else repr(param.default)
    if not types:
        return param.name if param.required else f"{param.name}={default}"
    kind = _PYTHON_TYPES[param.type]
    if param.required:
        return f"{param.name}: {kind}"
    optional = " | None" if param.default is None else ""
    return f"{param.name}: {kind}{optional} = {default}"


def _script_signature(called: str, operation: OperationSpec, types: bool) -> str:
    positional = by_position(operation.params)
    options = [param for param in operation.params if param not in positional]
    said = [_script_param(param, types) for param in positional]
    if options:
        named = [_script_param(param, types) for param in options]
        braced = f"{{ {('; ' if types else ', ').join(named)} }}"
        said.append(f"options?: {braced}" if types else braced)
    gives = _script_result(operation.result) if types else ""
    return f"{called}({', '.join(said)}){gives}"


def _script_param(param: ParamSpec, types: bool) -> str:
    name = camel(param.name) + ("" if param.required else "?")
    if not types:
        return name
    return f"{name}: {_SCRIPT_TYPES[param.type]}{' | null' if param.clears else ''}"


def _script_result(result: ResultSpec) -> str:
    kind = _SCRIPT_TYPES[result.type]
    if result.fields:
        fields = "; ".join(f"{camel(one.name)}: {_SCRIPT_TYPES[one.type]}" for one in result.fields)
        kind = f"{{ {fields} }}{'[]' if result.type is ValueType.RECORDS else ''}"
    return f": {kind}"


_CODES: tuple[tuple[str, str, str], ...] = (
    ("NotFound", "not-found", "there is no such thing"),
    ("InvalidArgument", "invalid-argument", "an argument is missing, unknown or of the wrong shape"),
    ("Conflict", "conflict", "the state of things does not allow it"),
    ("Refused", "refused", "it is not allowed"),
    ("Unavailable", "unavailable", "you do not have this call"),
    ("LimitExceeded", "limit-exceeded", "a maximum, a size or a time-out was passed"),
    ("IOFailure", "io-error", "the world failed: a disk, a process, a connection"),
)


def _errors_page(script: bool) -> DocPage:
    base, before, catching = (
        ("GGError", "", 'try { … } catch (e) { if (e.code === "not-found") … else throw e }')
        if script
        else ("gg.Error", "gg.", "try: … except gg.NotFound as e: …")
    )
    kinds = "\n".join(f"  {before}{name} ({code}): {meaning}" for name, code, meaning in _CODES)
    text = (
        f"A call that is refused or fails throws {base} or the kind of it for its code; it has `code`, `operation` and `message`, "
        f"and has changed nothing.\n\n{kinds}\n\n{catching}"
    )
    if script:
        text += '\n\nThese classes are globals; `import { NotFound } from "gg"` and `gg.NotFound` give the same.'
    else:
        text = text.replace("throws", "raises")
    return DocPage(name="errors", module=None, summary=f"{base} and its kinds, by code", text=text)


def _first_sentence(doc: str) -> str:
    first = re.split(r"(?<=[.:;])\s", doc.strip(), maxsplit=1)[0]
    return f"{first.rstrip('.:;')}."


def _plain_name(name: str) -> str:
    return name.strip().removeprefix("gg.").replace("_", "").lower()


def _shown(text: Any) -> str:
    short = str(text)[:80]
    return short.encode("utf-8", "backslashreplace").decode()
