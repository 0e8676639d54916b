"""What the documentation says is true: its code runs, its commands exist, what it prints is what one gets."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer

import truelabel
from truelabel.cli.main import app
from truelabel.methods import METHODS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def menu() -> list[str]:
    """Pages in the menu, relative to the folder of the documentation."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
    return re.findall(r": (\S+\.md)$", text, re.MULTILINE)


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(DOCS / page for page in menu() if not page.startswith("api/"))]
UsageError = typer.BadParameter.__bases__[0]  # typer brings its own click, or not, by its version
COSTLY = ("demo", "data fetch", "data list", "data where")
"""Commands that are only parsed: they train for long, or depend on the machine."""

FENCE = re.compile(r"^```(?P<info>[^`\n]*)\n(?P<code>.*?)^```$\n?(?P<gap>\s*)", re.MULTILINE | re.DOTALL)
PERCENT = re.compile(r"\d+\.\d+(?=%)")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, the line it starts at, and whether it shows what the last one prints."""

    info: str
    code: str
    line: int
    is_output: bool

    @property
    def commands(self) -> list[list[str]]:
        """Arguments of every ``truelabel`` command in a block for the shell."""
        if self.info not in ("bash", "console"):
            return []
        lines = (line.removeprefix("$ ") for line in self.code.replace("\\\n", " ").splitlines())
        return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("truelabel ")]


def blocks(page: Path) -> Iterator[Block]:
    text, runnable_ends_at = page.read_text(encoding="utf-8"), -1
    for found in FENCE.finditer(text):
        info = found["info"].strip()
        is_output = info == "text" and found.start() == runnable_ends_at
        yield Block(info, found["code"], text.count("\n", 0, found.start()) + 2, is_output)
        runnable_ends_at = found.end() if info in ("python", "bash") else -1


def parse(arguments: list[str]) -> None:
    """Read a command as the command line does, without running it; a wrong name or option is an error."""
    command = typer.main.get_command(app)
    _silence(command)
    with contextlib.redirect_stdout(io.StringIO()):
        command(list(arguments), standalone_mode=False)


def _silence(command: Any) -> None:
    """Let a command and those below it do nothing."""
    command.callback = lambda **options: None
    for below in getattr(command, "commands", {}).values():
        _silence(below)


def shape_of(text: str) -> str:
    """Printed text without its numbers, lines of tables and spaces."""
    return " ".join(re.sub(r"[─━│┃┏┓┗┛┡┩└┘╇┳┴]|\d+(\.\d+)?", " ", text).split())


def run_page(page: Path) -> Iterator[tuple[Block, str]]:
    """Run the blocks of a page in order; give every block of output and what was really printed.

    Commands in a ``console`` block are only parsed. Tests and docstrings that the blocks define are run at the end.
    """
    module = ModuleType("truelabel_page")
    sys.modules[module.__name__] = module  # where dataclasses look up the names in annotations
    printed = ""
    try:
        for block in blocks(page):
            if block.is_output:
                yield block, printed
                continue
            with contextlib.redirect_stdout(io.StringIO()) as stream:
                if block.info == "python":
                    code = "\n" * (block.line - 1) + block.code
                    exec(compile(code, str(page), "exec"), module.__dict__)
                for arguments in block.commands if block.info == "bash" else ():
                    if not " ".join(arguments).startswith(COSTLY):
                        app(arguments, standalone_mode=False)
            printed = stream.getvalue()
        for name in [name for name in vars(module) if name.startswith("test_")]:
            vars(module)[name]()
        assert doctest.testmod(module).failed == 0
    finally:
        del sys.modules[module.__name__]


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_code_runs_and_prints_what_is_shown(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for shown, printed in run_page(page):
        where = f"{page.name}, line {shown.line}, should be:\n{printed}"
        assert shape_of(shown.code) == shape_of(printed), where
        # Other processors round otherwise, which moves an accuracy a little.
        for expected, actual in zip(PERCENT.findall(shown.code), PERCENT.findall(printed), strict=True):
            assert abs(float(expected) - float(actual)) < 10, where


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_are_valid(page: Path) -> None:
    for block in blocks(page):
        for arguments in block.commands:
            parse(arguments)


def test_a_wrong_command_would_be_noticed() -> None:
    for wrong in (["trian"], ["train", "x.csv", "y.csv"], ["fuse", "x.csv", "--outt", "y"], ["data", "fetsh", "mnist"]):
        with pytest.raises(UsageError):
            parse(wrong)


def test_few_blocks_are_left_out() -> None:
    left_out = [block for page in PAGES for block in blocks(page) if block.info == "python no-run"]
    assert len(left_out) <= 3
    known = {"python", "python no-run", "bash", "console", "text"}
    assert {block.info for page in PAGES for block in blocks(page)} <= known


def test_the_menu_has_every_page() -> None:
    assert sorted(menu()) == sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def test_every_method_has_a_page_and_no_page_is_left_over() -> None:
    assert sorted(METHODS) == sorted(Path(page).stem for page in menu() if page.startswith("methods/"))
    overview = (DOCS / "methods.md").read_text(encoding="utf-8")
    assert sorted(METHODS) == sorted(re.findall(r"^\| \[([\w-]+)\]\(methods/\1\.md\) \|", overview, re.MULTILINE))


@pytest.mark.parametrize("name", METHODS)
def test_the_page_of_a_method_says_what_it_should(name: str) -> None:
    method = METHODS[name]
    top, *rest = re.split(r"^## ", (DOCS / "methods" / f"{name}.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    sections = dict(section.split("\n", 1) for section in rest)
    assert top.startswith(f"# {name}\n")
    assert "```text\n" in top, "the equation"
    published = [] if method.paper == "baseline" else ["Differs from the paper", "Reference"]
    assert list(sections) == ["When to use it", "When not", "Options", "Cost", *published, "Example"]
    assert "```python\n" in sections["Example"]
    documented = dict(re.findall(r"^\| `(\w+)` \| `(.+?)` \|", sections["Options"], re.MULTILINE))
    assert documented == {option: repr(value).replace("'", '"') for option, value in method.options().items()}


def test_the_grids_of_the_papers_are_shown() -> None:
    text = (DOCS / "search.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"^\| `([\w-]+)` \| (`\w+` in .+) \|$", text, re.MULTILINE))
    grids = {name: method.grid for name, method in METHODS.items() if method.grid}
    assert shown == {
        name: ", and ".join(f"`{option}` in {', '.join(map(str, values))}" for option, values in grid.items())
        for name, grid in grids.items()
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def environment() -> dict[str, str]:
    """That of a process in another folder, which is to find the same package, installed or not."""
    return {**os.environ, "PYTHONPATH": str(Path(truelabel.__file__).parents[1])}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages, built with every warning an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return folder


@pytest.mark.long
def test_the_pages_load_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"?(https?:[^\"\s>]+)", text)
        assert loaded == [], page


@pytest.mark.long
def test_no_markup_of_docstrings_is_left_over(site: Path) -> None:
    for page in (site / "api").glob("*.html"):
        text = page.read_text(encoding="utf-8")
        left = re.findall(r":(?:math|class|meth|func|data|mod|attr|ref):.{30}|\.\. math::.{30}|\\[a-z]+[ _{^]", text)
        assert left == [], page


@pytest.mark.long
@pytest.mark.parametrize(
    "package",
    [path.stem for path in sorted((DOCS / "api").glob("*.md")) if path.stem not in ("annotations", "types")],
)
def test_every_public_class_and_function_is_in_the_reference(package: str, site: Path) -> None:
    module = importlib.import_module(f"truelabel.{package}")
    text = (site / "api" / f"{package}.html").read_text(encoding="utf-8")
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert re.search(rf'id="truelabel\.{package}\.(?:\w+\.)?{name}"', text), name


def test_every_package_has_a_reference() -> None:
    packages = {path.parent.name for path in (ROOT / "src" / "truelabel").glob("*/__init__.py")} - {"cli"}
    assert packages <= {path.stem for path in (DOCS / "api").glob("*.md")}
