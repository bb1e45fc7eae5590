"""What an agent's commands are given of the environment (O4).

Law: listed variables only; whatever else the operator's environment holds, keys of providers first of all, stays out. Git is
given an identity and settings under which it neither asks, nor signs, nor collects garbage in the background.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ggactors.tools.strays import MARK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ggactors.protocol.crew import Profile

PASSED = ("PATH", "HOME", "LANG", "LANGUAGE", "TERM", "TMPDIR", "TZ")
"""Variables passed on as the operator has them, together with every ``LC_…``."""
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_EMAIL_DOMAIN = "agents.ggactors.invalid"
_GIT_SETTINGS = (
    ("safe.directory", "*"),
    ("commit.gpgsign", "false"),
    ("tag.gpgsign", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.splitIndex", "false"),
    ("index.sparse", "false"),
    ("core.editor", "true"),
    ("advice.detachedHead", "false"),
)


def agent_environment(
    agent: str, profile: Profile, source: Mapping[str, str], *, ceiling: str | None = None, token: str | None = None
) -> dict[str, str]:
    """Compose the environment of one agent's commands from the operator's.

    The profile's ``shell_env`` names further variables to pass on; ``ceiling`` is the folder above which git looks for no
    repository; ``token`` marks the run's processes.

    The git identity is the operator's where their environment sets one, else the agent's id.
    """
    env = {name: source[name] for name in source if name in PASSED or name.startswith("LC_")}
    env.setdefault("PATH", DEFAULT_PATH)
    marks = [mark for mark in (source.get(MARK), token) if mark]
    if marks:
        env[MARK] = ":".join(marks)
    for who in ("AUTHOR", "COMMITTER"):
        env[f"GIT_{who}_NAME"] = source.get(f"GIT_{who}_NAME", agent)
        env[f"GIT_{who}_EMAIL"] = source.get(f"GIT_{who}_EMAIL", f"{agent}@{_EMAIL_DOMAIN}")
    env |= {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_EDITOR": "true",
        "GIT_PAGER": "cat",
        "PAGER": "cat",
        "GGACTORS_AGENT": agent,
    }
    if ceiling is not None:
        env["GIT_CEILING_DIRECTORIES"] = ceiling
    env["GIT_CONFIG_COUNT"] = str(len(_GIT_SETTINGS))
    for number, (key, value) in enumerate(_GIT_SETTINGS):
        env[f"GIT_CONFIG_KEY_{number}"] = key
        env[f"GIT_CONFIG_VALUE_{number}"] = value
    env |= {name: source[name] for name in profile.shell_env if name in source}
    return env
