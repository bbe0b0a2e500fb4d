"""Runs that are killed, at named points and anywhere: nothing is lost."""

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import killed_applies
from killed_applies import KILLED
from photographs import TAGS, decided, files_of, photographs, rows_of
from sugartag.changes.applying import Wanted, apply_changes, resume
from sugartag.changes.catalogue import Catalogue
from sugartag.changes.undoing import Undoing

APPLY_POINTS = [
    ("begun", 1),
    ("planned", 1),
    ("before file", 1),
    ("file written", 1),
    ("file written", 4),
    ("recorded", 1),
    ("done", 1),
]
UNDO_POINTS = [
    ("undoing", 1),
    ("file restored", 1),
    ("file restored", 3),
    ("files undone", 1),
    ("tags undone", 1),
]
N_RANDOM = 8


class Template:
    """Photographs as they are before, and after they were applied to."""

    def __init__(self, folder: Path) -> None:
        self.before, self.applied = folder / "before", folder / "applied"
        self.before.mkdir()
        with decided(photographs(self.before, TAGS, nested=True)) as catalogue:
            self.rows, self.files = rows_of(catalogue), files_of(self.before)
        shutil.copytree(self.before, self.applied)
        with opened(self.applied) as catalogue:
            (outcome,) = apply_changes(catalogue, Wanted(sidecars=True))
            self.run_id = outcome.run_id
            self.applied_rows = rows_of(catalogue)
        self.applied_files = files_of(self.applied)


def opened(folder: Path) -> Catalogue:
    """Open the catalogue of a copy, whose images are in the copy."""
    catalogue = Catalogue.open(folder / "catalogue.sqlite")
    catalogue.set_fact("images_root", str(folder / "root"))
    return catalogue


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Template:
    return Template(tmp_path_factory.mktemp("template"))


def killed(tmp_path: Path, template: Template, cases: list[dict[str, Any]]) -> list[Path]:
    """Let one process after the other be killed; return the folders that they leave."""
    folders = []
    for number, case in enumerate(cases):
        folder = tmp_path / str(number)
        shutil.copytree(template.applied if "undo" in case else template.before, folder)
        opened(folder).close()
        folders.append(folder)
        case["folder"] = str(folder)
    program = Path(killed_applies.__file__)
    done = subprocess.run(
        [sys.executable, program], input=json.dumps(cases), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    codes = json.loads(done.stdout)
    assert codes.count(KILLED) >= len(cases) * 0.7
    assert set(codes) <= ({KILLED} if "point" in cases[0] else {KILLED, 0}), done.stderr
    return folders


def state(catalogue: Catalogue, folder: Path) -> tuple[Any, Any]:
    return files_of(folder), rows_of(catalogue)


def is_one_of(folder: Path, template: Template) -> None:
    """Check that every file is as it was or as it will be, and whole."""
    found = files_of(folder)
    known = found.keys() | template.files.keys() | template.applied_files.keys()
    for path in known - {path for path in found if ".partial-" in path}:
        assert found.get(path) in (template.files.get(path), template.applied_files.get(path))


def test_an_apply_that_is_killed_is_finished_by_the_next(tmp_path, template):
    cases = [{"point": point, "times": times} for point, times in APPLY_POINTS]
    for folder in killed(tmp_path, template, cases):
        is_one_of(folder, template)
        with opened(folder) as catalogue:
            outcomes = apply_changes(catalogue, Wanted(sidecars=True))

            assert state(catalogue, folder) == (template.applied_files, template.applied_rows)
            assert [outcome.problems for outcome in outcomes] == [[] for _ in outcomes]
            assert len(catalogue.runs("apply")) == 1
            (run,) = catalogue.runs("apply")
            Undoing(catalogue).undo(run.run_id)
            assert state(catalogue, folder) == (template.files, template.rows)


def test_an_apply_that_is_killed_can_be_undone(tmp_path, template):
    cases = [{"point": point, "times": times} for point, times in APPLY_POINTS]
    for folder in killed(tmp_path, template, cases):
        with opened(folder) as catalogue:
            (run,) = catalogue.runs("apply")
            Undoing(catalogue).undo(run.run_id)

            assert state(catalogue, folder) == (template.files, template.rows)
            assert resume(catalogue) == []


def test_an_undo_that_is_killed_is_finished_by_the_next(tmp_path, template):
    cases = [{"point": p, "times": times, "undo": template.run_id} for p, times in UNDO_POINTS]
    for folder in killed(tmp_path, template, cases):
        is_one_of(folder, template)
        with opened(folder) as catalogue:
            Undoing(catalogue).undo(template.run_id)

            assert state(catalogue, folder) == (template.files, template.rows)


def test_wherever_a_process_is_killed_nothing_is_lost(tmp_path, template):
    draw = random.Random(4)
    cases: list[dict[str, Any]] = [{"lines": draw.randrange(1, 2500)} for _ in range(N_RANDOM)]
    cases += [
        {"lines": draw.randrange(1, 1500), "undo": template.run_id} for _ in range(N_RANDOM // 2)
    ]
    for folder, case in zip(killed(tmp_path, template, cases), cases, strict=True):
        is_one_of(folder, template)
        with opened(folder) as catalogue:
            if "undo" in case:
                (run,) = catalogue.runs("apply")
                if run.state != "undone":
                    Undoing(catalogue).undo(template.run_id)
                assert state(catalogue, folder) == (template.files, template.rows)
                continue
            apply_changes(catalogue, Wanted(sidecars=True))
            assert state(catalogue, folder) == (template.applied_files, template.applied_rows)
