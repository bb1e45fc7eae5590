"""Built-in checks: what the seat belt holds back and what it lets go, empty writes, the trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hooks_kit import SECRET, Desk, built_in, command
from hypothesis import given, settings
from hypothesis import strategies as st

from ggactors.hooks.destructive import destructive
from ggactors.protocol.hooks import AGENT_EVENTS, RUN_EVENTS, HookOutcome

if TYPE_CHECKING:
    from pathlib import Path

ROOTS = ("/w/t", "/real/w/t")

HELD = """
git push
git push origin main
git -C sub -c a=b push --force
cd sub && git push
true; git push
(git push)
{ git push; }
if true; then git push; fi
sudo git push
env A=1 git push
A=1 B=2 git push
nohup git push &
/usr/bin/git push
sh -c 'git push'
bash -lc "git push"
eval git push
echo $(git push)
echo "`git push`"
x=$(cd sub; git push)
ls | xargs git push
git \\
  push
git reset --hard
git reset --hard HEAD~3
git clean -fdx
git clean --force
git branch -D feature
git branch --delete --force feature
git branch -df feature
git checkout -f main
git switch --discard-changes main
git stash drop
git stash clear
git reflog expire --all
git update-ref -d refs/heads/x
git filter-branch --all
rm -rf /
rm -rf /etc
rm -r -f ../other
rm -fr ..
rm --recursive /w/other
rm -rf /w/tx
rm -rf ~
rm -rf ~/x
rm -rf $HOME/x
rm -rf "${HOME}"
rm -rf a b /c
rm -rf -- -x /c
rm -rf .git
rm -rf sub/.git
cd .. && rm -rf build
cd / ; rm -rf home
cd; rm -rf x
rm -rf $PWD/../x
chmod -R 777 /
chown -R me ..
find / -name '*.py' -delete
find .. -exec rm {} ;
dd if=/dev/zero of=/dev/sda
mkfs.ext4 /dev/sda1
shutdown now
""".strip()

LET_GO = """
git status
git commit -m 'git push'
git commit -m "reset --hard"
echo git push
echo 'git push; rm -rf /'
grep -rn "git push" .
git log --oneline | head
git checkout -b feature
git checkout main
git branch -d merged
git branch --list
git reset HEAD a.py
git reset --soft HEAD~1
git clean -n
git clean -fdn
git stash
git stash pop
git fetch
git merge --abort
git pushd
# git push
rm -rf build
rm -rf ./build/*
rm -rf build > /dev/null
rm -rf build 2>/dev/null
rm -rf build 2> /dev/null >/tmp/log
rm -rf build &>/dev/null
rm -rf /w/t/build
rm -rf /real/w/t/build
rm -rf $PWD/build
rm -rf .github
rm a /b
rm -f /tmp/x
cd sub && rm -rf ../build
cd sub; cd ..; rm -rf build
find . -name '*.pyc' -delete
find /usr -name x
chmod -R u+w .
dd if=a of=/dev/null
sh build.sh
sh -e -x build.sh
python -c 'print("git push")'
pushd sub
printf "it's a \\"quote"
""".strip()


def one_by_one(lines: str) -> list[str]:
    return lines.replace("\\\n", "\0").replace("\n", "\1").replace("\0", "\\\n").split("\1")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


# ---------------------------------------------------------------- guard-destructive-shell


@pytest.mark.parametrize("line", one_by_one(HELD))
def test_a_command_that_reads_destructive_is_held_back(line):
    assert destructive(line, ROOTS) is not None


@pytest.mark.parametrize("line", one_by_one(LET_GO))
def test_a_command_that_reads_harmless_is_let_go(line):
    assert destructive(line, ROOTS) is None


def test_every_line_of_a_command_is_read():
    assert destructive("set -e\nls\n\ngit push\n", ROOTS) is not None


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="git push rm-rf/.~$(){}'\"`;&|\n\\#<>=x", max_size=60))
def test_no_text_breaks_the_reading(text):
    assert destructive(text, ROOTS) is None or isinstance(destructive(text, ROOTS), str)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(["ls", "echo hi", "cd sub", "make -j2", "true"]), max_size=4),
    st.sampled_from([";", "&&", "\n", "||"]),
)
def test_what_stands_around_a_destructive_command_hides_it_from_nobody(around, operator):
    assert destructive(f" {operator} ".join([*around, "git push"]), ROOTS) is not None
    assert destructive(f" {operator} ".join(["git push", *around]), ROOTS) is not None


async def test_the_guard_blocks_a_command_and_says_what_it_would_have_done(desk):
    outcome = await desk.fire("pre-shell", built_in("pre-shell", "guard-destructive-shell"), command="git push")
    assert "git push publishes" in outcome.blocked
    assert desk.ran[0].outcome == "blocked"
    assert await desk.fire("pre-shell", built_in("pre-shell", "guard-destructive-shell"), command="ls") == HookOutcome()


async def test_the_root_counts_as_inside_however_it_is_spelled(desk, tmp_path):
    (tmp_path / "link").symlink_to(desk.root)
    hook = built_in("pre-shell", "guard-destructive-shell")
    assert await desk.fire("pre-shell", hook, command=f"rm -rf {desk.root}/build") == HookOutcome()
    assert (await desk.fire("pre-shell", hook, command=f"rm -rf {tmp_path}/other")).blocked is not None


# ---------------------------------------------------------------- refuse-empty-write, trace


@pytest.mark.parametrize(("contents", "blocks"), [("", True), (" \n\t", True), ("x", False)])
async def test_a_write_that_would_leave_a_file_blank_is_blocked(desk, contents, blocks):
    hook = built_in("pre-write", "refuse-empty-write")
    outcome = await desk.fire("pre-write", hook, path="/w/a.py", contents=contents)
    assert (outcome.blocked is not None) is blocks
    assert not blocks or "/w/a.py" in outcome.blocked


@pytest.mark.parametrize("event", [*RUN_EVENTS, *AGENT_EVENTS])
async def test_the_trace_says_any_event_in_one_bounded_line_without_keys(desk, event):
    outcome = await desk.fire(event, built_in(event, "trace"), path="/w/a", contents=SECRET + "x" * 5000)
    assert outcome == HookOutcome()
    (log,) = desk.logs
    assert log.level == "info"
    assert log.message.startswith(f"{event} {{")
    assert "/w/a" in log.message
    assert SECRET not in log.message
    assert len(log.message) < 1000
    assert "\n" not in log.message


async def test_a_built_in_of_a_later_version_is_no_pass_G2(desk):
    outcome = await desk.fire("agent-stop", built_in("agent-stop", "verify-completion"), command("agent-stop", "true"))
    assert "not in this version" in outcome.blocked
