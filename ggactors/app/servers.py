"""The MCP servers of a run: asked for their tools at launch, handed to agents as they are hired.

Law: a server that cannot be had, and an allowlist that names a tool no server has, refuse the launch (P4); nobody was called yet.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ggactors import __version__
from ggactors.ports import LaunchRefused
from ggactors.protocol.values import Problem
from ggactors.tools.environment import agent_environment

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AsyncExitStack

    from ggactors.app.launch import Launch
    from ggactors.ports import Repository
    from ggactors.protocol.crew import Profile
    from ggactors.tools.mcp import McpHouse, McpKit


async def open_servers(launch: Launch, repository: Repository | None, stack: AsyncExitStack) -> McpHouse | None:
    """Ask every server that some profile has for its tools. Raises LaunchRefused with every reason not."""
    profiles = [profile for profile in launch.crew.profiles if profile.mcp is not None]
    if not profiles:
        return None
    from ggactors.tools.mcp import open_mcp_house

    house = await stack.enter_async_context(open_mcp_house(__version__))
    folder = str(launch.workspace) if repository is None else repository.facts.root
    problems: list[Problem] = []
    for profile in profiles:
        assert profile.mcp is not None
        servers = launch.mcp.get(profile.mcp.config, ())
        env = agent_environment(profile.id, profile, os.environ)
        problems += await house.learn(profile.mcp, servers, env=env, folder=folder)
    taken = {tool.name for tool in launch.tools} & {
        name for one in profiles if one.mcp for name in house.names(one.mcp.config)
    }
    for name in sorted(taken):
        remedy = "give the server another name in the config"
        problems.append(Problem(path="tools", what=f"a tool of a server is called `{name}` too", remedy=remedy))
    if not problems:
        problems += [problem for profile in profiles for problem in _unknown_tools(profile, house)]
    if problems:
        raise LaunchRefused(problems)
    return house


def _unknown_tools(profile: Profile, house: McpHouse) -> list[Problem]:
    from ggactors.rules.mcp import JOINT
    from ggactors.rules.shape import suggestion

    assert profile.mcp is not None
    names = house.names(profile.mcp.config)
    return [
        Problem(
            path=f"agents {profile.id} tools",
            what=f"no such tool: {name!r}",
            remedy=suggestion(name, names, "tools of its MCP servers"),
        )
        for name in profile.tools or ()
        if JOINT in name and name not in names
    ]


def kit_for(profile: Profile, house: McpHouse | None, *, env: Mapping[str, str], folder: str) -> McpKit | None:
    """Make the servers of one agent, rooted in its folder; None where its profile has none."""
    if house is None or profile.mcp is None:
        return None
    return house.kit(profile.mcp, env=env, folder=folder)
