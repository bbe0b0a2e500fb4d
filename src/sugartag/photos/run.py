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
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sugartag.collection.folders import FolderSources, import_folder, is_up_to_date, owner_rule
from sugartag.collection.model import Collection
from sugartag.collection.shown import counted
from sugartag.collection.store import open_collection
from sugartag.engine.base import Engine, Progress
from sugartag.errors import CollectionError, StorageError
from sugartag.methods.registry import make_method
from sugartag.photos.advice import Advice, advice
from sugartag.photos.asked import Photos
from sugartag.photos.embedding import embed, shown_by
from sugartag.photos.page import Found, build_report, commands_for
from sugartag.photos.shown import shown_changes
from sugartag.pipeline.changes import write_changes
from sugartag.pipeline.fitting import DEFAULT_METHOD, evidence_summary, fit_model, run_id
from sugartag.pipeline.model import Model, load_model, save_model
from sugartag.pipeline.propose import Thresholds, propose
from sugartag.report.content import Report
from sugartag.report.page import write_report
from sugartag.storage.aside import file_aside

SETTINGS = "settings.json"


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
    _require_tags(asked, open_collection(collection))
    say(f"2 of 5, embed: {embed(collection, asked.encoder, progress=progress)}")
    opened = open_collection(collection)
    model, line = _fitted(asked, opened, engine)
    say(f"3 of 5, fit: {line}")
    changes = propose(model, opened, engine=engine, thresholds=Thresholds())
    counts = write_changes(changes, asked.out / "changes.csv", overwrite=True)
    say(
        f"4 of 5, suggest: {counted(counts['add'], 'tag')} to add, {counts['doubt']:,} to doubt, "
        f"{counts['keep']:,} to keep: {asked.out / 'changes.csv'}"
    )
    shown = shown_changes(model, opened, engine=engine)
    helpful = tuple(advice(asked, opened, shown, added=counts["add"]))
    report = _report(asked, opened, model, Found(shown, counts["add"], helpful))
    page = asked.out / "report.html"
    write_report(report, page)
    say(f"5 of 5, report: {_on_the_page(report, counts['add'])}: {page}")
    _say_what_would_help(helpful, say)
    return page


def _on_the_page(report: Report, added: int) -> str:
    """Return what there is to see on the page."""
    pictures = counted(len(report.pictures), "photograph")
    if not report.pictures:
        return "nothing to add or to doubt"
    if report.counts.added <= added:
        return f"{pictures} with what to add or to doubt"
    less_sure = counted(report.counts.added - added, "less sure suggestion")
    return f"{pictures} with what to add or to doubt, and {less_sure}"


def _say_what_would_help(helpful: Sequence[Advice], say: Callable[[str], None]) -> None:
    if helpful:
        say("what would help:")
    for one in helpful:
        say(f"- {one.words}")
        for command in one.commands:
            say(f"    {command}")


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
    parts = (summary.images, "photograph"), (summary.tags, "tag"), (summary.owners, "owner")
    line = ", ".join(counted(number, word) for number, word in parts)
    if summary.untagged_images:
        line += f"; {summary.untagged_images:,} without any tag"
    if found.problems:
        line += f"; {counted(found.problems, 'problem')}: {folder / 'errors.jsonl'}"
    return line


def _require_tags(asked: Photos, collection: Collection) -> None:
    """Raise if there is nothing to learn from."""
    if not collection.n_tags:
        raise CollectionError(
            f"no photograph in {asked.folder} has a keyword, in a sidecar (photo.jpg.xmp, "
            "photo.xmp, photo.txt) or inside it, and suggestions are learned from keywords: give "
            "some photographs keywords, or suggest with a model of other photographs "
            "(sugartag embed, then sugartag suggest)"
        )


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
    return model, evidence_summary(model.fitted) or str(folder)


def _report(asked: Photos, collection: Collection, model: Model, found: Found) -> Report:
    return build_report(
        asked.folder.resolve().name,
        collection,
        found,
        evidence=evidence_summary(model.fitted),
        facts={"Folder": str(asked.folder), "Encoder": asked.encoder, "Seed": str(asked.seed)},
        commands=commands_for(asked.folder, asked.out, asked.owner_from, asked.encoder),
        load=shown_by(str(collection.images_root)),
        seed=asked.seed,
    )
