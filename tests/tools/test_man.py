"""man: "Returns the full formatted manual entry"; reads, without side effects, and without a question (tools.md)."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest
from processes import Context, Running

from turnstone_lsp.config.settings import EditSettings
from turnstone_lsp.errors import ToolError
from turnstone_lsp.tools import man, registry
from turnstone_lsp.workspace.documents import OpenDocuments
from turnstone_lsp.workspace.editor import NoEditor
from turnstone_lsp.workspace.paths import Roots
from turnstone_lsp.workspace.view import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from turnstone_lsp.tools.base import Plan


@pytest.fixture
def ctx(project: Path) -> Context:
    return Context(project, Workspace(Roots([project]), OpenDocuments(), NoEditor(), EditSettings()))


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Manual pages of the test's own, read by the system's real man."""
    folder = tmp_path / "man"
    for section, text in (("1", "the command"), ("3", "the function")):
        place = folder / f"man{section}" / f"thing.{section}"
        place.parent.mkdir(parents=True)
        place.write_text(
            f".TH THING {section}\n.SH NAME\nthing \\- {text}\n.SH OPTIONS\n.B \\-\\-bold\nand\n.I italic\nwords {'long ' * 60}\n"
        )
    monkeypatch.setitem(man._ENVIRONMENT, "MANPATH", str(folder))
    return folder


async def plan(ctx: Context, page: str, section: str | None = None) -> Plan:
    return await man.prepare(man.Args(page, section), ctx)  # type: ignore[arg-type]


async def read(ctx: Context, page: str, section: str | None = None) -> str:
    return (await (await plan(ctx, page, section)).execute(Running())).text


async def test_it_runs_without_a_question(ctx: Context) -> None:
    """Spec: "Auto-approve: Yes. Agent availability: agent and task_agent."."""
    made = await plan(ctx, "ls")
    assert not made.needs_approval
    definition = registry.DEFINITIONS["man"]
    assert all(definition[key] for key in ("auto_approve", "agent", "task_agent"))
    assert definition["primary_key"] == "page"


async def test_a_formatted_page_without_codes(ctx: Context, pages: Path) -> None:
    text = await read(ctx, "thing")
    assert "thing - the command" in text
    assert "--bold and italic words" in text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
    assert max(map(len, text.splitlines())) <= 80
    assert not text.startswith("\n")


@pytest.mark.parametrize(
    ("page", "section"), [("thing", "3"), ("thing(3)", None), ("thing (3)", None), ("3 thing", None)]
)
async def test_a_section(page: str, section: str | None, ctx: Context, pages: Path) -> None:
    assert "thing - the function" in await read(ctx, page, section)


async def test_another_section_has_it(ctx: Context, pages: Path) -> None:
    with pytest.raises(ToolError, match=r"no manual page 'thing' in section 2; there is one in section 1, 3\."):
        await read(ctx, "thing", "2")


async def test_no_page(ctx: Context, pages: Path) -> None:
    """Upstream fault 72: it is the page that is missing, not man."""
    with pytest.raises(ToolError, match="no manual page 'nothing-like-it' on this system") as raised:
        await read(ctx, "nothing-like-it")
    assert "--help" in str(raised.value)


@pytest.mark.parametrize(
    "page",
    [
        "-P",
        "--html=x",
        "-P id ls",
        "/etc/hostname",
        "../x",
        "./x",
        "a/b",
        "ls; id",
        "$(id)",
        "a b c",
        "`id`",
        "ls\n-P",
        "*",
        "",
    ],
)
async def test_a_page_is_never_an_option_or_a_path(page: str, ctx: Context) -> None:
    """A topic with a slash prints any file, `--` or not; -P and -H run programs (C-13, C-14)."""
    with pytest.raises(ToolError, match="argument 'page' must be the name of a manual page"):
        await plan(ctx, page)


@pytest.mark.parametrize("section", ["x", "-P", "3/..", "3 -a", "$(id)", "99x/"])
async def test_a_section_is_never_an_option_or_a_path(section: str, ctx: Context) -> None:
    with pytest.raises(ToolError, match="argument 'section' must be a manual section"):
        await plan(ctx, "ls", section)


async def test_pagers_of_the_environment_do_not_run(ctx: Context, pages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    witness = pages.parent / "ran"
    for name in ("MANPAGER", "PAGER", "LESSOPEN", "MANOPT", "BROWSER"):
        monkeypatch.setenv(name, f"touch {witness}")
    assert "the command" in await read(ctx, "thing")
    assert not witness.exists()


def program(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)


async def test_man_is_missing(ctx: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="man is not installed here"):
        await read(ctx, "ls")


async def test_a_minimized_system(ctx: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ubuntu's container images have a man that only says that it is not there."""
    program(tmp_path / "bin", "man", "#!/bin/sh\necho 'This system has been minimized by removing packages.'\n")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    with pytest.raises(ToolError, match="left out of this system image; run 'unminimize'"):
        await read(ctx, "ls")


async def test_a_man_of_the_workspace_never_runs(ctx: Context, pages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(ctx.cwd / "bin", "man", "#!/bin/sh\necho evil\n")
    monkeypatch.setenv("PATH", f"{ctx.cwd}/bin:{os.environ['PATH']}")
    assert "evil" not in await read(ctx, "thing")
