"""How fast the review page answers eight reviewers at once, on a catalogue of 100,000 images.

A synthetic catalogue is made in a temporary folder and served by a process of its own. The
reviewers come within four seconds. Each opens the tags, then one tag after the other, and decides
three times a second; after each decision the counts are asked for again, as the page does, and now
and then one is undone, a picture is opened, and something is searched for.

    python benchmarks/bench_web.py --out benchmarks/results/bench-web.json
"""

import argparse
import json
import multiprocessing
import os
import re
import statistics
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from bench_catalogue import N_OWNERS, changes, made_collection
from sugartag.changes.catalogue import Catalogue
from sugartag.collection.model import Collection
from sugartag.engine import LocalEngine
from sugartag.evaluation.cost import machine
from sugartag.web.accounts import Accounts
from sugartag.web.serving import Address, Opened, listening, make_site, server_of

FORMAT = "sugartag-bench-web/1"
REVIEWERS, SECONDS, PAUSE = 8, 60.0, 1 / 3
DECISIONS_PER_TAG = 12
COMING = 4.0
CONFLICT = "conflict"
"""A decision that is refused because somebody else was faster: answered, and not kept."""
LIMITS = dict.fromkeys(("first page", "page of a tag", "decision", "undo"), 150.0)
LIMITS["search"] = 300.0
"""The 95th percentiles that are asked for, in milliseconds."""
CARD = re.compile(r'data-id="([^"]*)" data-tag="([^"]*)" data-p="[^"]*" data-version="(\d+)"')


def main() -> int:
    """Make the catalogue, let the reviewers work, write what they waited for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--images", type=int, default=100_000)
    parser.add_argument("--reviewers", type=int, default=REVIEWERS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.catalogue.sqlite"
        with Catalogue.create(path) as catalogue:
            collection = made_collection(asked.images, rng)
            catalogue.load_collection(collection)
            catalogue.load_changes(changes(collection, rng))
            sizes = catalogue.sizes()
        with served(path) as url:
            waited = work(url, asked.reviewers, asked.seconds)
        with Catalogue.open(path) as catalogue:
            kept = len(catalogue.decision_log())
    spreads = {name: spread(times) for name, times in sorted(waited.items()) if name != CONFLICT}
    result = {
        "format": FORMAT,
        "machine": machine(),
        "load_average": round(os.getloadavg()[0], 1),
        "catalogue": sizes,
        "reviewers": asked.reviewers,
        "seconds": asked.seconds,
        "pause_seconds": round(PAUSE, 3),
        "decisions_kept": kept,
        "decisions_answered": spreads["decision"]["n"] + spreads["undo"]["n"],
        "conflicts": len(waited[CONFLICT]),
        "milliseconds": spreads,
        "limits": LIMITS,
        "within_limits": all(spreads[name]["p95"] < most for name, most in LIMITS.items()),
    }
    asked.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for name, times in spreads.items():
        numbers = f"median {times['median']:7.1f} ms  95 % {times['p95']:7.1f} ms"
        print(f"{name:16} n {times['n']:5}  {numbers}")
    return 0 if result["within_limits"] else 1


def serve(path: Path, ready: Connection) -> None:
    """Serve a catalogue until the process is ended."""
    address = Address(port=0)
    with Catalogue.open(path) as catalogue, listening(address) as listener:
        opened = Opened(_nothing(), catalogue, None)
        site = make_site(
            opened, name="bench", engine=LocalEngine(), address=address, accounts=Accounts()
        )
        ready.send(listener.getsockname()[1])
        server_of(site, address).run(sockets=[listener])


def _nothing() -> Collection:
    return made_collection(20, np.random.default_rng(0))


@contextmanager
def served(path: Path) -> Iterator[str]:
    """Yield the address of a server that runs in a process of its own."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=serve, args=(path, there))
    process.start()
    try:
        yield f"http://127.0.0.1:{here.recv()}"
    finally:
        process.terminate()
        process.join()


def work(url: str, reviewers: int, seconds: float) -> dict[str, list[float]]:
    """Return what all reviewers waited for, in milliseconds."""
    waited: dict[str, list[float]] = defaultdict(list)
    faults: list[BaseException] = []
    until = time.monotonic() + seconds

    def one(number: int) -> None:
        try:
            with httpx.Client(base_url=url, timeout=60) as client:
                Reviewer(number, client, waited).work(until)
        except BaseException as error:  # noqa: BLE001 - a fault of a thread is one of the run
            faults.append(error)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(reviewers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]
    return waited


class Reviewer:
    """Somebody with a browser, who decides fast."""

    def __init__(self, number: int, client: httpx.Client, waited: dict[str, list[float]]) -> None:
        self._client, self._waited = client, waited
        self._rng = np.random.default_rng([1, number])
        session = client.get("/api/session").json()
        client.headers["X-CSRF-Token"] = session["csrf"]
        client.post("/name", data={"name": f"reviewer {number}"})

    def work(self, until: float) -> None:
        """Go from tag to tag until the time is over."""
        time.sleep(self._rng.uniform(0, COMING))
        while time.monotonic() < until:
            overview = self._timed("first page", "GET", "/")
            tags = re.findall(r'href="(/tag\?[^"]*)"', overview)
            page = self._timed("page of a tag", "GET", unescape(str(self._rng.choice(tags))))
            for place, (image_id, tag, version) in enumerate(CARD.findall(page)):
                if place >= DECISIONS_PER_TAG or time.monotonic() > until:
                    break
                self._decide(unescape(image_id), unescape(tag), int(version), place)
            self._others()

    def _decide(self, image_id: str, tag: str, version: int, place: int) -> None:
        time.sleep(PAUSE)
        verdict = str(self._rng.choice(["accept", "accept", "reject", "skip"]))
        body = {"image_id": image_id, "tag": tag, "verdict": verdict, "expected": version}
        self._timed("decision", "POST", "/api/decisions", json=body)
        self._timed("counts", "GET", "/api/counts", params={"tag": tag, "line": 0.8})
        if place % 10 == 9:
            self._timed("undo", "POST", "/api/undo", json={})

    def _others(self) -> None:
        time.sleep(PAUSE)
        self._timed("picture", "GET", f"/picture/{int(self._rng.integers(1, 1000))}")
        time.sleep(PAUSE)
        words = [f'"tag {int(self._rng.zipf(1.3)) % 1000}"' for _ in range(2)]
        owner = f'owner:"owner {int(self._rng.integers(N_OWNERS))}"'
        query = str(self._rng.choice([words[0], " AND NOT ".join(words), f"{words[0]} {owner}"]))
        self._timed("search", "GET", "/search", params={"q": query})

    def _timed(self, name: str, method: str, path: str, **more: Any) -> str:
        began = time.perf_counter()
        answer = self._client.request(method, path, **more)
        self._waited[name].append(1000 * (time.perf_counter() - began))
        if answer.status_code == 409 or (name, answer.status_code) == ("undo", 404):
            # Somebody else was faster, each time if nothing is there to undo: nothing is lost.
            self._waited[CONFLICT].append(0.0)
        elif answer.status_code != 200:
            raise RuntimeError(f"{path} answered {answer.status_code}: {answer.text[:200]}")
        return answer.text


def spread(times: list[float]) -> dict[str, float]:
    """Return how long something takes, in milliseconds."""
    return {
        "n": len(times),
        "median": round(statistics.median(times), 2),
        "p95": round(float(np.quantile(times, 0.95)), 2),
        "longest": round(max(times), 2),
    }


if __name__ == "__main__":
    raise SystemExit(main())
