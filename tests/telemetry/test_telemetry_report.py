"""The report: what is on it, that nothing on it can act, and that it is what its command writes."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise

import report_kit
from hypothesis import given, settings
from hypothesis import strategies as st

from ggactors.protocol import events
from ggactors.telemetry.report import report_page
from ggactors.telemetry.reportfold import Span, fold_report
from ggactors.telemetry.reporthtml import anchor, el, length, short
from ggactors.testing.crews import finish, issue, run_to_end, turn, wait, write, write_crew


class Page(HTMLParser):
    """Reads a page: the ids of its elements, where its links go, which tags and attributes it has."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        for name, value in attrs:
            self.attributes.add(name)
            if name == "id":
                self.ids.append(value)
            if name == "href":
                self.links.append(value)
        if tag not in ("meta", "link", "br", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.setdefault(self.open[-1] if self.open else "", []).append(data)


PAGE = report_page(fold_report(report_kit.small()), report_kit.DIFFS)
READ = Page(PAGE)
SPOKEN = " ".join(text for tag, found in READ.texts.items() if tag not in ("script", "style") for text in found)


def test_every_agent_and_issue_has_its_place_and_every_link_leads_to_one():
    fold = fold_report(report_kit.small())
    assert {anchor("a", name) for name in fold.view.agents_by_id} <= set(READ.ids)
    assert {anchor("i", name) for name in fold.view.issues} <= set(READ.ids)
    assert len(READ.ids) == len(set(READ.ids))
    assert {link for link in READ.links if link != "data:,"} <= {f"#{one}" for one in READ.ids} | {"#a-AUTH-1.0m"}


def test_states_stalls_reviews_merges_ceilings_and_changes_are_told():
    for said in (
        "Review 1 ",
        "changes requested",
        "Review 2 ",
        "approved by ",
        "stands behind ",
        "exhausted",
        "No issues.",
    ):
        assert said in SPOKEN
    for said in (
        "Say why.",
        "+12",
        "conflict resolved by ",
        "maxTurns",
        "your checkout was left where it is",
        "No epic",
    ):
        assert said in SPOKEN
    assert " asks: Which one?" in SPOKEN
    assert "waited" in SPOKEN  # how long the root waited


def test_nothing_from_outside_becomes_markup_and_nothing_acts_on_a_reader():
    assert READ.open == []
    assert "img" not in READ.tags
    assert not {"onerror", "onclick", "onload", "style", "src"} & READ.attributes
    assert PAGE.count("<script>") == 1
    assert "document.title='owned'" in SPOKEN  # as text
    assert "\u202e" not in PAGE
    assert "\x1b" not in PAGE
    assert "http://evil" not in "".join(READ.links)


def test_the_policy_allows_the_pages_own_style_and_script_by_hash_and_nothing_else():
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', PAGE)
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in unescape(policy[1]).split(";"))
    for tag, rule in (("style", "style-src"), ("script", "script-src")):
        (inside,) = re.findall(f"<{tag}>(.*?)</{tag}>", PAGE, re.DOTALL)
        assert rules[rule] == f"'sha256-{base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()}'"
    assert (rules["default-src"], rules["base-uri"], rules["form-action"]) == ("'none'", "'none'", "'none'")
    assert not re.search(r"@import|url\(|https?://(?!evil)", PAGE)


@settings(max_examples=80)
@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_stays_text(said, value):
    page = Page(el("p", said, title=value).text)
    assert page.tags == {"p"}
    assert page.attributes == {"title"}
    assert page.open == []


@settings(max_examples=80)
@given(st.text(min_size=1, max_size=30), st.text(min_size=1, max_size=30))
def test_ids_of_elements_are_plain_and_never_shared(one, other):
    assert re.fullmatch(r"a-[A-Za-z0-9_.-]+", anchor("a", one))
    assert (anchor("a", one) == anchor("a", other)) == (one == other)


def test_a_run_that_has_only_begun_or_has_lost_its_beginning_is_a_report_too():
    for stream in ([], report_kit.small()[:1], report_kit.small()[20:]):
        assert Page(report_page(fold_report(stream))).open == []


def test_agents_stretches_and_slots_are_read_off_the_stream():
    told = [
        report_kit.START,
        report_kit.spawned("root", "root"),
        report_kit.state("root", "running"),
        report_kit.spawned("a", "implementer"),
        report_kit.state("a", "queued"),
        report_kit.state("root", "waiting", waiting_on="ISSUE-1"),
        report_kit.state("a", "running"),
        report_kit.spawned("b", "implementer"),
        report_kit.state("b", "running"),
        report_kit.state("a", "ended", status="completed"),
        report_kit.state("root", "running"),
        events.SessionEnded(status="completed"),
    ]
    fold = fold_report(report_kit.stamped(told, every=1.0))
    assert fold.spans("root") == (
        Span("running", 2.0, 5.0, 0),
        Span("waiting", 5.0, 10.0, None, "ISSUE-1"),
        Span("running", 10.0, 11.0, 0),
    )
    assert fold.spans("a") == (Span("queued", 4.0, 6.0), Span("running", 6.0, 9.0, 0))
    assert fold.spans("b") == (Span("running", 8.0, 11.0, 1),)
    assert fold.slots == 2
    assert fold.use == (3 + 1 + 3 + 3) / 22


def test_slots_shown_are_never_more_than_ran_at_once_and_none_is_held_twice():
    fold = fold_report(report_kit.large(issues=60, agents=40))
    assert fold.slots == fold.view.most_running
    for slot in range(fold.slots):
        held = sorted((span.start, span.end) for _, span in fold.held() if span.slot == slot)
        assert all(end <= start for (_, end), (start, _) in pairwise(held))


def test_spend_adds_up_by_profile_model_and_issue():
    fold = fold_report(report_kit.small())
    assert sum(one.tokens for one in fold.by_model.values()) == fold.view.spend.tokens
    assert sum(one.tokens for one in fold.by_profile.values()) == fold.view.spend.tokens
    assert set(fold.by_issue) == {"AUTH-1", "ISSUE-1"}
    assert fold.curve[-1][1] == fold.view.spend.tokens


def test_what_a_subagent_spends_counts_for_the_issue_of_who_made_it():
    told = [
        report_kit.START,
        report_kit.spawned("ISSUE-1.0i", "implementer", "ISSUE-1"),
        report_kit.spawned("ISSUE-1.0i.0s", "subagent", parent="ISSUE-1.0i"),
        report_kit.used("ISSUE-1.0i"),
        report_kit.used("ISSUE-1.0i.0s"),
    ]
    fold = fold_report(report_kit.stamped(told))
    assert fold.by_issue["ISSUE-1"].tokens == fold.view.spend.tokens


def test_rounds_that_were_not_held_are_not_told_as_rounds_that_asked_for_changes():
    verdicts = ("changes_requested", "not_held", "changes_requested", "changes_requested")
    rounds = [
        events.IssueReview(issue="ISSUE-1", round=at, verdict=verdict, approvals=(), items=(), empty_change=False)
        for at, verdict in enumerate(verdicts, 1)
    ]
    told = [report_kit.START, report_kit.board("ISSUE-1", "in_progress"), *rounds]
    page = Page(report_page(fold_report(report_kit.stamped(told))))
    said = " ".join(text for texts in page.texts.values() for text in texts)
    assert "asked for changes 3 times" in said


def test_counts_and_times_are_written_short():
    assert [short(one) for one in (0, 999, 1200, 2_000_000)] == ["0", "999", "1.2k", "2M"]
    assert [length(one) for one in (0.25, 42, 60, 95, 3600, 5400)] == [
        "0.2 s",
        "42 s",
        "1 min",
        "1 min 35 s",
        "1 h",
        "1 h 30 min",
    ]


def ggactors(place, *words: str, **more) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": os.getcwd(), "GGACTORS_HOME": str(place / "state")}
    return subprocess.run(
        [sys.executable, "-m", "ggactors", *words], cwd=place, env=env, capture_output=True, text=True, **more
    )


async def test_the_command_writes_the_report_of_a_real_run_with_what_each_issue_changed(tmp_path):
    script = {
        "root": [turn(issue("Add a")), wait("ISSUE-1"), finish()],
        "*i": [turn(write("a.py", "one\ntwo\n")), finish()],
    }
    (tmp_path / "work").mkdir()
    crew = write_crew(tmp_path / "crew", script)
    await run_to_end(crew, tmp_path / "work", home=tmp_path / "state")
    ran = ggactors(tmp_path, "report", "last", "-o", "out.html")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == ""
    page = (tmp_path / "out.html").read_text()
    assert "<code>a.py</code>" in page
    assert "<ins>+2</ins>" in page
    assert page == ggactors(tmp_path, "report", "last").stdout
    assert [path.name for path in tmp_path.iterdir() if "out.html" in path.name] == ["out.html"]
    refused = ggactors(tmp_path, "report", "last", "-o", "no/such/folder.html")
    assert refused.returncode == 2
    assert "cannot be written" in refused.stderr
    assert ggactors(tmp_path, "report", "nothing-like-it").returncode == 2
