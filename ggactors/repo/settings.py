"""What git's configuration says that matters here, read once, never written. Law: no setting that names a command is read."""

from __future__ import annotations

import contextlib
import os
import time

from attrs import frozen
from dulwich.config import ConfigFile, StackedConfig

from ggactors.repo.faults import Malformed, show

FALLBACK_NAME = b"ggactors"
FALLBACK_MAIL = b"ggactors@localhost"


@frozen(kw_only=True)
class Settings:
    """How git is set up for one repository."""

    name: bytes = FALLBACK_NAME
    mail: bytes = FALLBACK_MAIL
    autocrlf: str = "false"
    """``true``, ``input`` or ``false``."""
    eol: str = "native"
    file_mode: bool = True
    ignore_case: bool = False
    symlinks: bool = True
    excludes: bytes | None = None
    attributes: bytes | None = None
    log_refs: bool = True
    sparse: bool = False
    format: int = 0
    extensions: tuple[tuple[str, str], ...] = ()
    bare: bool | None = None
    worktree: bytes | None = None

    @property
    def ident(self) -> bytes:
        """Give ``Name <mail>`` as commits carry it."""
        return b"%s <%s>" % (self.name, self.mail)

    def stamp(self) -> bytes:
        """Give identity and the time now, as a commit header carries them."""
        return b"%s %d %s" % (self.ident, time.time(), time.strftime("%z").encode() or b"+0000")


def read_settings(common: bytes | None, gitdir: bytes | None = None) -> Settings:
    """Read the system's, the person's and the repository's configuration; None reads no repository's. Raises Malformed."""
    backends = []
    local = None
    path = b""
    try:
        if common is not None:
            path = os.path.join(common, b"config")
            if os.path.exists(path):
                local = ConfigFile.from_path(os.fsdecode(path))
                backends.append(local)
            extra = path = os.path.join(gitdir or common, b"config.worktree")
            if (
                local is not None
                and _truth(_get(local, "extensions.worktreeConfig"), default=False)
                and os.path.exists(extra)
            ):
                backends.insert(0, ConfigFile.from_path(os.fsdecode(extra)))
        path = b""
        backends += StackedConfig.default_backends()
    except (ValueError, OSError) as error:
        where = f" of {show(path)}" if path else ""
        raise Malformed(
            f"git's configuration{where} cannot be read ({error}); `git config --list --show-origin` names the file and line"
        ) from error
    stack = StackedConfig(backends)
    name, mail = _get(stack, "user.name"), _get(stack, "user.email")
    bare = _get(local, "core.bare") if local is not None else None
    return Settings(
        name=_clean(name) or FALLBACK_NAME,
        mail=_clean(mail) or FALLBACK_MAIL,
        autocrlf=_autocrlf(_get(stack, "core.autocrlf")),
        eol=(_get(stack, "core.eol") or b"native").decode("ascii", "replace").lower(),
        file_mode=_truth(_get(stack, "core.fileMode"), default=True),
        ignore_case=_truth(_get(stack, "core.ignoreCase"), default=False),
        symlinks=_truth(_get(stack, "core.symlinks"), default=True),
        excludes=_person_file(_get(stack, "core.excludesFile"), b"ignore"),
        attributes=_person_file(_get(stack, "core.attributesFile"), b"attributes"),
        log_refs=_truth(_get(stack, "core.logAllRefUpdates"), default=True),
        sparse=_truth(_get(stack, "core.sparseCheckout"), default=False),
        format=int(_get(local, "core.repositoryFormatVersion") or b"0") if local is not None else 0,
        extensions=_extensions(local),
        bare=None if bare is None else _truth(bare, default=False),
        worktree=_get(local, "core.worktree") if local is not None else None,
    )


def _get(config: ConfigFile | StackedConfig | None, key: str) -> bytes | None:
    if config is None:
        return None
    section, _, name = key.partition(".")
    with contextlib.suppress(KeyError):
        return config.get((section.encode(),), name.encode())
    return None


def _extensions(local: ConfigFile | None) -> tuple[tuple[str, str], ...]:
    if local is None:
        return ()
    with contextlib.suppress(KeyError):
        return tuple(
            (name.decode().lower(), value.decode("utf-8", "replace")) for name, value in local.items((b"extensions",))
        )
    return ()


def _truth(value: bytes | None, *, default: bool) -> bool:
    if value is None:
        return default
    text = value.strip().lower()
    if text in (b"false", b"no", b"off", b"0", b""):
        return False
    if text in (b"true", b"yes", b"on", b"1"):
        return True
    return default


def _autocrlf(value: bytes | None) -> str:
    if value is not None and value.strip().lower() == b"input":
        return "input"
    return "true" if _truth(value, default=False) else "false"


def _clean(value: bytes | None) -> bytes:
    return (value or b"").translate(None, b"<>\n\x00").strip()


def _person_file(value: bytes | None, name: bytes) -> bytes | None:
    if value is not None:
        path = os.path.expanduser(value)
        return path if value else None
    home = os.environb.get(b"XDG_CONFIG_HOME") or os.path.expanduser(b"~/.config")
    return os.path.join(home, b"git", name)


def config_text(settings: Settings) -> bytes:
    """Write the configuration of the run's own repository: quiet, no collection, no signing, the operator's view of files."""

    def quoted(value: bytes) -> bytes:
        escaped = value.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
        return b'"%s"' % escaped

    lines = [
        b"[core]",
        b"\trepositoryformatversion = 0",
        b"\tbare = true",
        b"\tfilemode = %s" % _word(settings.file_mode),
        b"\tlogallrefupdates = true",
        b"\tautocrlf = %s" % settings.autocrlf.encode(),
        b"\tignorecase = %s" % _word(settings.ignore_case),
        b"\tfsmonitor = false",
        b"\tuntrackedCache = false",
        b"\tsplitIndex = false",
    ]
    if settings.eol in ("lf", "crlf"):
        lines.append(b"\teol = %s" % settings.eol.encode())
    for key, value in ((b"excludesFile", settings.excludes), (b"attributesFile", settings.attributes)):
        if value is not None and os.path.exists(value):
            lines.append(b"\t%s = %s" % (key, quoted(value)))
    lines += [
        b"[gc]", b"\tauto = 0",
        b"[maintenance]", b"\tauto = false",
        b"[commit]", b"\tgpgsign = false",
        b"[tag]", b"\tgpgsign = false",
        b"[user]",
        b"\tname = %s" % quoted(settings.name),
        b"\temail = %s" % quoted(settings.mail),
        b"[advice]", b"\tdetachedHead = false",
        b"[index]", b"\tsparse = false",
    ]  # fmt: skip
    return b"\n".join(lines) + b"\n"


def _word(truth: bool) -> bytes:
    return b"true" if truth else b"false"


QUIET = (
    ("commit.gpgsign", "false"),
    ("tag.gpgsign", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.splitIndex", "false"),
    ("core.editor", "true"),
    ("safe.directory", "*"),
)
"""What agents' git is told over whatever a configuration says: sign nothing, collect nothing, wait for no editor."""


def agent_environment(settings: Settings) -> tuple[tuple[str, str], ...]:
    """Give the variables agents' commands run git with: an identity and ``QUIET`` (H2, H4)."""
    name, mail = os.fsdecode(settings.name), os.fsdecode(settings.mail)
    out = [
        (f"GIT_{who}_{what}", value)
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", name), ("EMAIL", mail))
    ]
    out += [("GIT_TERMINAL_PROMPT", "0"), ("GIT_EDITOR", "true"), ("GIT_CONFIG_COUNT", str(len(QUIET)))]
    for number, (key, value) in enumerate(QUIET):
        out += [(f"GIT_CONFIG_KEY_{number}", key), (f"GIT_CONFIG_VALUE_{number}", value)]
    return tuple(out)
