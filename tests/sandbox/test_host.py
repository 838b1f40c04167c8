"""Hosts: started when needed, restarted when dead or late, ended when idle, gone with the server whatever ends it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sandbox.escape_harness import descendants

from turnstone_lsp.errors import ToolError
from turnstone_lsp.sandbox import forking, frames, host, worker
from turnstone_lsp.sandbox.forking import ForkingHost
from turnstone_lsp.sandbox.host import choose
from turnstone_lsp.sandbox.html import LIBRARIES, HtmlChild
from turnstone_lsp.sandbox.worker import WorkerHost

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

PAGE = b"<html><body><p>hello</p></body></html>"


async def until(holds: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait until it holds; the promised bounds are a tenth of this."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come to hold"
        await asyncio.sleep(0.02)


def ours() -> set[int]:
    return descendants(os.getpid())


def host_processes() -> list[int]:
    return [pid for pid in ours() if b"host_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]


@pytest.fixture
async def html() -> AsyncIterator[ForkingHost]:
    """A host of the light task: its lifecycle is that of the math host."""
    made = ForkingHost("html", LIBRARIES)
    yield made
    await made.close()


async def ask(made: ForkingHost | WorkerHost, body: bytes = PAGE, seconds: float = 20) -> str:
    answer = await made.call(body, timeout=seconds, cap=1 << 20)
    assert answer.how == "ok", answer
    return answer.output.decode()


async def test_nothing_starts_before_it_is_needed_and_nothing_is_left() -> None:
    before = ours()
    child = HtmlChild()
    assert ours() == before
    await child.extract(PAGE)
    assert ours() != before
    await child.close()
    await until(lambda: ours() <= before, 10)


async def test_closing_what_was_never_started_is_fine() -> None:
    await HtmlChild().close()


async def test_a_host_that_died_is_started_again(html: ForkingHost) -> None:
    assert "hello" in await ask(html)
    for pid in host_processes():
        os.kill(pid, signal.SIGKILL)
    await until(lambda: html._run is not None and html._run.ended)
    assert "hello" in await ask(html)


async def test_a_host_that_dies_during_a_call_is_an_error_that_says_so(html: ForkingHost) -> None:
    await ask(html)
    asking = asyncio.create_task(html.call(slow_page(), timeout=20, cap=1 << 20))
    await asyncio.sleep(0.2)
    assert html._run is not None
    html._run._process.child.stop()
    with pytest.raises(ToolError, match="ended unexpectedly; try again"):
        await asking
    assert "hello" in await ask(html)


async def test_a_host_that_hangs_is_ended_and_started_again(html: ForkingHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forking, "LATE_SECONDS", 0.3)
    await ask(html)
    for pid in host_processes():
        os.kill(pid, signal.SIGSTOP)
    with pytest.raises(ToolError, match="did not answer in time"):
        await html.call(PAGE, timeout=0.3, cap=1000)
    monkeypatch.undo()
    assert "hello" in await ask(html)


async def test_a_request_that_was_cut_short_does_not_garble_the_next(html: ForkingHost) -> None:
    """A large page is being sent to a host that does not read when the call is cancelled."""
    await ask(html)
    hosts = host_processes()
    for pid in hosts:
        os.kill(pid, signal.SIGSTOP)
    asking = asyncio.create_task(html.call(b"<p>" + b"x" * 2_000_000, timeout=20, cap=1 << 20))
    await asyncio.sleep(0.2)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    for pid in hosts:
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            continue
    assert "hello" in await asyncio.wait_for(ask(html), 60)


async def test_a_cancelled_start_goes_on_and_serves_the_next_call(html: ForkingHost) -> None:
    asking = asyncio.create_task(ask(html))
    await asyncio.sleep(0.05)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert "hello" in await ask(html)


async def test_a_host_that_is_not_used_is_ended(html: ForkingHost, monkeypatch: pytest.MonkeyPatch) -> None:
    before = ours()
    monkeypatch.setattr(forking, "IDLE_SECONDS", 0.2)
    await ask(html)
    await until(lambda: ours() <= before)
    assert "hello" in await ask(html)


async def test_ten_idle_minutes() -> None:
    assert host.IDLE_SECONDS == 600


async def test_more_output_than_agreed_is_the_end_of_the_call(html: ForkingHost) -> None:
    answer = await html.call(b"<p>" + b"many words " * 10_000, timeout=20, cap=1000)
    assert (answer.how, len(answer.output)) == ("output", 1000)


def test_a_host_imports_nothing_of_the_folder_that_the_server_runs_in(tmp_path: Path) -> None:
    """The server may have been started in a workspace that has a lxml.py and a json.py of its own."""
    for name in ("lxml", "json", "readability", "sitecustomize", "turnstone_lsp"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write('{name}')\n")
    script = """
        import asyncio, sys
        sys.path.append(sys.argv[1])  # as `python -m` has it first, and an import hook might
        from turnstone_lsp.sandbox.html import HtmlChild
        async def main():
            child = HtmlChild()
            print((await child.extract(b"<p>found</p>")).text)
            await child.close()
        asyncio.run(main())
    """
    done = subprocess.run(
        [sys.executable, "-P", "-c", textwrap.dedent(script), str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("found\n", 0), done.stderr
    assert not (tmp_path / "ran").exists()


_SERVER = """
    import asyncio, sys
    from turnstone_lsp.sandbox.math_host import MathHost
    async def main():
        host = MathHost()
        if sys.argv[1] == "calling":
            await host.run("1", 60)
        calls = [asyncio.create_task(host.run("while True: pass", 300)) for _ in range(2)]
        await asyncio.sleep(0.5)
        print("ready", flush=True)
        await asyncio.gather(*calls)
    asyncio.run(main())
"""


@pytest.mark.parametrize("when", ["calling", "starting"])
async def test_a_server_that_is_killed_leaves_nothing(when: str) -> None:
    with start_server(when) as server:
        assert server.stdout is not None
        assert await asyncio.to_thread(server.stdout.readline) == b"ready\n"
        family = descendants(server.pid)
        assert len(family) >= (5 if when == "calling" else 2)  # supervisor, host, first process, two calls
        server.send_signal(signal.SIGKILL)
        await until(lambda: not any(_alive(pid) for pid in family))


def start_server(when: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(_SERVER), when], stdout=subprocess.PIPE)


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def slow_page() -> bytes:
    """A page on which the parser works for seconds."""
    return b"<p " + b" ".join(b"a%d=1" % n for n in range(60_000)) + b">slow</p>"


class TestWhereNothingIsForked:
    """macOS and Windows: selected by the platform's name, run here (labelled L1; not run there)."""

    def test_the_choice(self) -> None:
        for platform in ("darwin", "win32", "freebsd14"):
            assert isinstance(choose("html", LIBRARIES, platform=platform), WorkerHost)
        assert isinstance(choose("html", LIBRARIES, platform="linux"), ForkingHost)

    @pytest.fixture
    async def workers(self) -> AsyncIterator[WorkerHost]:
        made = WorkerHost("html", LIBRARIES)
        yield made
        await made.close()

    async def test_a_worker_serves_one_call_and_the_next_waits_warm(self, workers: WorkerHost) -> None:
        others = ours()  # what earlier tests of this process left running
        assert await workers.start() == "L1"
        before = ours() - others
        assert "hello" in await ask(workers)
        assert "again" in await ask(workers, b"<p>again</p>")
        await workers.start()
        assert len(ours() - others) == len(before)
        assert not ours() & before

    async def test_time_and_output_are_limited(self, workers: WorkerHost) -> None:
        answer = await workers.call(slow_page(), timeout=0.5, cap=1000)
        assert answer.how == "timeout"
        answer = await workers.call(b"<p>" + b"many words " * 10_000, timeout=20, cap=1000)
        assert (answer.how, len(answer.output)) == ("output", 1000)

    async def test_an_idle_worker_is_ended(self, workers: WorkerHost, monkeypatch: pytest.MonkeyPatch) -> None:
        before = ours()
        monkeypatch.setattr(worker, "IDLE_SECONDS", 1.0)
        await ask(workers)
        await until(lambda: ours() <= before, 20)
        assert "hello" in await ask(workers)


class TestFrames:
    def test_frames_come_whole_whatever_the_pieces(self) -> None:
        sent = [({"a": 1}, b""), ({}, b"body"), ({"é": "\ud800"}, bytes(range(256)))]
        data = b"".join(frames.pack(*frame) for frame in sent)
        for size in (1, 2, 3, 7, len(data)):
            unpacker, got = frames.Unpacker(), []
            for start in range(0, len(data), size):
                unpacker.feed(data[start : start + size])
                got += iter(unpacker.take, None)
            assert got == sent

    @pytest.mark.parametrize(
        ("data", "why"),
        [(b"\xff" * 8, "too large"), (b"\0\0\0\2\0\0\0\0[]", "no header"), (b"\0\0\0\1\0\0\0\0{", "Expecting")],
    )
    def test_what_is_no_frame_is_refused(self, data: bytes, why: str) -> None:
        unpacker = frames.Unpacker()
        unpacker.feed(data)
        with pytest.raises(ValueError, match=why):
            unpacker.take()
