"""Reading a ``SKILL.md``."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggactors.protocol.agent import AgentOrder
from ggactors.protocol.crew import CodeGrant, ModelSpec, Profile
from ggactors.protocol.program import Language
from ggactors.protocol.skills import Skill
from ggactors.protocol.values import Kind, Role
from ggactors.rules.briefs import system_prompt
from ggactors.rules.skills import read_skill_text

PLAIN = "---\nname: tidy\ndescription: Tidies up.\n---\n\nDo it.\n"


def test_a_skill_is_its_name_its_description_and_its_body():
    read = read_skill_text(PLAIN, "tidy")
    assert (read.name, read.description, read.body, read.reasons) == ("tidy", "Tidies up.", "Do it.", ())


@pytest.mark.parametrize(
    ("written", "description"),
    [
        ("'It''s: good'", "It's: good"),
        ('"a \\"b\\""', 'a "b"'),
        (">\n  one\n  two", "one two"),
        ("|-\n  one\n  two", "one two"),
        ("one\n  two", "one two"),
        ("one # a comment", "one"),
    ],
)
def test_texts_are_read_as_yaml_has_them(written, description):
    text = f"---\nname: tidy\ndescription: {written}\nmetadata:\n  author: me\nlicense: MIT\n---\nDo it."
    read = read_skill_text(text, "tidy")
    assert (read.description, read.reasons) == (description, ())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Do it.", "no front matter"),
        ("---\nname: tidy\n", "not closed"),
        (PLAIN.replace("name: tidy\n", ""), "no name"),
        (PLAIN.replace("name: tidy", "name: other"), "not that of its folder"),
        (PLAIN.replace("name: tidy", "name: Ti--dy"), "lower-case"),
        (PLAIN.replace("Tidies up.", ""), "no description"),
        (PLAIN.replace("Tidies up.", "x" * 1025), "1025 characters"),
        (PLAIN.replace("Do it.", ""), "no body"),
        (PLAIN.replace("---\n\n", "extra: 1\n---\n\n"), "unknown key 'extra'"),
        (PLAIN.replace("Tidies up.", "[a]"), "cannot be read"),
        (PLAIN.replace("Tidies up.", '"open'), "cannot be read"),
        (PLAIN.replace("Tidies up.", "a: b"), "cannot be read"),
        (PLAIN.replace("name: tidy", "name: tidy\nname: tidy"), "written twice"),
        (PLAIN.replace("name: tidy", "name: tidy\n- item"), "line 3 cannot be read"),
    ],
)
def test_what_cannot_be_read_exactly_is_a_reason(text, reason):
    assert any(reason in one for one in read_skill_text(text, "tidy").reasons)


def test_every_reason_is_given():
    assert len(read_skill_text("---\nextra: 1\n---\n", "tidy").reasons) == 4


@given(st.text())
def test_any_text_is_a_skill_or_has_reasons(text):
    read = read_skill_text(text, "tidy")
    assert read.reasons or (read.name == "tidy" and read.description and read.body)


@given(st.text(alphabet=st.characters(codec="ascii", categories=["L", "N", "P", "S"]), min_size=1, max_size=60))
def test_a_quoted_description_is_read_whole(description):
    read = read_skill_text(f"---\nname: tidy\ndescription: {json.dumps(description)}\n---\nDo it.", "tidy")
    assert (read.description, read.reasons) == (description, ())


@pytest.mark.parametrize(
    ("language", "called"),
    [
        (None, "`read_skill`"),
        (Language.PYTHON, "`gg.skills.read_skill`"),
        (Language.JAVASCRIPT, "`gg.skills.readSkill`"),
    ],
)
def test_the_prompt_announces_names_and_descriptions_and_never_a_body(language, called):
    model = ModelSpec(key="m", provider="script", name="m.json")
    profile = Profile(id="a", name="A", model=model, code=None if language is None else CodeGrant(language=language))
    order = AgentOrder(id="root", profile="a", kind=Kind.ROOT, role=Role.STANDARD, brief="b", workdir="/w")
    prompt = system_prompt(profile, order, skills=(Skill(name="tidy", description="Tidies.", body="SECRET"),))
    assert "- tidy: Tidies." in prompt
    assert called in prompt
    assert "SECRET" not in prompt
    assert "tidy" not in system_prompt(profile, order)
