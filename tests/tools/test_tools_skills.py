"""The operation that reads a skill."""

from __future__ import annotations

import toolskit
from toolskit import call

from ggactors.protocol.program import Language, Returned
from ggactors.protocol.skills import Skill
from ggactors.protocol.values import Code
from ggactors.tools.skills import SkillKit
from ggactors.tools.toolbox import build_toolbox

SKILLS = (
    Skill(name="tidy", description="Tidies.", body="Do it.", on_use={Language.PYTHON: "print(1)"}),
    Skill(name="plain", description="Plain.", body="Just so."),
)


def build(kit: SkillKit):
    lead = toolskit.profile(capabilities=("skills",), board=None)
    return build_toolbox(lead, agent="root", workbench=None, ask_board=None, crew=toolskit.crew(lead), kits=[kit])


async def test_a_skill_is_read_as_text_in_tool_calls_and_in_programs():
    box = build(SkillKit(skills=SKILLS))
    assert (await box.call(call("read_skill", name="tidy"))).output == "Do it."
    assert await box.serve("skills.read_skill", {"name": "plain"}) == Returned(value="Just so.")


async def test_an_unknown_skill_is_not_found_and_the_answer_names_those_there_are():
    result = await build(SkillKit(skills=SKILLS)).call(call("read_skill", name="other"))
    assert result.code == Code.NOT_FOUND
    assert "tidy, plain" in result.output


async def test_code_is_due_once_for_every_use_and_only_in_the_agents_language_E6():
    kit = SkillKit(skills=SKILLS, language=Language.PYTHON)
    box = build(kit)
    for name in ("tidy", "plain", "tidy", "other"):
        await box.serve("skills.read_skill", {"name": name})
    assert kit.take_used() == (("tidy", "print(1)"),) * 2
    assert kit.take_used() == ()
    for other in (None, Language.TYPESCRIPT):
        kit = SkillKit(skills=SKILLS, language=other)
        await build(kit).serve("skills.read_skill", {"name": "tidy"})
        assert kit.take_used() == ()
