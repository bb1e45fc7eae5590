"""Recognise commands that destroy or publish, by their text alone (``guard-destructive-shell``).

Law: a seat belt, not a wall. It reads a command as a careful colleague would, follows ``cd``, wrappers, substitutions and
``sh -c``, and is blind to what a script, a variable or another program does. What it cannot read it lets pass.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

READ = 20_000
"""Characters of a command that are read."""
_DEEPEST = 4
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_SUBSTITUTION = re.compile(r"\$\(([^()]*)\)|`([^`]*)`")
_REDIRECTION = re.compile(r"\d*(?:>>?|<<?<?)\|?")
_OPERATORS = frozenset(";&|()")
_WORDS = frozenset({"if", "then", "else", "elif", "do", "while", "until", "!", "{", "time", "function"})
_WRAPPERS = frozenset(
    {"sudo", "doas", "env", "nohup", "exec", "command", "builtin", "nice", "setsid", "xargs", "stdbuf"}
)
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
_HALTS = frozenset({"shutdown", "reboot", "halt", "poweroff"})
_HOMES = ("~", "$HOME", "${HOME}")


def destructive(command: str, roots: Sequence[str]) -> str | None:
    """Say what is destructive about a command, or None. It would run in ``roots[0]``; the others are other spellings of it."""
    return _Reading(roots).read(command[:READ], 0)


class _Reading:
    """One command being read. ``here`` is where a relative path leads, as far as the text tells."""

    def __init__(self, roots: Sequence[str]) -> None:
        self.roots = tuple(posixpath.normpath(root) for root in roots)
        self.here = self.roots[0]

    def read(self, text: str, depth: int) -> str | None:
        if depth > _DEEPEST:
            return None
        for found in _SUBSTITUTION.finditer(text):
            inner = self.read(found[1] or found[2] or "", depth + 1)
            if inner is not None:
                return inner
        for words in _commands(text):
            said = self._judge(_bare(words), depth)
            if said is not None:
                return said
        return None

    def _judge(self, words: Sequence[str], depth: int) -> str | None:
        if not words:
            return None
        name, args = words[0].rpartition("/")[2], words[1:]
        match name:
            case "cd":
                self.here = self._path(args[0] if args else "~")
            case "git":
                return _git(args)
            case "rm" if _has(args, "rR", "--recursive"):
                return self._outside("rm -r removes", _operands(args))
            case "chmod" | "chown" if _has(args, "R", "--recursive"):
                return self._outside(f"{name} -R changes", _operands(args)[1:])
            case "find" if "-delete" in args or _runs_rm(args):
                return self._outside("find deletes", _roots(args))
            case "dd" if any(arg.startswith("of=/dev/") and arg != "of=/dev/null" for arg in args):
                return "dd overwrites a device"
            case "eval":
                return self.read(" ".join(args), depth + 1)
            case _ if name in _SHELLS:
                line = _after_flag_c(args)
                return None if line is None else self.read(line, depth + 1)
            case _ if name.startswith("mkfs"):
                return f"{name} formats a device"
            case _:
                return f"{name} stops the machine" if name in _HALTS else None
        return None

    def _outside(self, what: str, targets: Sequence[str]) -> str | None:
        for target in targets:
            path = self._path(target)
            root = next((root for root in self.roots if (path + "/").startswith(root + "/")), None)
            if root is None:
                return f"{what} things outside the workspace: {target}"
            if ".git" in path[len(root) :].split("/"):
                return f"{what} what git keeps: {target}"
        return None

    def _path(self, word: str) -> str:
        """Resolve a word to where it leads; an unknown variable counts as a name here."""
        if word.startswith(_HOMES):
            return "/" + word
        for spelled in ("$PWD", "${PWD}"):
            if word == spelled or word.startswith(spelled + "/"):
                word = self.here + word[len(spelled) :]
        return posixpath.normpath(posixpath.join(self.here, word))


# ---------------------------------------------------------------- reading words


def _commands(text: str) -> list[list[str]]:
    """Split a text into simple commands, each a list of words. A text that cannot be split gives what its lines give."""
    commands: list[list[str]] = []
    for line in text.replace("\\\n", " ").split("\n"):
        current: list[str] = []
        for word in _split(line):
            if word and set(word) <= _OPERATORS:
                commands.append(current)
                current = []
            else:
                current.append(word)
        commands.append(current)
    return [_without_redirections(words) for words in commands]


def _without_redirections(words: Sequence[str]) -> list[str]:
    kept: list[str] = []
    target_follows = False
    for word in words:
        redirection = _REDIRECTION.match(word)
        if redirection is not None:
            target_follows = redirection.end() == len(word)
        elif target_follows:
            target_follows = False
        else:
            kept.append(word)
    return kept


def _split(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|()")
    lexer.whitespace_split = True
    lexer.commenters = ""  # a `#` inside a word begins no comment
    try:
        return list(lexer)
    except ValueError:  # a quote that is closed on another line
        return re.findall(r"[;&|()]+|[^\s;&|()'\"]+", line)


def _bare(words: Sequence[str]) -> list[str]:
    """Drop what stands before a command's name: assignments, keywords, wrappers with their options."""
    left = list(words)
    wrapped = False
    while left:
        word = left[0]
        name = word.rpartition("/")[2]
        if name in _WRAPPERS:
            wrapped = True
        elif not (word in _WORDS or _ASSIGNMENT.match(word) or (wrapped and (word.startswith("-") or word.isdigit()))):
            break
        left.pop(0)
    return left


def _has(args: Sequence[str], letters: str, *longs: str) -> bool:
    """Tell whether a flag is among the arguments, alone or in a bundle of short ones."""
    return any(
        arg in longs or (arg.startswith("-") and not arg.startswith("--") and any(one in arg for one in letters))
        for arg in _before_dashes(args)
    )


def _before_dashes(args: Sequence[str]) -> Sequence[str]:
    return args[: args.index("--")] if "--" in args else args


def _operands(args: Sequence[str]) -> list[str]:
    """List what is no option."""
    after = list(args[args.index("--") + 1 :]) if "--" in args else []
    return [arg for arg in _before_dashes(args) if not arg.startswith("-")] + after


def _roots(args: Sequence[str]) -> list[str]:
    """List the places a ``find`` starts from."""
    found: list[str] = []
    for arg in args:
        if arg.startswith(("-", "(", "!")):
            if arg in ("-H", "-L", "-P"):
                continue
            break
        found.append(arg)
    return found or ["."]


def _runs_rm(args: Sequence[str]) -> bool:
    return any(
        arg in ("-exec", "-execdir", "-ok") and following.rpartition("/")[2] == "rm"
        for arg, following in pairwise(args)
    )


def _after_flag_c(args: Sequence[str]) -> str | None:
    for number, arg in enumerate(args):
        if arg.startswith("-") and not arg.startswith("--") and "c" in arg:
            return args[number + 1] if number + 1 < len(args) else None
        if not arg.startswith("-"):
            return None
    return None


# ---------------------------------------------------------------- git


def _git(args: Sequence[str]) -> str | None:
    """Judge a git command: publishing, and what throws work or history away."""
    left = list(args)
    while left and left[0].startswith("-"):
        takes_one = left[0] in ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path")
        del left[: 2 if takes_one else 1]
    if not left:
        return None
    name, args = left[0], left[1:]
    match name:
        case "push":
            return "git push publishes; the runtime merges and lands what is accepted"
        case "reset" if "--hard" in args:
            return "git reset --hard throws uncommitted work away"
        case "clean" if _has(args, "f", "--force") and not _has(args, "n", "--dry-run"):
            return "git clean -f deletes untracked files for good"
        case "branch" if _has(args, "D") or (_has(args, "d", "--delete") and _has(args, "f", "--force")):
            return "git branch -D deletes a branch that is not merged"
        case "checkout" | "switch" if _has(args, "f", "--force", "--discard-changes"):
            return f"git {name} --force throws uncommitted work away"
        case "stash" if args[:1] in (["drop"], ["clear"]):
            return f"git stash {args[0]} throws stashed work away"
        case "reflog" if args[:1] in (["expire"], ["delete"]):
            return f"git reflog {args[0]} removes the way back"
        case "update-ref" if _has(args, "d"):
            return "git update-ref -d deletes a reference"
        case "filter-branch" | "filter-repo":
            return f"git {name} rewrites history"
        case _:
            return None
