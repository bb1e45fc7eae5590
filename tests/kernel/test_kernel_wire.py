"""The door to bytes: everything comes back equal, and everything that does not fit says where."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

import attrs
import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_golden import fact_unions, golden, protocol_records, protocol_unions, sample

from ggactors.protocol import agent, board
from ggactors.protocol.model import ModelReply, ToolCall, ToolResult
from ggactors.protocol.values import Status
from ggactors.wire import Codec, Tagged, WireError

TEXT = st.text(st.characters(exclude_categories=()), max_size=12)
"""Any text Python can hold, lone surrogates included."""
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.integers(-(2**100), 2**100) | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Any value a field of that kind may have."""
    args = get_args(kind)
    if kind is Any:
        return JSON
    if isinstance(kind, UnionType) or (args and NoneType in args):
        return st.one_of(*(st.none() if arg is NoneType else values(arg) for arg in args))
    if get_origin(kind) is tuple:
        return st.lists(values(args[0]), max_size=3).map(tuple)
    if get_origin(kind) in (dict, Mapping):
        return st.dictionaries(values(args[0]), values(args[1]), max_size=3)
    if attrs.has(kind):
        return records(kind)
    if issubclass(kind, StrEnum):
        return st.sampled_from(list(kind))
    plain = {
        str: TEXT,
        int: st.integers(),
        float: st.floats(allow_nan=False),
        bool: st.booleans(),
        bytes: st.binary(max_size=9),
    }
    return plain[kind]


def records(cls: type) -> st.SearchStrategy[Any]:
    attrs.resolve_types(cls)
    return st.builds(cls, **{field.alias: values(field.type) for field in attrs.fields(cls)})


@pytest.mark.parametrize("union", protocol_unions().values(), ids=protocol_unions().keys())
def test_every_member_of_every_union_comes_back_equal(union: Any) -> None:
    tagged: Tagged[Any] = Tagged(union)
    for member in get_args(union):  # none is left to chance
        assert tagged.unpack(tagged.pack(sample(member))) == sample(member)

    @settings(max_examples=80, deadline=None)
    @given(st.one_of(*(records(member) for member in get_args(union))))
    def come_back(record: Any) -> None:
        back = tagged.unpack(tagged.pack(record))
        assert back == record
        assert type(back) is type(record)
        assert repr(back) == repr(record)  # 1 == True == 1.0 would hide a changed type

    come_back()


@pytest.mark.parametrize(
    "cls", protocol_records(), ids=lambda cls: f"{cls.__module__.rpartition('.')[2]}.{cls.__name__}"
)
def test_every_record_of_the_protocol_crosses_the_wire(cls: type) -> None:
    tagged: Tagged[Any] = Tagged(cls)
    assert tagged.unpack(tagged.pack(sample(cls))) == sample(cls)


@pytest.mark.parametrize("name", fact_unions())
def test_old_journals_are_readable_for_ever(name: str) -> None:
    union, known = fact_unions()[name], golden()[name]
    tagged: Tagged[Any] = Tagged(union)
    members = {member.__name__: member for member in get_args(union)}
    assert members.keys() <= known.keys(), "a new fact: python tests/kernel/kernel_golden.py keeps its bytes"
    for tag, packed in known.items():
        assert tag in members, f"{tag} is in journals; it may be replaced but its name must stay readable"
        written = msgpack.unpackb(bytes.fromhex(packed), unicode_errors="surrogatepass")[1]
        assert tagged.unpack(bytes.fromhex(packed)) == thinned(sample(members[tag]), written), tag


def thinned(value: Any, written: Any) -> Any:
    """Give a sample with the fields that were there when it was written, all the way down; the others have their defaults."""
    if attrs.has(type(value)):
        fields = written[1] if isinstance(written, list) else written
        there = [field for field in attrs.fields(type(value)) if field.name in fields]
        return type(value)(**{field.alias: thinned(getattr(value, field.name), fields[field.name]) for field in there})
    if isinstance(value, tuple):
        return tuple(map(thinned, value, written))
    return value


ISSUE = board.CreateIssue(
    by="root",
    profile="lead",
    title="t",
    in_scope="in",
    out_of_scope="-",
    completion_criteria="c",
    agent="coder",
    blocked_by=("AUTH-1", "AUTH-2"),
)
CODEC: Codec[Any, Any] = Codec(board.BoardLetter, board.BoardAnswer)
FACTS: Tagged[Any] = Tagged(agent.AgentFact)


def altered(record: Any, codec: Any = CODEC.pack_letter, **fields: Any) -> bytes:
    tag, written = msgpack.unpackb(codec(record))
    return bytes(msgpack.packb([tag, {**written, **fields}]))


def test_the_wire_names_the_class_and_the_fields() -> None:
    assert msgpack.unpackb(CODEC.pack_letter(board.StartIssue(issue="A-1"))) == ["StartIssue", {"issue": "A-1"}]


@pytest.mark.parametrize(
    ("packed", "path", "why"),
    [
        (altered(ISSUE, by=5), "CreateIssue.by", "expected str, got int"),
        (altered(ISSUE, title=b"t"), "CreateIssue.title", "expected str, got bytes"),
        (altered(ISSUE, epic=False), "CreateIssue.epic", "expected str, got bool"),
        (altered(ISSUE, blocked_by="AUTH-1"), "CreateIssue.blocked_by", "expected an array, got str"),
        (altered(ISSUE, blocked_by=["AUTH-1", 2]), "CreateIssue.blocked_by[1]", "expected str, got int"),
        (altered(ISSUE, bogus=1), "CreateIssue.bogus", "unknown key"),
        (msgpack.packb(["StartIssue", {}]), "StartIssue.issue", "missing"),
        (msgpack.packb(["StartIssue", {"isue": "A-1"}]), "StartIssue.issue", "missing"),
        (msgpack.packb(["StartIssue", []]), "StartIssue", "expected a map of fields"),
        (msgpack.packb(["ListReady", []]), "ListReady", "expected a map of fields"),
        (msgpack.packb(["ListReady", {"x": 1}]), "ListReady.x", "unknown key"),
        (msgpack.packb(["Nonsense", {}]), "Nonsense", "unknown tag, not one of AskOutlook"),
        (msgpack.packb(["EpicCreated", {}]), "EpicCreated", "unknown tag"),
        (msgpack.packb([["ListReady"], {}]), "", "expected a tag and its fields"),
        (msgpack.packb("ListReady"), "", "expected a tag and its fields"),
        (msgpack.packb(7), "", "expected a tag and its fields"),
        (b"", "", "not a record"),
        (b"\xc1", "", "not a record"),
        (CODEC.pack_letter(ISSUE) + b"\x00", "", "not a record"),
        (msgpack.packb(["StartIssue", {"issue": msgpack.ExtType(9, b"")}]), "", "not a record"),
    ],
)
def test_what_does_not_fit_is_one_error_that_says_where(packed: bytes, path: str, why: str) -> None:
    with pytest.raises(WireError) as caught:
        CODEC.unpack_letter(packed)
    assert caught.value.path == path
    assert why in str(caught.value)


def test_a_misfit_deep_inside_is_found() -> None:
    good = ToolResult(call_id="1", tool="shell", ok=True, output="")
    tag, fields = msgpack.unpackb(FACTS.pack(agent.CallsAnswered(agent="a", turn=1, results=(good, good), outcome="p")))
    fields["results"][1]["ok"] = "yes"
    with pytest.raises(WireError, match=r"CallsAnswered\.results\[1\]\.ok: expected bool, got str"):
        FACTS.unpack(msgpack.packb([tag, fields]))


def test_a_word_outside_its_enumeration_is_a_misfit() -> None:
    ended = agent.AgentEnded(agent="a", status=Status.COMPLETED, summary="", turns=1)
    for wrong in ("finished", 5, ["completed"]):
        with pytest.raises(WireError) as caught:
            FACTS.unpack(altered(ended, FACTS.pack, status=wrong))
        assert caught.value.path == "AgentEnded.status"


def test_every_truncation_of_a_letter_is_a_wire_error() -> None:
    packed = CODEC.pack_letter(ISSUE)
    for length in range(len(packed)):
        with pytest.raises(WireError):
            CODEC.unpack_letter(packed[:length])


@settings(max_examples=300, deadline=None)
@given(
    st.binary(max_size=40)
    | JSON.map(lambda tree: msgpack.packb(["StartIssue", tree], default=str, unicode_errors="replace"))
)
def test_garbage_is_a_wire_error_and_nothing_else(packed: bytes) -> None:
    with contextlib.suppress(WireError):
        CODEC.unpack_letter(packed)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_flipped_byte_is_a_wire_error_or_another_letter_of_the_right_types(data: st.DataObject) -> None:
    packed = bytearray(CODEC.pack_letter(ISSUE))
    packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    try:
        read = CODEC.unpack_letter(bytes(packed))
    except WireError:
        return
    assert CODEC.unpack_letter(CODEC.pack_letter(read)) == read


def test_a_field_that_old_bytes_lack_takes_its_default() -> None:
    tag, fields = msgpack.unpackb(CODEC.pack_letter(ISSUE))
    del fields["reviewers"], fields["epic"]
    assert CODEC.unpack_letter(msgpack.packb([tag, fields])) == ISSUE


def test_fields_in_another_order_are_the_same_letter() -> None:
    tag, fields = msgpack.unpackb(CODEC.pack_letter(ISSUE))
    assert CODEC.unpack_letter(msgpack.packb([tag, dict(reversed(fields.items()))])) == ISSUE


def test_a_record_outside_the_union_cannot_be_packed() -> None:
    with pytest.raises(WireError, match=r"EpicCreated: not one of AskOutlook"):
        CODEC.pack_letter(board.EpicCreated(epic="A", title="", description=None, by=""))
    with pytest.raises(WireError, match="AgentSpawned"):  # same name, another page's class
        from ggactors.protocol import events

        FACTS.pack(sample(events.AgentSpawned))


def test_a_value_that_is_no_wire_value_cannot_be_packed() -> None:
    call = ToolCall(id="1", tool="t", args={"x": object()})
    with pytest.raises(WireError, match="ReplyTaken: cannot be packed: object is no wire value"):
        FACTS.pack(agent.ReplyTaken(agent="a", turn=1, reply=ModelReply(calls=(call,))))
    with pytest.raises(WireError, match="ReplyTaken: cannot be packed"):
        FACTS.pack(agent.ReplyTaken(agent="a", turn=1, reply=ModelReply(calls=None)))  # type: ignore[arg-type]


def test_two_members_of_one_name_are_refused() -> None:
    from ggactors.protocol import events

    with pytest.raises(ValueError, match="AgentSpawned"):
        Tagged(agent.AgentSpawned | events.AgentSpawned)


def reply_with(args: dict[str, Any]) -> agent.ReplyTaken:
    return agent.ReplyTaken(agent="a", turn=2**200, reply=ModelReply(calls=(ToolCall(id="1", tool="t", args=args),)))


@pytest.mark.parametrize("depth", [1, 150, 195, 199, 200, 201, 400, 401, 520, 900])
def test_arguments_nested_as_deep_as_json_allows_come_back_equal(depth: int) -> None:
    tree = json.loads('{"a":[1,' * (depth // 2) + ("[]" if depth % 2 else "null") + "]}" * (depth // 2))
    back = FACTS.unpack(FACTS.pack(reply_with({"tree": tree, "beside": [[[]]]})))
    assert json.dumps(back.reply.calls[0].args) == json.dumps({"tree": tree, "beside": [[[]]]})


def test_arguments_nested_past_what_msgpack_allows_come_back_equal() -> None:
    tree: Any = "bottom"
    for level in range(3000):
        tree = [level, tree] if level % 3 else {"level": level, "tree": tree}
    back = FACTS.unpack(FACTS.pack(reply_with({"tree": tree}))).reply.calls[0].args["tree"]
    for level in reversed(range(3000)):  # a comparison of the whole would meet Python's own limit
        here, back = back if isinstance(back, list) else back.values()
        assert here == level
    assert back == "bottom"


@pytest.mark.parametrize(
    "number", [2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 10**400, -(10**400), 2**127, 255, -129]
)
def test_integers_of_any_size_come_back_equal(number: int) -> None:
    back = FACTS.unpack(FACTS.pack(reply_with({"n": number})))
    assert back == reply_with({"n": number})


@pytest.mark.parametrize("text", ["\udcff", "a\ud800b", "\ud83d\ude00", "\U0001f600", "", "\x00", "é" * 70000])
def test_text_that_is_not_utf8_comes_back_equal(text: str) -> None:
    told = agent.TextHeard(agent=text, text=text)
    assert FACTS.unpack(FACTS.pack(told)) == told


def test_tuples_among_arguments_come_back_as_lists() -> None:
    assert FACTS.unpack(FACTS.pack(reply_with({"t": (1, (2,))}))) == reply_with({"t": [1, [2]]})


@attrs.frozen(kw_only=True)
class Cat:
    lives: int = 9


@attrs.frozen(kw_only=True)
class Dog:
    name: str


@attrs.frozen(kw_only=True)
class Kennel:
    guard: Cat | Dog
    spare: Cat | Dog | None = None
    rest: tuple[Cat | Dog, ...] = ()
    by_name: dict[str, Dog] = attrs.field(factory=dict)
    scores: list[float] = attrs.field(factory=list)
    depth: float = 0.0


def checked(instance: object, attribute: object, value: int) -> None:
    if value < 0:
        raise ValueError("no negative bones")


@attrs.frozen(kw_only=True)
class Bowl:
    """A class whose __init__ does more than set slots."""

    bones: int = attrs.field(validator=checked)
    label: str = attrs.field(default="x", converter=str.upper)


KENNEL = Kennel(
    guard=Dog(name="Rex"),
    spare=Cat(lives=1),
    rest=(Cat(), Dog(name="Bo")),
    by_name={"x": Dog(name="x")},
    scores=[1, 2.5],
)


def test_unions_inside_records_carry_their_tags() -> None:
    tagged: Tagged[Kennel] = Tagged(Kennel)
    assert tagged.unpack(tagged.pack(KENNEL)) == KENNEL
    tag, fields = msgpack.unpackb(tagged.pack(KENNEL))
    assert fields["guard"] == ["Dog", {"name": "Rex"}]
    for path, change in {
        "Kennel.guard": {"guard": ["Cow", {}]},
        "Kennel.rest[1].name": {"rest": [["Cat", {}], ["Dog", {"name": 1}]]},
        "Kennel.by_name[y].name": {"by_name": {"y": {"name": None}}},
        "Kennel.scores[0]": {"scores": [True]},
        "Kennel.depth": {"depth": "deep"},
        "Kennel.by_name": {"by_name": []},
    }.items():
        with pytest.raises(WireError) as caught:
            tagged.unpack(msgpack.packb([tag, {**fields, **change}]))
        assert caught.value.path == path


def test_a_class_that_checks_its_values_still_does() -> None:
    tagged: Tagged[Bowl] = Tagged(Bowl)
    assert tagged.unpack(tagged.pack(Bowl(bones=2, label="y"))) == Bowl(bones=2, label="Y")
    with pytest.raises(WireError, match="no negative bones"):
        tagged.unpack(altered(Bowl(bones=2), tagged.pack, bones=-1))


def test_an_actor_that_answers_nothing_has_a_codec_too() -> None:
    codec: Codec[board.StartIssue, None] = Codec(board.StartIssue)
    assert codec.unpack_answer(codec.pack_answer(None)) is None
    assert codec.unpack_letter(codec.pack_letter(board.StartIssue(issue="A-1"))) == board.StartIssue(issue="A-1")
