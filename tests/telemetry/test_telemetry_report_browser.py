"""The report in a real browser: what it asks for, how it is worked by keys, how it reads on every ground and width."""

from __future__ import annotations

import pytest
import report_kit
from chromium_kit import CHROMIUM, Browser

from ggactors.telemetry.report import report_page
from ggactors.telemetry.reportfold import fold_report

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine (apt-get install chromium)")

CONTRAST = """
(() => {
  const parse = (c) => (c.match(/[\\d.]+/g) || []).map(Number);
  const linear = (v) => v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4;
  const light = (c) => { const [r, g, b] = c.slice(0, 3).map(linear);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] === 1) return c;
    }
    return [255, 255, 255];
  };
  const poor = [];
  const seen = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim() || ["SCRIPT", "STYLE", "title"].includes(e.tagName)) continue;
    const style = getComputedStyle(e);
    const ink = parse(e.closest("svg") ? style.fill : style.color);
    const back = ground(e.closest("svg") ? e.closest("div") : e);
    const [a, b] = [light(ink), light(back)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    seen.add(e.className + e.tagName);
    if (ratio < 4.5) poor.push(`${e.tagName}.${e.getAttribute("class")} ${ratio.toFixed(2)}`);
  }
  return { poor: [...new Set(poor)], looked: seen.size };
})()
"""
FOCUSED = "document.activeElement.closest('.item')?.id || document.activeElement.id || document.activeElement.tagName"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    one = Browser(tmp_path_factory.mktemp("chromium"))
    yield one
    one.close()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "small.html"
    path.write_text(report_page(fold_report(report_kit.small()), report_kit.DIFFS), encoding="utf-8")
    return path


def test_it_opens_without_a_complaint_asks_for_nothing_and_shows_a_picture(browser, page, tmp_path):
    browser.open(page)
    assert browser.complaints == []
    assert browser.requested == [page.as_uri()]
    assert browser.ask("document.title") == "a crew · 260101-0000-abc"  # and no script of a stranger has changed it
    browser.picture(tmp_path / "shot.png")
    assert (tmp_path / "shot.png").stat().st_size > 20_000


def test_its_policy_stops_what_a_stranger_might_get_in(browser, page):
    browser.open(page)
    browser.ask("document.body.insertAdjacentHTML('beforeend', '<img src=\"http://127.0.0.1:9/x.png\">')")
    browser.ask(
        "(() => { const s = document.createElement('script'); s.text = 'window.owned = 1'; document.body.append(s); })()"
    )
    assert browser.ask("fetch('http://127.0.0.1:9/y').then(() => 'reached', () => 'stopped')") == "stopped"
    assert browser.ask("typeof window.owned") == "undefined"
    assert any("Content Security Policy" in one for one in browser.complaints)


def test_every_agent_and_issue_of_a_large_run_is_there_and_it_stays_usable(browser, tmp_path):
    path = tmp_path / "large.html"
    path.write_text(report_page(fold_report(report_kit.large())), encoding="utf-8")
    browser.open(path)
    assert browser.ask("document.querySelectorAll('#agents .item').length") == 500
    assert browser.ask("document.querySelectorAll('#project .item').length") == 2000
    spent = browser.ask(
        """(() => { const find = document.getElementById('find'), from = performance.now();
        find.value = 'failed'; find.dispatchEvent(new Event('input')); document.body.offsetHeight;
        return performance.now() - from; })()"""
    )
    assert spent < 5000  # some 80 ms on a quiet machine
    shown = "document.querySelectorAll('#project .item:not([data-hidden])').length"
    assert browser.ask(shown) == browser.ask("document.querySelectorAll('#project .item[data-state=failed]').length")
    assert 0 < browser.ask(shown) < 500


def test_it_is_worked_by_keys(browser, page):
    browser.open(page)
    browser.press("j")
    assert browser.ask(FOCUSED) == "a-root"
    browser.press("j")
    browser.press("Enter")
    assert browser.ask("document.getElementById('a-AUTH-1.0i').open") is True
    browser.press("k")
    assert browser.ask(FOCUSED) == "a-root"
    browser.press("ArrowDown")
    assert browser.ask(FOCUSED) == "a-AUTH-1.0i"
    browser.press("/")
    assert browser.ask(FOCUSED) == "find"
    for letter in "stalled":
        browser.press(letter)
    visible = "Array.from(document.querySelectorAll('.item:not([data-hidden])'), (one) => one.id)"
    assert browser.ask(visible) == ["i-ISSUE-2"]
    browser.press("Enter")
    assert browser.ask(FOCUSED) == "i-ISSUE-2"
    browser.press("/")
    browser.press("Escape")
    assert len(browser.ask(visible)) == 9
    browser.press("e")
    assert browser.ask("document.querySelectorAll('.item[open]').length") == 9
    browser.press("c")
    assert browser.ask("document.querySelectorAll('.item[open]').length") == 0
    browser.press("2")
    assert browser.ask("location.hash") == "#project"


def test_everything_that_acts_is_reached_by_tab_and_shows_where_it_is(browser, page):
    browser.open(page)
    stops = []
    for _ in range(12):
        browser.press("Tab")
        stops.append(browser.ask(FOCUSED))
        assert browser.ask("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert {"find", "open", "theme"} <= set(stops)


def test_a_link_opens_what_it_leads_to_also_when_it_was_filtered_away(browser, page):
    browser.open(page)
    browser.press("/")
    for letter in "root":
        browser.press(letter)
    browser.ask("location.hash = '#i-AUTH-1'")
    browser.ask("new Promise((done) => setTimeout(done, 0))")
    assert browser.ask(FOCUSED) == "i-AUTH-1"
    assert browser.ask("document.getElementById('i-AUTH-1').open") is True


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_word_has_the_contrast_that_is_asked_of_small_text(browser, page, dark):
    browser.open(page, dark=dark)
    browser.press("e")
    found = browser.ask(CONTRAST)
    assert found["poor"] == []
    assert found["looked"] > 20
    assert browser.ask("getComputedStyle(document.body).backgroundColor") == (
        "rgb(18, 21, 27)" if dark else "rgb(246, 247, 249)"
    )
    browser.press("t")  # the other of the two, by choice
    assert browser.ask(CONTRAST)["poor"] == []
    assert browser.ask("document.documentElement.dataset.theme") == ("light" if dark else "dark")


def test_on_a_phone_nothing_is_wider_than_the_screen_and_words_can_be_read(browser, page):
    browser.open(page, width=390, height=844)
    browser.press("e")
    assert browser.ask("document.documentElement.scrollWidth") == 390
    small = "Array.from(document.querySelectorAll('main *'), (e) => parseFloat(getComputedStyle(e).fontSize))"
    assert min(browser.ask(small)) >= 11
    assert browser.ask("getComputedStyle(document.querySelector('.row.head')).display") == "none"
    state = browser.ask("document.querySelector('#a-root .chip').getBoundingClientRect().right")
    assert 200 < state <= 390


def test_in_print_all_is_open_on_white_and_nothing_is_cut_off(browser, page):
    browser.open(page, dark=True)
    browser.looks(dark=True, media="print")
    browser.ask("dispatchEvent(new Event('beforeprint'))")
    assert browser.ask("document.querySelectorAll('.item:not([open])').length") == 0
    assert browser.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.ask("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert browser.ask("getComputedStyle(document.querySelector('.time')).maxHeight") == "none"
    browser.ask("dispatchEvent(new Event('afterprint'))")
    assert browser.ask("document.querySelectorAll('.item[open]').length") == 0
    browser.looks()


def test_without_scripts_all_of_it_can_be_read(browser, page):
    browser.open(page, scripts=False)
    assert browser.ask("document.querySelectorAll('.item').length") == 9
    assert browser.ask("getComputedStyle(document.querySelector('.tools')).display") == "none"
    where = browser.ask(
        "(({x, y}) => [x + 20, y + 10])(document.querySelector('#a-root summary').getBoundingClientRect())"
    )
    for kind in ("mousePressed", "mouseReleased"):
        browser("Input.dispatchMouseEvent", type=kind, x=where[0], y=where[1], button="left", clickCount=1)
    assert browser.ask("document.querySelector('#a-root').open") is True
