"""The merges everybody gets wrong once, made by hand."""

from __future__ import annotations

from merge_kit import Scene, changed, link, repo, run
from repo_kit import git, write

LINES = [f"{n}\n" for n in range(30)]
TEXT = "".join(LINES)


def at(*changes) -> str:
    """Change lines of TEXT: (number, new text) pairs."""
    lines = list(LINES)
    for number, text in changes:
        lines[number] = text
    return "".join(lines)


def other(number: int) -> str:
    """Make a text that nothing is like."""
    return "".join(f"{number}-{line}" for line in LINES)


def crlf(text: str) -> str:
    return text.replace("\n", "\r\n")


B = {"a": TEXT, "keep": "kept\n", "dir/one": other(1), "dir/two": other(2), "bin": b"\x00\x01\x02"}


def scene(ours, theirs, base=None, **more) -> Scene:
    return Scene(base={**B, **(base or {})}, ours=ours, theirs=theirs, **more)


BRACES = "".join(f"if x{n}:\n  {{\n  }}\n\n" for n in range(8))
MARKS = "<<<<<<< HEAD\nnot a conflict\n=======\nreally\n>>>>>>> side\n"

TEXTS = {
    "different lines": scene({"a": at((3, "ours\n"))}, {"a": at((20, "theirs\n"))}),
    "the same change": scene({"a": at((3, "same\n"))}, {"a": at((3, "same\n"))}),
    "one line": scene({"a": at((3, "ours\n"))}, {"a": at((3, "theirs\n"))}),
    "two places": scene({"a": at((3, "o\n"), (20, "o\n"))}, {"a": at((3, "t\n"), (20, "t\n"))}),
    "places two lines apart": scene({"a": at((3, "o\n"), (6, "o\n"))}, {"a": at((3, "t\n"), (6, "t\n"))}),
    "adjacent lines": scene({"a": at((3, "ours\n"))}, {"a": at((4, "theirs\n"))}),
    "one side only": scene({"keep": "ours\n"}, {"a": at((3, "theirs\n")), "new": "n\n", "dir/one": None}),
    "both insert at the end": scene({"a": TEXT + "ours\n"}, {"a": TEXT + "theirs\n"}),
    "both insert the same and more": scene({"a": "top\n" + TEXT}, {"a": "top\nmore\n" + TEXT}),
    "no end of line on our side": scene({"keep": "ours"}, {"keep": "theirs\n"}),
    "no end of line on their side": scene({"keep": "ours\n"}, {"keep": "theirs"}),
    "no end of line on both sides": scene({"keep": "ours"}, {"keep": "theirs"}),
    "an end of line added and the line changed": scene({"keep": "kept\n"}, {"keep": "changed"}, {"keep": "kept"}),
    "crlf, other lines": scene({"c": crlf(at((3, "o\n")))}, {"c": crlf(at((20, "t\n")))}, {"c": crlf(TEXT)}),
    "crlf, one line": scene({"c": crlf(at((3, "o\n")))}, {"c": crlf(at((3, "t\n")))}, {"c": crlf(TEXT)}),
    "crlf on one side only": scene({"a": crlf(TEXT)}, {"a": at((3, "theirs\n"))}),
    "an empty file filled by both": scene({"e": "ours\n"}, {"e": "theirs\n"}, {"e": ""}),
    "emptied against edited": scene({"a": ""}, {"a": at((3, "theirs\n"))}),
    "marker text, no conflict": scene({"m": MARKS + "o\n"}, {"m": "t\n" + MARKS}, {"m": MARKS}),
    "marker text in a conflict": scene({"m": MARKS + "ours\n"}, {"m": MARKS + "theirs\n"}, {"m": MARKS}),
    "repetitive text": scene(
        {"r": BRACES.replace("x3", "ours")}, {"r": BRACES.replace("  }\n\nif x6", "  pass }\n\nif x6")}, {"r": BRACES}
    ),
    "repetitive text, both insert a block": scene(
        {"r": BRACES + "if o:\n  {\n  }\n\n"}, {"r": "if t:\n  {\n  }\n\n" + BRACES}, {"r": BRACES}
    ),
    "names with spaces, quotes and bytes": scene(
        {'sp ace/"q"': "ours\n", "ü\n": "o\n"}, {'sp ace/"q"': "theirs\n", "ü\n": "t\n"}
    ),
    "added alike": scene({"new": "same\n"}, {"new": "same\n"}),
    "added otherwise": scene({"new": "ours\nsame\n"}, {"new": "theirs\nsame\n"}),
    "added empty against filled": scene({"new": ""}, {"new": "theirs\n"}),
}

MODES = {
    "chmod against an edit": scene({"a": run(TEXT)}, {"a": at((3, "theirs\n"))}),
    "an edit against chmod": scene({"a": at((3, "ours\n"))}, {"a": run(TEXT)}),
    "their chmod alone": scene({"keep": "o\n"}, {"a": run(TEXT)}),
    "both chmod": scene({"a": run(TEXT)}, {"a": run(TEXT)}),
    "chmod and a conflict": scene({"a": run(at((3, "ours\n")))}, {"a": at((3, "theirs\n"))}),
    "added alike with two modes": scene({"new": run("same\n")}, {"new": "same\n"}),
    "added otherwise with two modes": scene({"new": "ours\n"}, {"new": run("theirs\n")}),
    "deleted against chmod": scene({"a": None}, {"a": run(TEXT)}),
}

LINKS = {
    "two links": scene({"l": link("x")}, {"l": link("y")}, {"l": link("w")}),
    "their link alone": scene({"keep": "o\n"}, {"l": link("y")}, {"l": link("w")}),
    "links added": scene({"l": link("x")}, {"l": link("y")}),
    "a link against an edit": scene({"a": link("x")}, {"a": at((3, "theirs\n"))}),
    "an edit against a link": scene({"a": at((3, "ours\n"))}, {"a": link("x")}),
    "a link made a file against another link": scene({"l": "file\n"}, {"l": link("y")}, {"l": link("w")}),
    "a link against a file, both new": scene({"l": link("x")}, {"l": "file\n"}),
    "a folder made a link, edited inside": scene(
        {"dir/one": None, "dir/two": None, "dir": link("keep")}, {"dir/one": other(1) + "theirs\n"}
    ),
    "a folder made a link, nothing else": scene({"keep": "o\n"}, {"dir/one": None, "dir/two": None, "dir": link("a")}),
    "a link made a folder": scene({"keep": "o\n"}, {"l": None, "l/in": "in\n"}, {"l": link("dir")}),
    "a link deleted against changed": scene({"l": None}, {"l": link("y")}, {"l": link("w")}),
}

BINARIES = {
    "binary on both sides": scene({"bin": b"\x00ours"}, {"bin": b"\x00theirs"}),
    "binary on one side": scene({"keep": "o\n"}, {"bin": b"\x00theirs"}),
    "binary against text": scene({"bin": "text now\n"}, {"bin": b"\x00theirs"}),
    "binary added by both": scene({"new": b"\x00o"}, {"new": b"\x00t"}),
    "binary and chmod": scene({"bin": run("\x00ours")}, {"bin": b"\x00theirs"}),
}

FOLDERS = {
    "a file against a folder": scene({"spot": "file\n"}, {"spot/in": "folder\n"}),
    "a folder against a file": scene({"spot/in": "folder\n"}, {"spot": "file\n"}),
    "a file made a folder, edited": scene({"a": None, "a/in": "in\n"}, {"a": at((3, "theirs\n"))}),
    "a folder made a file, edited inside": scene(
        {"dir/one": None, "dir/two": None, "dir": "file\n"}, {"dir/one": other(1) + "theirs\n"}
    ),
    "an edit inside, the folder made a file": scene(
        {"dir/one": other(1) + "ours\n"}, {"dir/one": None, "dir/two": None, "dir": "file\n"}
    ),
    "their folder made a file, nothing else": scene({"keep": "o\n"}, {"dir/one": None, "dir/two": None, "dir": "f\n"}),
    "their file made a folder, nothing else": scene({"keep": "o\n"}, {"a": None, "a/in/deep": "f\n"}),
    "file against folder two levels": scene({"s/t": "file\n"}, {"s/t/u": "x\n", "s/t/v": "y\n"}),
}

DELETIONS = {
    "modified against deleted": scene({"a": at((3, "ours\n"))}, {"a": None}),
    "deleted against modified": scene({"a": None}, {"a": at((3, "theirs\n"))}),
    "deleted by both": scene({"a": None}, {"a": None, "keep": "t\n"}),
    "a folder emptied by both halves": scene({"dir/one": None}, {"dir/two": None}),
    "a folder deleted, a file added in it": scene({"dir/one": None, "dir/two": None}, {"dir/three": "new\n"}),
}

MOVED = {"dir/one": None, "dir/two": None, "moved/one": other(1), "moved/two": other(2)}
RENAMES = {
    "renamed and edited": scene({"a": None, "b": at((3, "ours\n"))}, {"a": at((20, "theirs\n"))}),
    "renamed and edited in one place": scene({"a": None, "b": at((3, "ours\n"))}, {"a": at((3, "theirs\n"))}),
    "they renamed": scene({"a": at((3, "ours\n"))}, {"a": None, "sub/b": at((3, "theirs\n"))}),
    "both renamed alike": scene({"a": None, "b": TEXT}, {"a": None, "b": TEXT}),
    "both renamed alike and edited": scene({"a": None, "b": at((3, "o\n"))}, {"a": None, "b": at((3, "t\n"))}),
    "renamed to two names": scene({"a": None, "b": TEXT}, {"a": None, "c": TEXT}),
    "renamed to two names and edited": scene({"a": None, "b": at((3, "o\n"))}, {"a": None, "c": at((20, "t\n"))}),
    "renamed to two names, edited in one place": scene(
        {"a": None, "b": at((3, "o\n"))}, {"a": None, "c": at((3, "t\n"))}
    ),
    "two files to one name": scene({"a": None, "b": at((3, "o\n"))}, {"dir/one": None, "b": other(1)}),
    "two files to one name, both edited": scene(
        {"a": None, "b": at((3, "o\n")), "dir/one": other(1) + "o\n"},
        {"dir/one": None, "b": other(1), "a": at((20, "t\n"))},
    ),
    "renamed onto an added file": scene({"a": None, "b": TEXT}, {"b": "added\n", "a": at((3, "t\n"))}),
    "renamed onto an added file, conflicting": scene(
        {"a": None, "b": at((3, "o\n"))}, {"b": "added\n", "a": at((3, "t\n"))}
    ),
    "renamed against deleted": scene({"a": None, "b": TEXT}, {"a": None}),
    "deleted against renamed and edited": scene({"a": None}, {"a": None, "b": at((3, "t\n"))}),
    "renamed and made runnable": scene({"a": None, "b": run(TEXT)}, {"a": at((3, "t\n"))}),
    "two names swapped": scene({"a": other(1), "dir/one": TEXT}, {"a": at((3, "t\n"))}),
    "renamed, a link in its place": scene({"a": link("b"), "b": TEXT}, {"a": at((3, "t\n"))}),
    "renamed, a link where the other renamed too": scene({"a": link("x")}, {"a": None, "b": TEXT}),
    "renamed onto a folder": scene({"a": None, "spot": TEXT}, {"a": at((3, "t\n")), "spot/in": "x\n"}),
    "a folder moved, edited inside": scene(MOVED, {"dir/one": other(1) + "theirs\n"}),
    "a folder moved, a file added in it": scene(MOVED, {"dir/new": "new\n"}),
    "they moved a folder, we added in it": scene({"dir/new": "new\n"}, MOVED),
    "a folder moved, a file renamed into it": scene(MOVED, {"a": None, "dir/a": TEXT}),
    "a folder moved into the top": scene(
        {"dir/one": None, "dir/two": None, "one": other(1), "two": other(2)}, {"dir/new": "n\n"}
    ),
    "a folder split evenly": scene(
        {"dir/one": None, "dir/two": None, "x/one": other(1), "y/two": other(2)}, {"dir/new": "n\n"}
    ),
    "a folder moved by both to two places": scene(
        MOVED, {"dir/one": None, "dir/two": None, "else/one": other(1), "else/two": other(2), "dir/new": "n\n"}
    ),
    "a folder moved, the added file's place taken": scene({**MOVED, "moved/new": "ours\n"}, {"dir/new": "theirs\n"}),
    "nested folders moved": scene(
        {**MOVED, "dir/in/x": None, "moved/in/x": other(3)}, {"dir/in/y": "new\n"}, {"dir/in/x": other(3)}
    ),
    "an empty file is no rename": scene({"e": None, "f": ""}, {"e": "filled\n"}, {"e": ""}),
}

GITLINKS = {
    "their pointer alone": scene({"keep": "o\n"}, {"sub": repo(2)}, {"sub": repo(1)}),
    "two pointers": scene({"sub": repo(2)}, {"sub": repo(3)}, {"sub": repo(1)}),
    "a pointer deleted against moved": scene({"sub": None}, {"sub": repo(3)}, {"sub": repo(1)}),
    "their pointer goes": scene({"keep": "o\n"}, {"sub": None}, {"sub": repo(1)}),
    "a pointer added": scene({"keep": "o\n"}, {"sub": repo(1)}),
    "a pointer against a file": scene({"sub": repo(1)}, {"sub": "file\n"}),
}


def crossed(ours, theirs, one, two):
    """A criss-cross: each of two changes merged on both branches, then the tips' own changes."""

    def history(commit):
        root = commit(B)
        first, second = commit(changed(B, one), root), commit(changed(B, two), root)
        left = commit(changed(B, {**one, **two, **ours}), first, second)
        right = commit(changed(B, {**one, **two, **theirs}), second, first)
        return left, right

    return Scene(base={}, ours={}, theirs={}, history=history)


CROSSED = {
    "bases that agree": crossed({"keep": "o\n"}, {"bin": b"t"}, {"a": at((3, "one\n"))}, {"dir/one": "two\n"}),
    "bases that conflict": crossed(
        {"a": at((3, "left\n"))}, {"a": at((3, "right\n"))}, {"a": at((3, "one\n"))}, {"a": at((3, "two\n"))}
    ),
    "bases that conflict, one side then": crossed(
        {"a": at((3, "one\n"))}, {"a": at((3, "one\n"), (20, "t\n"))}, {"a": at((3, "one\n"))}, {"a": at((3, "two\n"))}
    ),
    "a base that deleted it": crossed({"a": at((3, "left\n"))}, {"a": None}, {"a": at((3, "one\n"))}, {"a": None}),
    "a base that renamed it": crossed(
        {"a": None, "b": at((3, "left\n"))}, {"a": None, "b": TEXT}, {"a": None, "b": TEXT}, {"keep": "two\n"}
    ),
    "binary bases": crossed({"bin": b"\x00l"}, {"bin": b"\x00r"}, {"bin": b"\x00one"}, {"bin": b"\x00two"}),
}


def told(text, ours, theirs, base=None, **more):
    return scene(ours, theirs, {".gitattributes": text, **(base or {})}, **more)


ONE_LINE = ({"a": at((3, "ours\n"))}, {"a": at((3, "theirs\n"))})
ATTRIBUTES = {
    "merge=union": told("a merge=union\n", *ONE_LINE),
    "merge=union on binary": told("bin merge=union\n", {"bin": b"\x00o"}, {"bin": b"\x00t"}),
    "-merge": told("a -merge\n", *ONE_LINE),
    "binary": told("a binary\n", *ONE_LINE),
    "merge=binary": told("a merge=binary\n", *ONE_LINE),
    "merge=text": told("a merge=text\n", *ONE_LINE),
    "a driver nobody set up": told("a merge=mine\n", *ONE_LINE),
    "a driver of the repository's": told(
        "a merge=mine\n",
        *ONE_LINE,
        config={"merge.mine.driver": "touch ran; exit 0"},
        differs="git runs the command the configuration names; the runtime never does, and marks the conflict",
    ),
    "conflict-marker-size": told("a conflict-marker-size=12\n", *ONE_LINE),
    "eol=crlf": told("*.txt text eol=crlf\n", {"t.txt": at((3, "o\n"))}, {"t.txt": at((20, "t\n"))}, {"t.txt": TEXT}),
    "eol=crlf in a conflict": told(
        "*.txt text eol=crlf\n", {"t.txt": at((3, "o\n"))}, {"t.txt": at((3, "t\n"))}, {"t.txt": TEXT}
    ),
    "autocrlf": scene({"a": at((3, "o\n"))}, {"a": at((20, "t\n"))}, config={"core.autocrlf": "true"}),
    "attributes of a folder": scene(
        {"dir/one": other(1) + "o\n"}, {"dir/one": other(1) + "t\n"}, {"dir/.gitattributes": "one merge=union\n"}
    ),
}


def put(files, *, add=False):
    def before(where):
        write(where, files)
        if add:
            git(where, "add", "-A")

    return before


CHECKOUTS = {
    "an untracked file in the way": scene({"keep": "o\n"}, {"new": "theirs\n"}, before=put({"new": "mine\n"})),
    "an untracked file where a folder comes": scene({"keep": "o\n"}, {"new/in": "t\n"}, before=put({"new": "mine\n"})),
    "an untracked folder where a file comes": scene({"keep": "o\n"}, {"new": "t\n"}, before=put({"new/in": "mine\n"})),
    "an edited file in the way": scene({"keep": "o\n"}, {"a": at((3, "t\n"))}, before=put({"a": TEXT + "mine\n"})),
    "an edited file elsewhere": scene({"keep": "o\n"}, {"a": at((3, "t\n"))}, before=put({"dir/one": "mine\n"})),
    "a staged file in the way": scene(
        {"keep": "o\n"}, {"a": at((3, "t\n"))}, before=put({"a": TEXT + "mine\n"}, add=True)
    ),
    "an edited file in the way of a conflict": scene(*ONE_LINE, before=put({"a": "mine\n"})),
    "an untracked file beside": scene({"keep": "o\n"}, {"dir/one": None, "dir/two": None}, before=put({"dir/x": "x"})),
    "an ignored file in the way": scene(
        {"keep": "o\n"},
        {"built.o": "theirs\n"},
        {".gitignore": "*.o\n"},
        before=put({"built.o": "mine\n"}),
        differs="git writes ignored files over; no byte of the operator's is lost here (W8), so it is refused",
    ),
    "an untracked file that is the same": scene(
        {"keep": "o\n"},
        {"new": "theirs\n"},
        before=put({"new": "theirs\n"}),
    ),
    "something staged elsewhere": scene(
        {"keep": "o\n"},
        {"a": at((3, "t\n"))},
        before=put({"dir/one": "mine\n"}, add=True),
        differs="git refuses a merge while anything is staged; here only what the merge writes counts (W10)",
    ),
}

SCENES = {
    f"{kind}: {name}": made
    for kind, table in (
        ("texts", TEXTS), ("modes", MODES), ("links", LINKS), ("binaries", BINARIES), ("folders", FOLDERS),
        ("deletions", DELETIONS), ("renames", RENAMES), ("gitlinks", GITLINKS), ("crossed", CROSSED),
        ("attributes", ATTRIBUTES), ("checkouts", CHECKOUTS),
    )
    for name, made in table.items()
}  # fmt: skip
