"""``sugartag import``: a table, a folder of photographs or an archive becomes a collection."""

import shlex
from dataclasses import dataclass, replace
from pathlib import Path

import click

from sugartag.collection.archives import FORMATS, detected_format, open_archive
from sugartag.collection.folders import FolderSources, FolderSummary, import_folder, owner_rule
from sugartag.collection.readers import ImportSummary, Sources, import_collection
from sugartag.collection.readers.columns import parsed_columns
from sugartag.collection.readers.table import read_stop_tags
from sugartag.collection.shown import counted
from sugartag.collection.vocabulary import TagRules
from sugartag.errors import SettingsError
from sugartag.progress import ProgressDisplay

_PATH = click.Path(path_type=Path)
MOST_STOP_TAGS_SHOWN = 10


@click.command("import", short_help="Make a collection from a table, a folder or an archive.")
@click.argument("source", type=_PATH)
@click.option("--out", required=True, type=_PATH, help="The collection folder to write.")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["auto", "table", "folder", *FORMATS]),
    default="auto",
    show_default=True,
    help="What SOURCE is; archives are recognised by their files.",
)
@click.option(
    "--columns",
    metavar="id=A,tags=B,owner=C",
    help="What the columns of a table are called; also path and title.",
)
@click.option("--split", metavar="SEP", help="Separator between tags; else detected.")
@click.option("--features", type=_PATH, help="A .npy of floats, one row for each row of TABLE.")
@click.option("--groups", type=_PATH, help="A table with the columns owner, group.")
@click.option("--truth", type=_PATH, help="A table with the columns image_id, concept.")
@click.option(
    "--images-root", type=_PATH, help="The folder that paths start from; they are checked."
)
@click.option(
    "--owner-from",
    default="creator",
    show_default=True,
    metavar="folder|creator|artist|FILE",
    help="For a folder: what names the owner; FILE is a table with the columns path, owner.",
)
@click.option("--lowercase", "--fold-case", is_flag=True, help="Put tags in lower case.")
@click.option(
    "--min-uses",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Drop tags that fewer images have.",
)
@click.option("--stop-tags", type=_PATH, help="A text file of tags to leave out, one a line.")
@click.option(
    "--stop-list/--no-stop-list",
    default=None,
    help="Leave out camera names, 'untitled', file names; on for folders and raw Flickr tags.",
)
@click.option("--url-encoded", is_flag=True, help="Tags are written as in a URL: caf%C3%A9.")
@click.option("--update", is_flag=True, help="For a folder: read only new and changed files.")
@click.option("--overwrite", is_flag=True, help="Replace a collection of the same name.")
def command(
    source: Path,
    out: Path,
    format_name: str,
    columns: str | None,
    split: str | None,
    features: Path | None,
    groups: Path | None,
    truth: Path | None,
    images_root: Path | None,
    owner_from: str,
    lowercase: bool,
    min_uses: int,
    stop_tags: Path | None,
    stop_list: bool | None,
    url_encoded: bool,
    update: bool,
    overwrite: bool,
) -> None:
    """Make a collection from SOURCE: a table, a folder of photographs, or an archive.

    A table is a .csv, .tsv, .jsonl, .json (these also .gz) or .parquet file with the columns
    image_id, owner and tags, optionally path and title; others are ignored. --columns says what
    they are called elsewhere; the names of exiftool are known. Tags are a list, or text: what
    separates them is detected and reported. Owner and tags may be empty. Texts are put in Unicode
    NFC and trimmed; paths are kept as they are. Any number of rows fits: only the distinct tags,
    owners, groups and concepts are held in memory.

    In a folder, all JPEG, PNG, WebP, TIFF and HEIC files below it are taken. Their tags are the
    keywords of their XMP sidecars (photo.jpg.xmp, photo.xmp), of the XMP and IPTC inside them,
    and of a text file beside them (photo.txt), together.

    Archives are NUS-WIDE, MIRFLICKR, those of the jingwei survey, YFCC100M, the ImageFolder of
    Hugging Face and the output of clip-retrieval.

    \b
    Example:
      $ cat photos.csv
      image_id,owner,tags
      1,anna,beach|sun
      2,ben,dog
      $ sugartag import photos.csv --out photos --features vectors.npy
      $ sugartag import exif.csv --out photos --columns id=SourceFile,tags=Keywords,owner=Artist
      $ sugartag import ~/Pictures --out pictures --owner-from folder
    """  # noqa: D301 - click looks for the backspace character itself
    rules = TagRules(lowercase=lowercase, min_uses=min_uses, url_encoded=url_encoded)
    if stop_tags is not None:
        rules = replace(rules, stop_tags=read_stop_tags(stop_tags))
    kind = _kind(source) if format_name == "auto" else format_name
    options = _Options(out, rules, stop_list, update=update, overwrite=overwrite)
    if kind == "folder":
        _refuse(
            columns=columns,
            split=split,
            features=features,
            images_root=images_root,
            what="a folder of photographs",
        )
        sources = FolderSources(source, owner_rule(owner_from), groups, truth)
        lines = _import_folder(sources, options)
    else:
        _refuse(update=update, what="a table" if kind == "table" else f"an archive ({kind})")
        if kind != "table":
            _refuse(columns=columns, split=split, what=f"an archive ({kind})")
        named = {} if columns is None else parsed_columns(columns)
        given = Sources(source, features, groups, truth, images_root, named, split)
        lines = _import_table(given, options) if kind == "table" else _import(kind, given, options)
    for line in lines:
        click.echo(line)


@dataclass(frozen=True)
class _Options:
    """What all imports are asked for."""

    out: Path
    rules: TagRules
    stop_list: bool | None
    update: bool
    overwrite: bool

    def rules_for(self, *, raw_tags: bool) -> TagRules:
        """Return the rules with the built-in stop tags, if asked for or of use by default."""
        wanted = raw_tags if self.stop_list is None else self.stop_list
        return self.rules.with_stop_words() if wanted else self.rules


def _kind(source: Path) -> str:
    return detected_format(source) or ("folder" if source.is_dir() else "table")


def _import_folder(sources: FolderSources, options: _Options) -> list[str]:
    with ProgressDisplay() as progress:
        found = import_folder(
            sources,
            options.out,
            rules=options.rules_for(raw_tags=True),
            update=options.update,
            overwrite=options.overwrite,
            progress=progress,
        )
    return folder_lines(found, options.out)


def _import_table(sources: Sources, options: _Options, *, raw_tags: bool = False) -> list[str]:
    with ProgressDisplay() as progress:
        summary = import_collection(
            sources,
            options.out,
            rules=options.rules_for(raw_tags=raw_tags),
            overwrite=options.overwrite,
            progress=progress,
        )
    return _lines(summary, options.out)


def _import(kind: str, given: Sources, options: _Options) -> list[str]:
    """Import an archive; what the command line names goes before what the archive holds."""
    folders = {
        name: path
        for name, path in (("features", given.features), ("truth", given.truth))
        if isinstance(path, Path) and path.is_dir()
    }
    archive = open_archive(given.places[0], kind, **folders)
    sources = Sources(
        table=archive.table,
        features=archive.features if "features" in folders else given.features or archive.features,
        groups=given.groups or archive.groups,
        truth=archive.truth if "truth" in folders else given.truth or archive.truth,
        images_root=given.images_root or archive.images_root,
    )
    return _import_table(sources, options, raw_tags=archive.raw_tags)


def _refuse(*, what: str, **options: object) -> None:
    """Raise if an option was given that does not go with what is imported."""
    for name, value in options.items():
        if value:
            raise SettingsError(f"--{name.replace('_', '-')} does not go with {what}; leave it out")


def folder_lines(found: FolderSummary, out: Path) -> list[str]:
    """Return what is said of the import of a folder."""
    first, *rest = _lines(found.collection, out)
    lines = [first]
    if found.files_known or found.files_gone:
        lines.append(
            f"  read {counted(found.files_read, 'new or changed file')}; "
            f"{found.files_known:,} unchanged, {found.files_gone:,} gone"
        )
    if found.problems:
        lines.append(f"  {counted(found.problems, 'problem')}: see {out / 'errors.jsonl'}")
    return [*lines, *rest]


def _lines(summary: ImportSummary, out: Path) -> list[str]:
    """Return what is said at the end: what there is, what is odd about it, what comes next."""
    parts = [
        counted(summary.images, "image"),
        counted(summary.tags, "tag"),
        counted(summary.owners, "owner"),
        *([counted(summary.groups, "group")] if summary.groups else []),
        *([counted(summary.concepts, "true concept")] if summary.concepts else []),
        *([f"features of {counted(summary.features, 'number')}"] if summary.features else []),
    ]
    lines = [f"{out}: {', '.join(parts)}"]
    lines += [f"  {note}" for note in summary.notes]
    if summary.untagged_images:
        lines.append(f"  without any tag: {counted(summary.untagged_images, 'image')}")
    if summary.ownerless_images:
        lines.append(f"  without an owner: {counted(summary.ownerless_images, 'image')}")
    if summary.skipped_memberships:
        rows = counted(summary.skipped_memberships, "membership")
        lines.append(f"  skipped, as the owner has no image here: {rows}")
    if summary.stop_tags:
        ordered = sorted(summary.stop_tags, key=lambda tag: (-summary.stop_tags[tag], tag))
        named = ", ".join(ordered[:MOST_STOP_TAGS_SHOWN])
        more = ", ..." if len(ordered) > MOST_STOP_TAGS_SHOWN else ""
        lines.append(f"  left out {counted(len(ordered), 'stop tag')}: {named}{more}")
    if summary.variants:
        pairs = counted(summary.variants, "pair")
        lines.append(f"  {pairs} of tags look alike, none is merged: see {out / 'variants.csv'}")
    if not summary.features:
        lines.append("  no features: methods that look at the images need --features")
    folder = shlex.quote(str(out))
    if not summary.tags:
        return [*lines, f"Next: sugartag suggest MODEL {folder} --out changes.csv"]
    model = shlex.quote(f"{out}-model")
    return [*lines, f"Next: sugartag fit {folder} --out {model}"]
