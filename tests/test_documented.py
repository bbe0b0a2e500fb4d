"""The documentation names what there is, all of it, and nothing else."""

import importlib
import inspect
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from sugartag import api, errors
from sugartag.anchors import clusters
from sugartag.cli.main import COMMANDS, main
from sugartag.collection import store
from sugartag.collection.readers import delimited, importer, lines
from sugartag.evaluation import calibrate, protocol, results
from sugartag.evaluation.results import CHANGE_SHARES, MethodResult, Metrics
from sugartag.methods.registry import METHODS
from sugartag.methods.settings import described_settings, with_settings
from sugartag.methods.sugar_tc import SugarTC
from sugartag.pipeline import fitting, model
from sugartag.storage import arrays

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
TEXTS = [
    *PAGES,
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
]

FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
SETTING_ROW = re.compile(r"^\| `(\w+)` \| `([^`]*)` \|", re.MULTILINE)
REFERENCE = re.compile(r"`([\w/]+\.py)::([\w.]+)`")
COMMON_OPTIONS = {"--help", "--version", "--verbose"}


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def command_of(name: str) -> click.Command:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    return command


def section_of(name: str) -> str:
    """Return what docs/cli.md says of one command."""
    parts = re.split(r"^## ", page("cli.md"), flags=re.MULTILINE)
    found = [part for part in parts if part.startswith(f"sugartag {name}\n")]
    assert len(found) == 1, f"docs/cli.md has {len(found)} sections called 'sugartag {name}'"
    return found[0]


def params_of(command: click.Command) -> list[click.Parameter]:
    """Return the parameters of a command, and of the commands below it."""
    below = command.commands.values() if isinstance(command, click.Group) else ()
    return [*command.params, *(param for one in below for param in params_of(one))]


def options_of(command: click.Command) -> set[str]:
    options = [param for param in params_of(command) if isinstance(param, click.Option)]
    return {name for option in options for name in (*option.opts, *option.secondary_opts)}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_and_argument_of_a_command_is_documented(name: str) -> None:
    section, command = section_of(name), command_of(name)
    params = params_of(command)
    arguments = {p.name.upper() for p in params if isinstance(p, click.Argument) and p.name}

    missing = [word for word in options_of(command) | arguments if word not in section]

    assert not missing


@pytest.mark.parametrize("name", COMMANDS)
def test_no_option_is_documented_that_does_not_exist(name: str) -> None:
    documented = set(OPTION.findall(section_of(name)))

    assert documented <= options_of(command_of(name)) | COMMON_OPTIONS


def test_no_command_is_documented_that_does_not_exist() -> None:
    documented = re.findall(r"^## sugartag (.+)$", page("cli.md"), re.MULTILINE)

    assert documented == list(COMMANDS)


def examples() -> Iterator[tuple[str, str]]:
    for text in TEXTS:
        for _, block in FENCED.findall(text.read_text(encoding="utf-8") if text.exists() else ""):
            for line in block.replace("\\\n", " ").splitlines():
                command = line.removeprefix("$ ").partition(" #")[0].strip()
                if re.match(r"sugartag [a-z]", command):
                    yield text.name, command


@pytest.mark.parametrize(("where", "line"), sorted(set(examples())))
def test_every_example_is_a_command_line_that_exists(where: str, line: str) -> None:
    _, name, *arguments = shlex.split(line)
    assert name in COMMANDS, f"{where} shows {line!r}"
    command = command_of(name)
    if isinstance(command, click.Group):
        assert arguments[0] in command.commands, f"{where} shows {line!r}"
        command, arguments = command.commands[arguments[0]], arguments[1:]
    context = click.Context(command, info_name=name)

    left_over = command.make_parser(context).parse_args(arguments)[1]

    assert not left_over


@pytest.mark.parametrize("name", METHODS)
def test_every_setting_is_documented_with_its_default(name: str) -> None:
    documented = dict(SETTING_ROW.findall(page(f"methods/{name}.md")))
    settings = described_settings(METHODS[name])

    assert sorted(documented) == sorted(setting["name"] for setting in settings)
    assert with_settings(METHODS[name], documented) == METHODS[name]()


def test_no_method_is_documented_that_does_not_exist() -> None:
    assert {path.stem for path in (DOCS / "methods").glob("*.md")} == set(METHODS)


def test_every_error_is_documented_with_what_else_it_is() -> None:
    text = page("cli.md")
    for name, error in inspect.getmembers(errors, inspect.isclass):
        assert f"| `{name}` | `{error.__bases__[-1].__name__}` |" in text


def test_every_field_of_a_results_file_is_documented() -> None:
    metrics = Metrics(
        0, 0, 0, {5: 0, 10: 0}, {}, {}, dict.fromkeys(CHANGE_SHARES, 0), {"map": (0, 0)}
    )
    result = MethodResult("x", {}, metrics, metrics, 0, 0, 0)
    formats, explained = page("data-formats.md"), page("metrics.md")

    for field in result.as_json():
        assert f'"{field}"' in formats
    for metric in (*metrics.by_name(), *CHANGE_SHARES, "map_at", "map_paper_variant"):
        assert f"`{metric}`" in explained


NUMBERS = [
    ("cli.md", f"| `--method` | `{fitting.DEFAULT_METHOD}` |"),
    ("data-formats.md", f"Format `{store.FORMAT}`"),
    ("data-formats.md", f"Format `{model.FORMAT}`"),
    ("data-formats.md", f"format `{results.FORMAT}`"),
    ("data-formats.md", f"shards of {importer.ROWS_PER_SHARD:,} consecutive rows"),
    ("data-formats.md", f"A line may have {lines.MAX_LINE_BYTES >> 20} MiB"),
    ("data-formats.md", f"A field may have {delimited.MAX_FIELD_CHARACTERS >> 20} Mi characters"),
    ("data-formats.md", f"A manifest may have {arrays.MAX_MANIFEST_BYTES >> 20} MiB"),
    ("python/reference.md", f"`DEFAULT_METHOD` is `{fitting.DEFAULT_METHOD}`"),
    ("python/reference.md", f"`HIDDEN_SHARE` is {api.HIDDEN_SHARE} and `TRIALS` is {api.TRIALS}"),
    ("method.md", f"uniform in (0, {SugarTC().start_noise}]"),
    ("method.md", f"at most {clusters.SAMPLE_SIZE:,} rows"),
    ("metrics.md", f"used at least {protocol.MIN_USES} times"),
    ("metrics.md", f"hidden with probability {calibrate.HIDDEN_SHARE}"),
    ("metrics.md", f"added with probability {calibrate.INJECTED_RATE}"),
    ("metrics.md", f"among its {calibrate.TOP} best"),
]


@pytest.mark.parametrize(("name", "words"), NUMBERS)
def test_numbers_of_the_code_are_stated_as_they_are(name: str, words: str) -> None:
    assert words in " ".join(page(name).split())


def pages_linked_from(path: Path) -> set[Path]:
    links = {link.partition("#")[0] for link in LINK.findall(path.read_text(encoding="utf-8"))}
    return {(path.parent / link).resolve() for link in links if link.endswith(".md")}


def test_every_page_is_two_steps_from_the_index() -> None:
    """Methods and decisions are listed on pages of their own."""
    lists = [DOCS / name for name in ("index.md", "methods.md", "decisions.md")]
    linked = set().union(*map(pages_linked_from, lists))

    assert set(lists[1:]) <= pages_linked_from(lists[0])
    assert set(PAGES) - {lists[0]} <= linked


def slug(heading: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    words = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower())
    return words.strip().replace(" ", "-")


def without_code(text: str) -> str:
    return FENCED.sub("", text)


@pytest.mark.parametrize("path", [p for p in TEXTS if p.exists()], ids=lambda path: path.name)
def test_every_relative_link_leads_somewhere(path: Path) -> None:
    for link in LINK.findall(without_code(path.read_text(encoding="utf-8"))):
        target, _, anchor = link.partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        file = path.parent / target if target else path
        assert file.exists(), f"{path.name} links to {link}, which does not exist"
        if anchor:
            headings = HEADING.findall(without_code(file.read_text(encoding="utf-8")))
            assert anchor in map(slug, headings), f"{path.name} links to {link}: no such heading"


def references() -> list[tuple[str, str]]:
    return sorted({pair for path in PAGES for pair in REFERENCE.findall(path.read_text("utf-8"))})


@pytest.mark.parametrize(("file", "name"), references())
def test_every_function_and_test_that_the_documentation_names_exists(file: str, name: str) -> None:
    if file.startswith("tests/"):
        assert re.search(rf"def {name}\(", (ROOT / file).read_text(encoding="utf-8"))
        return
    module = importlib.import_module("sugartag." + file.removesuffix(".py").replace("/", "."))
    found = module
    for part in name.split("."):
        found = getattr(found, part)


def test_the_changelog_begins_with_this_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    versions = re.findall(r"^## \[(\d[^\]]*)\] - \d{4}-\d\d-\d\d$", changelog, re.MULTILINE)

    assert versions[0] == project["version"]
