"""Tools that come with a launch, as programs have them: every one reachable, no two alike."""

from __future__ import annotations

import json
from typing import Any

import pytest
import toolskit
from attrs import evolve

from ggactors.programs.sdk import Sdk
from ggactors.protocol.crew import CodeGrant
from ggactors.protocol.model import Image, Pictured
from ggactors.protocol.program import Language, Returned, ValueType
from ggactors.protocol.values import Code, Refused
from ggactors.tools.mask import Mask
from ggactors.tools.own import own_operations
from ggactors.tools.toolbox import AgentToolbox, build_toolbox

TICKET = {
    "type": "object",
    "properties": {
        "ticketNumber": {"type": "integer", "description": "Which."},
        "with-notes": {"type": "boolean"},
        "state": {"type": "string", "enum": ["open", "closed"]},
        "labels": {"type": "array", "items": {"type": "string"}},
        "extra": {"type": ["string", "null"]},
    },
    "required": ["ticketNumber"],
}


class Told:
    """A tool that says what it was sent, or what it is to say."""

    description = "Say it back. More of it."

    def __init__(self, name: str = "read-ticket", schema: Any = None, answer: Any = None) -> None:
        self.name = name
        self.schema = TICKET if schema is None else schema
        self.answer = answer

    async def call(self, args: dict[str, Any]) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return json.dumps(args) if self.answer is None else self.answer


def build(*tools: Told, operations: tuple[str, ...] | None = None) -> AgentToolbox:
    lead = toolskit.profile(capabilities=("files",), board=None)
    lead = evolve(lead, code=CodeGrant(language=Language.PYTHON), operations=operations)
    return build_toolbox(
        lead,
        agent="root",
        workbench=None,
        ask_board=None,
        crew=toolskit.crew(lead),
        extra=tools,
        mask=Mask({"SOME_KEY": "not-a-real-key"}),
    )


def test_a_schema_becomes_a_signature_in_each_language():
    (one,) = own_operations([Told()])
    assert [(param.name, param.type, param.required) for param in one.spec.params] == [
        ("ticket_number", ValueType.INTEGER, True),
        ("with_notes", ValueType.FLAG, False),
        ("state", ValueType.TEXT, False),
        ("labels", ValueType.TEXTS, False),
        ("extra", ValueType.ANY, False),
    ]
    python, script = (Sdk([one.spec], language) for language in (Language.PYTHON, Language.TYPESCRIPT))
    assert python.signature(one.spec, types=False).startswith(
        "read_ticket(ticket_number, *, with_notes=None, state=None"
    )
    assert script.signature(one.spec, types=False).startswith("readTicket(ticketNumber, { withNotes?, state?")


async def test_a_call_reaches_the_tool_by_its_own_names_and_null_counts_as_left_out():
    box = build(Told())
    answer = await box.serve("tools.read_ticket", {"ticket_number": 7, "with_notes": True, "state": None, "other": 1})
    assert isinstance(answer, Returned)
    assert json.loads(answer.value) == {"ticketNumber": 7, "with-notes": True, "other": 1}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"@id": {"type": "string"}}},
        {"type": "object", "properties": {"a_b": {}, "aB": {}}},
        {"type": "object", "properties": [], "required": []},
        {"type": "object", "properties": {}, "required": ["a"]},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"$ref": "#/definitions/x"},
    ],
)
async def test_arguments_that_cannot_be_written_one_by_one_are_one_object(schema):
    box = build(Told(schema=schema))
    (spec,) = box.operations
    assert [param.name for param in spec.params] == ["args"]
    assert "JSON schema" in spec.params[0].doc
    answer = await box.serve("tools.read_ticket", {"args": {"@id": "x"}})
    assert answer == Returned(value='{"@id": "x"}')
    assert await box.serve("tools.read_ticket", {"args": [1]}) == Returned(value="{}")


def test_no_two_tools_are_called_alike_in_either_language():
    names = ["get_thing", "get-thing", "getThing", "get__thing", "import", "toString", "docs__search-all"]
    functions = [one.spec.function for one in own_operations(Told(name) for name in names)]
    assert functions == [
        "get_thing",
        "get_thing_2",
        "get_thing_3",
        "get__thing_4",
        "import_tool",
        "to_string_tool",
        "docs__search_all",
    ]
    script = Sdk([one.spec for one in own_operations(Told(name) for name in names)], Language.JAVASCRIPT)
    assert len({script.called(operation) for operation in script.operations}) == len(names)


def test_an_argument_python_reserves_has_an_underscore_and_other_words_have_none():
    schema = {"type": "object", "properties": {"class": {}, "type": {}, "from": {}}}
    (one,) = own_operations([Told(schema=schema)])
    assert one.names == {"class_": "class", "type": "type", "from_": "from"}
    assert "readTicket({ class?, type?, from? }" in Sdk([one.spec], Language.JAVASCRIPT).signature(
        one.spec, types=False
    )


async def test_what_a_tool_gives_is_masked_text_and_its_failure_a_code():
    for answer, given in (
        ("not-a-real-key", Returned(value="[masked:SOME_KEY]")),
        ({"a": 1}, Returned(value='{"a": 1}')),
        (
            Refused(code=Code.CONFLICT, message="not-a-real-key"),
            Refused(code=Code.CONFLICT, message="[masked:SOME_KEY]"),
        ),
        (ValueError("no"), Refused(code=Code.IO_ERROR, message="read-ticket: ValueError: no")),
        (
            Pictured(text="see", images=(Image(media_type="image/png", data=b"x"),)),
            Returned(value="see\n[1 picture(s), which programs do not get]"),
        ),
    ):
        assert await build(Told(answer=answer)).serve("tools.read_ticket", {"ticket_number": 1}) == given


async def test_an_allowlist_of_operations_is_the_whole_grant():
    box = build(Told("a"), Told("b"), operations=("tools.b",))
    assert [spec.id for spec in box.operations] == ["tools.b"]
    refused = await box.serve("tools.a", {})
    assert isinstance(refused, Refused)
    assert refused.code == Code.UNAVAILABLE


def test_a_tool_that_works_in_the_tree_does_so_from_programs_too_M6():
    working = Told("a")
    working.touches_tree = True
    box = build(working, Told("b"))
    assert [box.touches_tree(name) for name in ("a", "tools.a", "b", "tools.b", "tools.c")] == [
        True,
        True,
        False,
        False,
        False,
    ]
