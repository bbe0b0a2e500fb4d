"""Import, embed, fit, suggest, report: each stage takes up what an earlier run has finished.

::

    out/settings.json     what was asked for; another question starts from the folder again
    out/collection/       the photographs, their keywords and their features
    out/model/            the fitted model
    out/changes.csv       what it proposes
    out/report.html       the page to open

Every stage writes aside and renames, and depends on nothing but what the stages before it wrote, so
that a run which was killed anywhere and is started again ends with the same files.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sugartag.collection.folders import FolderSources, import_folder, is_up_to_date, owner_rule
from sugartag.collection.model import Collection
from sugartag.collection.store import open_collection
from sugartag.collection.vocabulary import TagRules
from sugartag.engine.base import Engine, Progress
from sugartag.errors import CollectionError, StorageError
from sugartag.methods.registry import make_method
from sugartag.photos.embedding import embed, shown_by
from sugartag.photos.page import build_report, commands_for
from sugartag.photos.shown import shown_changes
from sugartag.pipeline.changes import write_changes
from sugartag.pipeline.fitting import DEFAULT_METHOD, evidence_summary, fit_model, run_id
from sugartag.pipeline.model import Model, load_model, save_model
from sugartag.pipeline.propose import Thresholds, propose
from sugartag.report.page import write_report
from sugartag.storage.aside import file_aside

SETTINGS = "settings.json"


@dataclass(frozen=True)
class Photos:
    """What is asked of a folder of photographs."""

    folder: Path
    out: Path
    owner_from: str = "creator"
    encoder: str = "efficientnet-lite0"
    min_uses: int = 1
    lowercase: bool = False
    seed: int = 0

    @property
    def rules(self) -> TagRules:
        """What is done with the tags."""
        return TagRules(lowercase=self.lowercase, min_uses=self.min_uses).with_stop_words()


def retag_photos(
    asked: Photos,
    *,
    engine: Engine,
    progress: Progress | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Path:
    """Do the whole job and return the page to open; a stage that is done is not done again."""
    _check(asked)
    owner_rule(asked.owner_from)
    collection = asked.out / "collection"
    say(f"1 of 5, import: {_imported(asked, collection, progress)}")
    say(f"2 of 5, embed: {embed(collection, asked.encoder, progress=progress)}")
    opened = open_collection(collection)
    model, line = _fitted(asked, opened, engine)
    say(f"3 of 5, fit: {line}")
    changes = propose(model, opened, engine=engine, thresholds=Thresholds())
    counts = write_changes(changes, asked.out / "changes.csv", overwrite=True)
    say(
        f"4 of 5, suggest: {counts['add']:,} tags to add, {counts['doubt']:,} to doubt, "
        f"{counts['keep']:,} to keep: {asked.out / 'changes.csv'}"
    )
    if not counts["add"]:
        say("  no tag is sure enough to be added; the page shows those that are most likely")
    page = asked.out / "report.html"
    _write_page(asked, opened, model, engine, page)
    say(f"5 of 5, report: {page}")
    return page


def _check(asked: Photos) -> None:
    """Raise before anything is written where nothing good can come of it."""
    if not asked.folder.is_dir():
        raise CollectionError(f"{asked.folder} is not a folder; name a folder of photographs")
    settings, out = asked.out / SETTINGS, asked.out
    if out.exists() and not settings.is_file() and (not out.is_dir() or any(out.iterdir())):
        raise StorageError(f"{out} holds something else; choose another --out")


def _imported(asked: Photos, folder: Path, progress: Progress | None) -> str:
    """Import the folder, unless it and what is asked are as they were; say what there is."""
    wanted = {
        "folder": str(asked.folder.resolve()),
        "owner_from": asked.owner_from,
        "min_uses": asked.min_uses,
        "lowercase": asked.lowercase,
    }
    same = _settings(asked.out) == wanted
    sources = FolderSources(asked.folder, owner_rule(asked.owner_from))
    if same and is_up_to_date(asked.folder, folder):
        return f"{open_collection(folder).n_images:,} photographs, none of them new or changed"
    if not same:
        # Should the import be killed, what stands there is known to be of no run in particular.
        _write_settings(asked.out, {})
    found = import_folder(
        sources, folder, rules=asked.rules, update=same, overwrite=True, progress=progress
    )
    _write_settings(asked.out, wanted)
    summary = found.collection
    line = f"{summary.images:,} photographs, {summary.tags:,} tags, {summary.owners:,} owners"
    problems = f"; {found.problems:,} problems: {folder / 'errors.jsonl'}"
    return f"{line}{problems if found.problems else ''}"


def _write_settings(out: Path, settings: Mapping[str, object]) -> None:
    with file_aside(out / SETTINGS, overwrite=True) as partial:
        partial.write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")


def _settings(out: Path) -> object:
    """Return what an earlier run was asked for; None if there was none."""
    try:
        return json.loads((out / SETTINGS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _fitted(asked: Photos, collection: Collection, engine: Engine) -> tuple[Model, str]:
    """Return the model that was fitted on this very collection, or fit it."""
    folder, method = asked.out / "model", make_method(DEFAULT_METHOD, {})
    wanted = run_id(method, collection, asked.seed)
    try:
        model = load_model(folder)
    except StorageError:
        model = None
    if model is None or model.run_id != wanted:
        model = fit_model(method, collection, engine=engine, seed=asked.seed)
        save_model(model, folder, overwrite=True)
    return model, evidence_summary(model.fitted) or f"{folder}"


def _write_page(
    asked: Photos, collection: Collection, model: Model, engine: Engine, page: Path
) -> None:
    report = build_report(
        asked.folder.resolve().name,
        collection,
        shown_changes(model, collection, engine=engine),
        evidence=evidence_summary(model.fitted),
        facts={"Folder": str(asked.folder), "Encoder": asked.encoder, "Seed": str(asked.seed)},
        commands=commands_for(asked.folder, asked.out, asked.owner_from, asked.encoder),
        load=shown_by(str(collection.images_root)),
        seed=asked.seed,
    )
    write_report(report, page)
