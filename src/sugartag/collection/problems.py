"""``errors.jsonl``: what could not be read of a collection's pictures, by the stage that met it."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from sugartag.collection.companions import PROBLEMS
from sugartag.storage.aside import file_aside


def write_problems(folder: Path, stage: str, problems: Iterable[Mapping[str, str]]) -> None:
    """Replace the lines of one stage and leave those of others; without any, there is no file."""
    target = folder / PROBLEMS
    lines = [line for line in _lines(target) if _stage_of(line) != stage]
    lines += [json.dumps({"stage": stage, **one}, ensure_ascii=False) for one in problems]
    if not lines:
        target.unlink(missing_ok=True)
        return
    with file_aside(target, overwrite=True) as partial:
        partial.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.is_file() else []


def _stage_of(line: str) -> str:
    try:
        found = json.loads(line)
    except ValueError:
        return ""
    return str(found.get("stage", "")) if isinstance(found, dict) else ""
