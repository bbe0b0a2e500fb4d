"""What answers at an address may be no scheduler, or not answer at all; TLS keeps others out."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest

from engine_contract import BLOCKS, sum_of_rows
from sugartag.engine import DaskEngine, futures
from sugartag.engine.clusters import Tls
from sugartag.errors import EngineError

SECONDS = 2.0


@pytest.fixture
def silent() -> Iterator[str]:
    """Somebody who takes calls and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def web() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"tcp://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("kind", ["silent", "web"])
def test_what_is_no_scheduler_is_told_in_time_and_in_one_line(kind, request):
    address = request.getfixturevalue(kind)

    with pytest.raises(EngineError, match="no Dask scheduler answers at") as error:
        DaskEngine.connected(address, timeout=SECONDS)

    assert "\n" not in str(error.value)


def test_a_worker_that_is_paused_is_told_in_time(monkeypatch, caplog):
    with DaskEngine.local_cluster(1) as engine:
        (worker,) = engine.client.scheduler_info()["workers"]
        pid = engine.client.run(os.getpid)[worker]
        os.kill(pid, signal.SIGSTOP)
        try:
            with pytest.raises(EngineError, match="does not answer within 2 s"):
                DaskEngine.connected(engine.client.scheduler.address, timeout=SECONDS)
            monkeypatch.setattr(futures, "SECONDS_BETWEEN_LINES", 0.2)
            monkeypatch.setattr(futures, "SILENT_SECONDS", 1.0)
            threading.Timer(1.0, os.kill, (pid, signal.SIGCONT)).start()
            engine.sum(sum_of_rows, BLOCKS, np.ones((1_000, 2)))
        finally:
            os.kill(pid, signal.SIGCONT)

    assert f"waiting for the worker {worker}" in caplog.text


def certificates(folder: Path) -> Tls:
    """Make a private authority and one certificate that it signed, as docs/operations.md says."""
    recipe = (Path(__file__).parents[2] / "docs" / "operations.md").read_text(encoding="utf-8")
    script = recipe.split("<!-- certificates -->")[1].split("```")[1].removeprefix("sh")
    subprocess.run(["sh", "-e"], input=script, cwd=folder, text=True, check=True,
                   capture_output=True)  # fmt: skip
    return Tls(folder / "ca.pem", folder / "cert.pem", folder / "key.pem")


@pytest.fixture
def tls(tmp_path) -> Iterator[tuple[str, Tls]]:
    """A scheduler and a worker that only talk to those with a certificate."""
    files = certificates(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    address = f"tls://127.0.0.1:{port}"
    options = ["--tls-ca-file", files.ca, "--tls-cert", files.cert, "--tls-key", files.key]
    commands = [
        [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port",
         port, "--no-dashboard", "--protocol", "tls", *options],
        [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", 1,
         "--no-dashboard", "--no-nanny", *options],
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    started = [
        subprocess.Popen(
            [str(part) for part in command],
            stderr=subprocess.DEVNULL,
            cwd=tmp_path,
            env=environment,
        )
        for command in commands
    ]
    yield address, files
    for process in reversed(started):
        process.kill()
        process.wait()


def test_a_cluster_with_tls_works_for_those_with_a_certificate_only(tls, tmp_path):
    address, files = tls

    with DaskEngine.connected(address, timeout=30.0, tls=files) as engine:
        engine.sum(sum_of_rows, BLOCKS, np.ones((1_000, 2)))

    with pytest.raises(EngineError, match="no Dask scheduler answers"):
        DaskEngine.connected(address.replace("tls", "tcp"), timeout=SECONDS)
    (tmp_path / "other").mkdir()
    with pytest.raises(EngineError, match="no Dask scheduler answers"):
        DaskEngine.connected(address, timeout=SECONDS, tls=certificates(tmp_path / "other"))
