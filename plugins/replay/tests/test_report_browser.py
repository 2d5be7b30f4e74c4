"""The report in a real browser: opened from disk, clicked, read."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
from urllib.parse import urlencode

import pytest

from .conftest import call

pytestmark = pytest.mark.e2e

EVIL = '<script>document.title="broken out"</script><b>bold</b>'
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-default-apps", "--disable-dev-shm-usage", "--window-size=1280,1000"),
)


def missing(what):
    """Skip for want of `what`; in CI that is a failure."""
    message = f"{what} is not installed"
    pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)


def program(*names):
    """The first of these programs that is there."""
    found = next(filter(None, map(shutil.which, names)), None)
    return found or missing(" or ".join(names))


@pytest.fixture(scope="module")
def browser():
    """A headless Chromium, driven through its driver."""
    if importlib.util.find_spec("selenium") is None:
        missing("selenium")
    from selenium import webdriver

    chromium, driver = program("chromium", "chromium-browser"), program("chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for flag in FLAGS:
        options.add_argument(flag)
    found = webdriver.Chrome(options, service=webdriver.ChromeService(driver))
    yield found
    found.quit()


@pytest.fixture
def report(run, write_cases, tmp_path):
    """The address of a report on two loops and a quiet run."""
    cases = [
        {"id": f"loop {n}", "calls": [call(result=EVIL, turn=turn) for turn in range(9)]}
        for n in range(2)
    ]
    path = tmp_path / "report.html"
    run(
        *("report", write_cases(*cases, {"id": "quiet", "calls": [call(turn=0)]})),
        *("--enable", "repeats", "-o", path),
    )
    return path.as_uri()


def find(browser, selector):
    return browser.find_elements("css selector", selector)


def names(browser):
    return [found.text.splitlines()[0] for found in find(browser, ".run .name")]


def test_a_run_opens_and_shows_the_text_and_the_calls_around_it(browser, report):
    browser.get(report)
    find(browser, ".run .row")[0].click()
    nudge = find(browser, ".nudge")[0]

    assert "Step 3 again." in nudge.text
    assert "Why: 3 times over" in nudge.text
    assert EVIL in nudge.text
    assert nudge.find_element("css selector", "tr.here").text.startswith("call 2")


def test_what_scrolls_is_reached_by_keyboard_and_what_does_not_is_no_stop(
    browser, run, write_cases, tmp_path
):
    long = "line\n" * 50
    case = {"id": "loop", "calls": [call(result=long, turn=turn) for turn in range(3)]}
    path = tmp_path / "long.html"
    run("report", write_cases(case), "--enable", "repeats", "-o", path)
    browser.get(path.as_uri())  # a page of one run opens it
    browser.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0]))")

    stops = [
        (pre.get_attribute("tabindex"), pre.text.count("line") > 1)
        for pre in find(browser, ".nudge pre")
    ]
    assert set(stops) == {("0", True), (None, False)}


def test_a_turn_opens_its_calls_and_leaves_a_link_that_finds_them_again(browser, report):
    browser.get(report)
    find(browser, ".run .row")[1].click()
    find(browser, '.turn[data-turn="5"]')[0].click()
    address = browser.current_url
    browser.get("about:blank")
    browser.get(address)

    assert "call=5" in address
    assert "Turn 5, ok" in find(browser, ".detail .looked-at")[0].text
    assert find(browser, ".nudge.chosen")[0].get_attribute("data-call") == "5"


def test_a_link_tells_twins_apart(browser, run, write_cases, tmp_path):
    twins = [
        {"id": "twin", "calls": [call(result=f"from {n}", turn=turn) for turn in range(3)]}
        for n in range(2)
    ]
    path = tmp_path / "twins.html"
    run("report", write_cases(*twins), "--enable", "repeats", "-o", path)
    browser.get(path.as_uri())
    find(browser, ".run .row")[1].click()
    find(browser, '.turn[data-turn="2"]')[0].click()
    address = browser.current_url
    browser.get("about:blank")
    browser.get(address)

    assert "from 1" in find(browser, ".detail .looked-at")[0].text


def test_a_link_finds_a_run_that_the_filters_hide(browser, report):
    browser.get(f"{report}#{urlencode({'run': 'quiet', 'call': 0})}")

    assert names(browser) == ["quiet"]
    assert "Turn 0, ok" in find(browser, ".looked-at")[0].text


def test_filters_narrow_the_list(browser, report):
    browser.get(report)
    spoken = names(browser)
    find(browser, "#spoken")[0].click()
    every = names(browser)
    find(browser, "#word")[0].send_keys("quiet")

    assert (spoken, every, names(browser)) == (
        ["loop 0", "loop 1"],
        ["loop 0", "loop 1", "quiet"],
        ["quiet"],
    )


def test_labels_of_a_trace_page_are_read_by_backtest(browser, run, write_cases, tmp_path):
    pytest.importorskip("trimtab_trace")
    case = {"id": "stuck", "calls": [call(turn=turn) for turn in range(4)]}
    run("replay", write_cases(case), "--enable", "repeats", "--trace", tmp_path / "traces")
    (trace,) = (tmp_path / "traces").iterdir()
    run("trace", "open", trace, "-o", tmp_path / "page.html")
    browser.get((tmp_path / "page.html").as_uri())
    from selenium.webdriver.support.wait import WebDriverWait

    find(browser, "#labels summary")[0].click()
    find(browser, '.event[data-call="2"] summary')[0].send_keys(" ")  # by keyboard
    WebDriverWait(browser, 10).until(lambda _: find(browser, "#evident")[0].get_property("value"))
    find(browser, "#loop option[value=true]")[0].click()
    find(browser, "#label")[0].click()
    labels = trace.with_name("labels.jsonl")
    labels.write_text(find(browser, "#lines")[0].text)
    status, out, err = run("backtest", labels, "--enable", "repeats", "--provider", "repeats")

    told = json.loads(labels.read_text())
    assert (told["path"], told["loop"], told["evident_at"]) == (trace.name, True, 2)
    assert find(browser, "#save")[0].get_attribute("href").startswith("blob:")
    assert status == 0, err
    assert re.search(r"repeats +1 ", out), out
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_readable_in_light_and_dark(browser, report, scheme):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get(report)
    colours = browser.execute_script(
        "const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]"
    )
    text, back = (sum(map(int, colour[4:-1].split(","))) for colour in colours)

    assert abs(text - back) > 450
    assert (text > back) == (scheme == "dark")


def test_nothing_of_a_transcript_runs_and_nothing_is_fetched(browser, report):
    browser.get(report)
    for row in find(browser, ".run .row"):
        row.click()
    fetched = browser.execute_script("return performance.getEntriesByType('resource').length")

    assert browser.title == "Nudges on recorded runs"
    assert (find(browser, ".detail b"), fetched) == ([], 0)
    assert browser.get_log("browser") == []
