"""Where a run's work lies and how to get at it: the run's own commands, and plain git beside them (W5, W10).

Law: pure. At the end of a run it is read off the view; later also off where the work stands in the repositories now, which is
what counts. Whoever prints it says where the run's folder is and whether the run has a repository of its own.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ggactors.telemetry.plaintext import Look, one_line, safe, shell_word
from ggactors.telemetry.story import landing_text

if TYPE_CHECKING:
    from ggactors.protocol.git import Standing
    from ggactors.telemetry.folds import AgentView, RunView


def whereabouts(
    view: RunView, look: Look, *, folder: str, repository: str | None, standing: Standing | None = None
) -> list[str]:
    """Say where the work lies, and how to get at what was held back or saved (W5, W10).

    ``repository`` is the run's own one, None when it has none; ``standing`` where the work stands now, None to go by the view.
    """
    lines = [f"Events, journal and crew of the run: {safe(folder)}"]
    known = standing is not None and standing.operator is not None and standing.branch is not None
    lines += _landed_by_now(view, look, standing) if known and standing is not None else _landed(view, look, repository)
    lines += _saved(view, repository, standing)
    for work in standing.open or () if standing is not None else ():
        lines += [
            f"Unfinished work of {one_line(work.name)} ({one_line(work.size)}) lies in {safe(work.where)}; get a copy with"
        ]
        lines += [f"  {_command('ggactors', 'recover', view.run, work.name)}"]
    return lines


def _landed(view: RunView, look: Look, repository: str | None) -> list[str]:
    """Go by what the run itself told."""
    merges = [issue.merge for issue in view.issues.values() if issue.merge is not None]
    done = any(merge.merged and not merge.empty_change for merge in merges)
    landing = view.landing
    if landing is not None and landing.source != landing.target:
        return [f"The work is in {safe(view.workspace)}: {landing_text(landing)}."]
    if landing is not None and landing.reason is not None:
        return [
            look.paint(f"The work was not landed: {landing_text(landing)}.", "yellow"),
            *_held(view, repository),
        ]
    if done and _is_in_place(view):
        return [f"The work is in {safe(view.workspace)} itself."]
    if done and repository is not None:
        if not view.ended:
            return ["The work so far is not landed.", *_held(view, repository)]
        return ["The work was not landed.", *_held(view, repository)]
    return [f"The workspace: {safe(view.workspace)}"]


def _landed_by_now(view: RunView, look: Look, standing: Standing) -> list[str]:
    """Go by what the repositories hold now: the operator may have landed, merged, fetched or reset since."""
    landing = view.landing
    if not standing.merged:
        return [f"The workspace: {safe(view.workspace)}"]
    if standing.landed:
        moved = f": {landing_text(landing)}" if landing is not None and landing.source != landing.target else ""
        return [f"The work is in {safe(view.workspace)}{moved}."]
    why = f": {landing_text(landing)}" if landing is not None and landing.reason is not None else ""
    if standing.held_by is not None:
        branch = one_line(standing.held_by.removeprefix("refs/heads/"))
        return [f"The work is not landed, but {branch} of {safe(standing.operator or '')} holds it."]
    if landing is not None and landing.source != landing.target:
        why = f": your checkout was moved to {one_line(landing.target[:10])}, but no branch of yours holds it any more"
    text = f"The work {'was' if view.ended else 'so far is'} not landed{why}."
    return [look.paint(text, "yellow"), *_held(view, standing.repository)]


def _root(view: RunView) -> AgentView | None:
    return next((agent for agent in view.agents_by_id.values() if agent.kind == "root"), None)


def _is_in_place(view: RunView) -> bool:
    """Tell whether the root worked in the operator's own directory."""
    root = _root(view)
    return root is not None and (root.workdir == view.workspace or root.workdir.startswith(f"{view.workspace}/"))


def _held(view: RunView, repository: str | None) -> list[str]:
    root = _root(view)
    branch = one_line(root.branch) if root is not None and root.branch else None
    if repository is None or branch is None:
        return []
    ref = branch if branch.startswith("refs/") else f"refs/heads/{branch}"
    return [
        "  Land it with",
        f"    {_command('ggactors', 'land', view.run)}",
        f"  or take {ref} of {safe(repository)} with",
        f"    {_fetch(view, repository, ref, f'ggactors-{view.run}')}",
    ]


def _fetch(view: RunView, repository: str, ref: str, branch: str) -> str:
    return _command("git", "-C", view.workspace, "fetch", repository, f"{ref}:refs/heads/{branch}")


def _saved(view: RunView, repository: str | None, standing: Standing | None) -> list[str]:
    """Name what was saved and, where that is known, is not brought back yet."""
    if standing is not None:
        several = {issue for issue, count in Counter(work.issue for work in standing.saved).items() if count > 1}
        saved = [
            (work.name if work.issue in several else work.issue or work.ref, work.ref) for work in standing.unrecovered
        ]
    else:
        merges = [(issue.id, issue.merge) for issue in view.issues.values() if issue.merge is not None]
        saved = [(issue, merge.saved_ref) for issue, merge in merges if merge.saved_ref]
    if not saved:
        return []
    place = repository or view.workspace
    lines = [f"Work that was not merged is kept in {safe(place)}:"]
    for name, ref in saved:
        branch = f"recovered-{name.replace('#', '-')}"
        get = (
            _fetch(view, repository, ref, branch) if repository else _command("git", "-C", place, "branch", branch, ref)
        )
        lines += [
            f"  {one_line(name)}: {one_line(ref)}; bring it back with",
            f"    {_command('ggactors', 'recover', view.run, name)}",
            "  or with git alone",
            f"    {get}",
        ]
    return lines


def _command(*words: str) -> str:
    return " ".join(map(shell_word, words))
