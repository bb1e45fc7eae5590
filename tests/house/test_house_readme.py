"""README's two commands are the ones CI runs, and its tour works."""

from __future__ import annotations

import re
import subprocess

from house_pages import ROOT, blocks

README = ROOT / "README.md"


def one_liners() -> list[str]:
    """List the commands of README that begin with making a virtual environment."""
    lines = [line for block in blocks(README) if block.language == "sh" for line in block.text.splitlines()]
    return [line for line in lines if line.startswith("python3 -m venv ")]


def test_readme_has_two_commands_one_runs_the_demo_and_one_the_tests():
    demo, tests = one_liners()
    assert demo.endswith("/bin/ggactors demo")
    assert "/bin/python -m pytest" in tests


def test_ci_runs_the_commands_of_readme():
    listed = subprocess.run(["bash", ".ci/run", "list"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    ran = [re.sub(r"\.ci/venv/\w+", ".venv", line) for line in listed.splitlines() if " && " in line]
    assert ran == one_liners()


def test_ci_knows_its_modes_and_refuses_others():
    done = subprocess.run(["bash", ".ci/run", "everything"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "usage: bash .ci/run [quick|list]\n")


def test_ci_fails_when_a_step_fails_and_says_which(tmp_path):
    """A python3 that cannot make a virtual environment stands in for any failing step; nothing after it can pass."""
    broken = tmp_path / "python3"
    broken.write_text("#!/bin/sh\necho no python here >&2\nexit 9\n", encoding="utf-8")
    broken.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        ["bash", ".ci/run", "quick"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert re.search(r"^FAIL  environment .*\(exit 9\)$", done.stdout, flags=re.MULTILINE)
    assert "no python here" in done.stdout
