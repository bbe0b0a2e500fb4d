"""Progress that is there: bars on a terminal, lines in a log, and stages inside stages."""

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path
from types import SimpleNamespace

import pytest

from sugartag import progress
from sugartag.engine import LocalEngine
from sugartag.engine.base import stage
from sugartag.linalg.compiling import compiling_reported, report_compiling
from sugartag.progress import ProgressDisplay, duration, progress_for


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that stands still until it is set."""
    now = [100.0]
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 10.0)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


@pytest.fixture
def log(capsys):
    """Return what was written to a log so far, line by line."""
    return lambda: capsys.readouterr().err.splitlines()


@pytest.fixture
def terminal(monkeypatch):
    """Return a terminal once it is asked for: the capture of output comes before that."""

    def opened() -> Terminal:
        screen = Terminal()
        monkeypatch.setattr(sys, "stderr", screen)
        return screen

    return opened


def test_a_log_has_a_line_every_ten_seconds_with_the_time_left(clock, log):
    with ProgressDisplay() as display:
        for second in range(26):
            clock[0] = 100.0 + second
            display("link images", 1000 * second, 26_000)

    assert log() == [
        "link images: 10,000 of 26,000 (38%), 10 s, about 16 s left",
        "link images: 20,000 of 26,000 (77%), 20 s, about 6 s left",
    ]


def test_short_passes_one_after_the_other_have_lines_too(clock, log):
    with ProgressDisplay() as display:
        for second in range(25):
            clock[0] = 100.0 + second
            display(f"pass {second}", 0, 10)
            display(f"pass {second}", 10, 10)

    assert [line.partition(":")[0] for line in log()] == [
        "pass 10",
        "pass 20",
    ]


def test_work_that_is_done_within_ten_seconds_leaves_no_line(clock, log):
    with ProgressDisplay() as display:
        for what in ("link images", "count tags"):
            display(what, 5, 10)
            display(what, 10, 10)

    assert log() == []


def test_a_stage_that_says_nothing_is_shown_with_its_time(clock, log):
    with ProgressDisplay() as display, stage(LocalEngine(progress=display), "solving"):
        clock[0] = 175.0
        display.tick()

    assert log() == ["solving: 1 min 15 s"]


def test_passes_are_shown_inside_the_stage_that_they_belong_to(clock, log):
    with ProgressDisplay() as display:
        engine = LocalEngine(progress=display)
        with stage(engine, "updates", 450) as updates:
            updates.advance(9)
            clock[0] = 112.0
            display("add up", 100, 600)
            updates.advance(441)
        with stage(engine, "fitting"):
            clock[0] = 125.0
            display("add up", 300, 600)

    assert log() == [
        "updates: 9 of 450 (2%), 12 s, about 9 min 48 s left (add up)",
        "fitting (13 s) · add up: 300 of 600 (50%), 0 s, about 0 s left",
    ]


def test_a_stage_that_fails_has_ended(clock, log):
    with ProgressDisplay() as display:
        with pytest.raises(ValueError, match="no"), stage(LocalEngine(progress=display), "solving"):
            raise ValueError("no")
        clock[0] = 120.0
        display.tick()

    assert log() == []


def test_a_terminal_has_a_bar_with_stage_and_total_that_goes_away(clock, terminal):
    screen = terminal()
    with ProgressDisplay() as display, stage(LocalEngine(progress=display), "fitting"):
        display("link images", 0, 600)
        clock[0] = 101.0
        display("link images", 300, 600)
        shown = screen.getvalue()
        display("link images", 600, 600)

    assert "fitting (1 s) · link images:  50%" in shown
    assert "300/600" in shown
    assert screen.getvalue().rstrip(" ").endswith("\r")


def test_a_terminal_shows_the_time_of_what_is_not_counted(clock, terminal):
    screen = terminal()
    with ProgressDisplay() as display, stage(LocalEngine(progress=display), "fitting"):
        with stage(LocalEngine(progress=display), "solving"):
            clock[0] = 175.0
            display.tick()
        shown = screen.getvalue()

    assert "fitting (1 min 15 s) · solving: " in shown
    assert "?" not in shown


def test_a_terminal_never_shows_the_count_of_one_pass_with_the_name_of_another(clock, terminal):
    screen = terminal()
    with ProgressDisplay() as display, stage(LocalEngine(progress=display), "fitting"):
        for what, total in (("link images", 600), ("count tags", 80)):
            for done in (0, total // 2, total):
                clock[0] += 1.0
                display(what, done, total)
                display.tick()

    shown = screen.getvalue()
    assert re.findall(r"link images:[^\r]*/(\d+)", shown) == ["600"] * shown.count("/600")
    assert re.findall(r"count tags:[^\r]*/(\d+)", shown) == ["80"] * shown.count("/80")
    assert "100%" in shown


def test_a_terminal_shows_no_bar_for_what_is_done_at_once(clock, terminal):
    screen = terminal()
    with ProgressDisplay() as display:
        display("link images", 0, 600)
        display("link images", 600, 600)

    assert screen.getvalue() == ""


def test_compiling_is_mentioned_once_in_a_log(clock, log, monkeypatch):
    monkeypatch.setattr(progress, "compiling_reported", compiling_reported)
    with ProgressDisplay():
        for begins in (True, False, True, False):
            report_compiling(begins)

    assert log() == ["compiling (first use) ..."]


def test_compiling_really_reports():
    code = """
import numpy as np
from sugartag.linalg.compiling import compiling_reported
from sugartag.linalg.compiled import compiled
calls = []
with compiling_reported(calls.append):
    compiled(lambda x: x + 1)(np.ones(3))
print(calls)
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True
    )

    assert done.stdout.strip() == "[True, False]"


def test_progress_is_shown_where_somebody_is_looking(terminal):
    def own(what: str, done: int, total: int) -> None: ...

    with progress_for(None) as nothing, progress_for(False) as off, progress_for(own) as given:
        assert (nothing, off, given) == (None, None, own)
    with progress_for(True) as asked:
        assert isinstance(asked, ProgressDisplay)
    terminal()
    with progress_for(None) as seen:
        assert isinstance(seen, ProgressDisplay)


def test_notebooks_are_known_by_their_kernel(monkeypatch):
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))

    assert progress.in_notebook()


@pytest.mark.parametrize(
    ("seconds", "words"), [(8.4, "8 s"), (60, "1 min 0 s"), (125, "2 min 5 s"), (3780, "1 h 3 min")]
)
def test_times_are_as_people_read_them(seconds, words):
    assert duration(seconds) == words


def on_a_terminal(code: str) -> str:
    """Return what a Python program shows on a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
    process = subprocess.Popen([sys.executable, "-c", code], stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 4096):
            shown += part
    except OSError:
        pass  # So Linux says that the other end is closed.
    os.close(ours)
    assert process.wait() == 0, shown.decode()
    return shown.decode()


SHOW_ALL = """
from sugartag import progress
progress.SECONDS_BEFORE_BAR = progress.SECONDS_BETWEEN_LINES = 0
from sugartag.cli.main import main
"""


@pytest.fixture
def folder(tmp_path, collection):
    collection.save(tmp_path / "photos")
    return tmp_path


@pytest.mark.parametrize("engine", ["local", "dask"])
def test_a_fit_shows_its_stages_on_a_terminal(folder, engine):
    line = f"fit {folder}/photos --out {folder}/model --engine {engine}"

    shown = on_a_terminal(f"{SHOW_ALL}\nmain({line.split()!r})")

    assert "fitting sugar-plus" in shown
    assert re.search(r"\d+%\|", shown)
    assert re.search(r"\[\d\d:\d\d<\d\d:\d\d", shown)
    assert "fitted sugar-plus on 600 images" in shown


def test_a_fit_writes_lines_to_a_log(folder):
    line = f"fit {folder}/photos --out {folder}/model".split()
    command = [sys.executable, "-c", f"{SHOW_ALL}\nmain({line!r})"]

    log = subprocess.run(command, capture_output=True, text=True, check=True).stderr

    assert re.search(r"^fitting sugar-plus .*: 0 of 600 \(0%\), 0 s", log, re.MULTILINE)
    assert "\r" not in log


STOPPED = """
import os, signal, sys
sys.path.insert(0, {tests!r})
from killed_fits import in_small_blocks
from sugartag.collection import Collection
from sugartag.progress import ProgressDisplay
Collection.blocks = in_small_blocks
# A process that was started in the background ignores Ctrl-C, and so do its children.
signal.signal(signal.SIGINT, signal.default_int_handler)
shown = ProgressDisplay.__call__
def stopping(self, what, done, total):
    shown(self, what, done, total)
    if what == "sum statistics" and 0 < total // 2 <= done and "--resume" not in sys.argv:
        os.kill(os.getpid(), signal.SIGINT)
ProgressDisplay.__call__ = stopping
from sugartag.cli.main import main
main(sys.argv[1:])
"""


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(folder):
    code = STOPPED.format(tests=str(Path(__file__).parent))
    command = [sys.executable, "-c", code, "fit", "photos", "--workers", "1", "--out"]

    def run(*more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*command, *more], cwd=folder, capture_output=True, text=True)

    stopped, resumed = run("model"), run("model", "--resume")

    assert stopped.returncode == 130, stopped.stderr
    assert stopped.stderr.splitlines()[-1] == (
        "sugartag: stopped; what is done is kept: repeat the command with --resume to go on"
    )
    assert "Traceback" not in stopped.stderr
    assert resumed.returncode == 0, resumed.stderr
    assert re.search(r"[1-9]\d* blocks were read back", resumed.stderr)
    assert (folder / "model").is_dir()
