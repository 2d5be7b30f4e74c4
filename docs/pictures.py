"""Draw the pictures of terminals in the pages, from what the commands print for a recorded run.

python3 docs/pictures.py    write them; needs rich and the packages of this repository
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
import tempfile
import time
from html import unescape
from pathlib import Path

from rich.console import Console
from rich.text import Text

FOLDER = Path(__file__).parent / "how-to"
RUN = Path(__file__).parents[1] / "tests" / "data" / "claude-code-loop.jsonl"
RECORDED_IN = json.loads(RUN.read_text().splitlines()[0])["cwd"]
PROVIDERS = ("doom-loop", "plan-based-checker")


def timeline() -> str:
    """Return `trimtab replay` of the recorded run as SVG."""
    from trimtab.__main__ import main

    enable = [word for name in PROVIDERS for word in ("--enable", name)]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        main(["replay", str(RUN), *enable])
    console = _console()
    console.print(Text(printed.getvalue().rstrip()))
    return _svg(console, "trimtab replay", "timeline")


def watch() -> str:
    """Return `trimtab watch` of the recorded run as SVG."""
    from trimtab_replay import Job, Prompts, enabled, replay
    from trimtab_trace import Journal
    from trimtab_trace._journal import journal_folder
    from trimtab_trace._journal.sessions import Tail
    from trimtab_trace._journal.watch import KEEP_CALLS, WatchView

    with tempfile.TemporaryDirectory() as home, _environment(TRIMTAB_HOME=home, TZ="UTC"):
        work = Path(home, "shop")  # a journal names the folder of its session
        work.mkdir()
        run = Path(home, RUN.name)
        run.write_text(RUN.read_text().replace(RECORDED_IN, "/src/shop-app"))
        job = Job(selection=enabled(PROVIDERS))
        with contextlib.chdir(work):
            for recording in job.corpus(sys.stderr.write).recordings([str(run)]):
                replay(recording, Prompts(job.selection), trace=Journal())
        view = WatchView(Tail(journal_folder(), keep_calls=KEEP_CALLS))
        view.tail.poll()
        view.press("up")
        console = _console()
        console.print(view.draw(100, 26), height=26)
    return _svg(console, "trimtab watch", "watch")


def words_in(svg: str) -> list[str]:
    """Return the words that a picture shows: the markup around them is up to rich.

    Args:
        svg: the picture.
    """
    texts: list[str] = re.findall(r"<text[^>]*>(.*?)</text>", svg, re.DOTALL)
    return " ".join(map(unescape, texts)).split()


PICTURES = {"timeline.svg": timeline, "watch.svg": watch}


def _console() -> Console:
    return Console(
        record=True, width=100, file=io.StringIO(), force_terminal=True, color_system="truecolor"
    )


def _svg(console: Console, title: str, name: str) -> str:
    svg = console.export_svg(title=title, unique_id=name)
    # The fonts come from a site otherwise: a page should load nothing from elsewhere.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    svg = svg.replace("Fira Code, monospace", "ui-monospace, Menlo, Consolas, monospace")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


@contextlib.contextmanager
def _environment(**values: str):  # noqa: ANN202
    before = dict(os.environ)
    os.environ.update(values)
    time.tzset()
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        time.tzset()


if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (FOLDER / name).write_text(draw(), encoding="utf-8")
        sys.stdout.write(f"{FOLDER / name}\n")
