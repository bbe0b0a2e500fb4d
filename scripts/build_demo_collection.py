"""Build the clip-art collection that ``sugartag demo --drawings`` runs on.

The source is a folder with ``images.csv`` (image_id, file, author, title, tags), ``features.npy``
(a float16 row per image) and ``thumbs/<image_id>.webp``. A drawing is taken when it has a named
author, two tags or more, something to see and no identical twin before it. Prolific authors are
then thinned: each keeps the drawings that bring the most tags up to ten uses, because a tag used
less often can be suggested but not measured.

    python scripts/build_demo_collection.py SOURCE src/sugartag/assets/openclipart

The same source, settings and Pillow give the same bytes.
"""

import csv
import html
import io
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
from PIL import Image, ImageOps

LARGEST_SIDE = 128
"""The longer side of a thumbnail, in pixels."""
WHITEST_INK = 240
"""Grey levels above this count as paper."""
SMALLEST_LONG_SIDE, SMALLEST_SHORT_SIDE = 40, 8
"""What is left of a drawing after its empty margins are cut must be at least this large."""
ENOUGH_USES = 10
"""A tag used this often can be measured; the value the evaluation uses for hidden tags."""
LITTLE = 0.01
"""The worth of one more use of a tag that already has enough."""
UNSUITABLE_TAGS = frozenset({"sex", "sexy", "sunwheel"})
"""A drawing with such a tag (the last is the SS's black sun) is no first thing to show anybody."""
BROKEN_IMAGES = frozenset({"oc00021", "oc00040"})
"""Rendered in the source as a notice that a linked file was not found."""
NOBODY = frozenset({"", "anonymous", "none", "unknown"})
"""Author fields that name no one person, so that they say nothing about anyone's habits."""
WINDOWS_LETTERS = {0x8A: "Š", 0x8E: "Ž", 0x9A: "š", 0x9E: "ž"}
"""Letters of Windows-1252 where Latin-1 has control characters."""
ZIP_MOMENT = (1980, 1, 1, 0, 0, 0)
"""The time stamp of every file in the archive, so that building twice gives the same bytes."""

LICENCE = """\
The drawings, their titles, tags and authors' names come from the Open Clip Art Library,
release 0.18, as packaged by Debian (openclipart 1:0.18+dfsg, https://openclipart.org).

The library accepted only work in the public domain: the contributors certified that it was, or
dedicated it themselves. Debian's copyright file carries the dedication they used, the Creative
Commons Public Domain Dedication. It says of the contributor, "the dedicator":

    Dedicators intend this dedication to be an overt act of relinquishment in perpetuity of all
    present and future rights under copyright law, whether vested or contingent, in the Work.
    Dedicator understand that such relinquishment of all rights includes the relinquishment of
    all rights to enforce (by lawsuit or otherwise) those copyrights in the Work.

    Dedicator recognizes that, once placed in the public domain, the Work may be freely
    reproduced, distributed, transmitted, used, modified, built upon, or otherwise exploited by
    anyone for any purpose, commercial or non-commercial, and in any way, including by methods
    that have not yet been invented or conceived.

What was changed: some of the drawings were chosen, their empty margins cut, and what is left was
reduced to at most 128 pixels (thumbs.zip). Titles and names with damaged accents were repaired
and empty tags dropped; no other tag was touched. features.npy holds one row of 1,280 numbers for
each drawing, the penultimate layer of EfficientNet-Lite0 on the whole drawing before its margins
were cut.
"""


@dataclass(frozen=True)
class Drawing:
    """One row of the source table."""

    row: int
    """Its row in the source's features."""
    image_id: str
    owner: str
    title: str
    tags: tuple[str, ...]

    @property
    def file_name(self) -> str:
        """The name of its thumbnail, in the source and in what is built."""
        return f"{self.image_id}.webp"


@dataclass(frozen=True)
class Summary:
    """What was built."""

    images: int
    owners: int
    most_of_one_owner: int
    tags: int
    measurable_tags: int
    """Tags used at least ``ENOUGH_USES`` times."""
    megabytes: float


def read_source(folder: Path) -> list[Drawing]:
    """Return every row of the source table, in its order."""
    with (folder / "images.csv").open(encoding="utf-8", newline="") as file:
        return [_drawing(row, record) for row, record in enumerate(csv.DictReader(file))]


def _drawing(row: int, record: dict[str, str]) -> Drawing:
    tags = dict.fromkeys(tag.strip() for tag in record["tags"].split("|"))
    return Drawing(
        row=row,
        image_id=record["image_id"],
        owner=repaired(record["author"]),
        title=repaired(record["title"]) or Path(record["file"]).stem,
        tags=tuple(tag for tag in tags if tag),
    )


def repaired(text: str) -> str:
    """Return the text as it was typed: no HTML entities, nothing read in a wrong encoding.

    Names were put in lower case after the damage was done, hence the two capitals.
    """
    for letter in ("atilde", "aring"):
        text = text.replace(f"&{letter};", f"&{letter.capitalize()};")
    plain = html.unescape(text)
    with suppress(UnicodeError):  # Most were never damaged.
        plain = plain.encode("latin-1").decode("utf-8")
    return " ".join(plain.translate(WINDOWS_LETTERS).split())


def choose(
    drawings: Iterable[Drawing], features: np.ndarray, thumbs: Path, *, per_owner: int
) -> list[Drawing]:
    """Return the drawings worth showing, at most ``per_owner`` by one author, in source order."""
    candidates = [drawing for drawing in drawings if is_suitable(drawing)]
    visible = [drawing for drawing in candidates if _is_visible(thumbs / drawing.file_name)]
    return thin_prolific_owners(without_twins(visible, features), per_owner=per_owner)


def is_suitable(drawing: Drawing) -> bool:
    """Say whether the row names an author and has two tags or more, none of them unsuitable."""
    return (
        drawing.owner not in NOBODY
        and len(drawing.tags) >= 2
        and UNSUITABLE_TAGS.isdisjoint(drawing.tags)
        and drawing.image_id not in BROKEN_IMAGES
    )


def without_twins(drawings: Iterable[Drawing], features: np.ndarray) -> list[Drawing]:
    """Return the first drawing of each set that has exactly the same features."""
    first = {features[drawing.row].tobytes(): drawing for drawing in reversed(list(drawings))}
    return sorted(first.values(), key=lambda drawing: drawing.row)


def thin_prolific_owners(drawings: Sequence[Drawing], *, per_owner: int) -> list[Drawing]:
    """Keep all the drawings of most authors, the ``per_owner`` most useful ones of the prolific."""
    by_owner: defaultdict[str, list[Drawing]] = defaultdict(list)
    for drawing in drawings:
        by_owner[drawing.owner].append(drawing)

    reachable = _uses(drawings)
    kept = [drawing for own in by_owner.values() if len(own) <= per_owner for drawing in own]
    uses = _uses(kept)
    prolific = [own for own in by_owner.values() if len(own) > per_owner]
    for own in sorted(prolific, key=lambda own: (len(own), own[0].owner)):
        kept += _most_useful(own, per_owner, uses=uses, reachable=reachable)
    return sorted(kept, key=lambda drawing: drawing.row)


def _most_useful(
    own: Sequence[Drawing], count: int, *, uses: Counter[str], reachable: Counter[str]
) -> list[Drawing]:
    """Pick drawings one by one for their tags, keeping ``uses`` up to date."""
    left, picked = list(own), []
    for _ in range(count):
        best = max(left, key=lambda drawing: (_worth(drawing, uses, reachable), -drawing.row))
        left.remove(best)
        picked.append(best)
        uses.update(best.tags)
    return picked


def _worth(drawing: Drawing, uses: Counter[str], reachable: Counter[str]) -> float:
    # A tag is worth more the nearer it is to enough uses: finishing one beats starting five.
    return sum(
        1 / (ENOUGH_USES + 1 - uses[tag]) if uses[tag] < ENOUGH_USES else LITTLE
        for tag in drawing.tags
        if reachable[tag] >= ENOUGH_USES
    )


def _uses(drawings: Iterable[Drawing]) -> Counter[str]:
    return Counter(tag for drawing in drawings for tag in drawing.tags)


def _is_visible(path: Path) -> bool:
    with Image.open(path) as image:
        box = ink_box(_on_white(image))
    if box is None:
        return False
    short, long = sorted((box[2] - box[0], box[3] - box[1]))
    return long >= SMALLEST_LONG_SIDE and short >= SMALLEST_SHORT_SIDE


def _on_white(image: Image.Image) -> Image.Image:
    paper = Image.new("RGBA", image.size, "white")
    paper.alpha_composite(image.convert("RGBA"))
    return paper.convert("RGB")


def ink_box(image: Image.Image) -> tuple[int, int, int, int] | None:
    """Return the smallest rectangle around all that is not paper, if there is anything."""
    ink = ImageOps.grayscale(image).point(lambda level: 255 if level <= WHITEST_INK else 0)
    return ink.getbbox()


def thumbnail(path: Path) -> bytes:
    """Return the drawing on white, without its empty margins, as a small WebP picture."""
    with Image.open(path) as image:
        picture = _on_white(image)
    picture = picture.crop(ink_box(picture))
    picture.thumbnail((LARGEST_SIDE, LARGEST_SIDE), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    picture.save(buffer, "WEBP", quality=82, method=6)
    return buffer.getvalue()


def write_table(drawings: Iterable[Drawing], path: Path) -> None:
    """Write the table in the columns that ``sugartag import`` reads."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["image_id", "owner", "tags", "path", "title"])
        for drawing in drawings:
            tags = "|".join(drawing.tags)
            row = [drawing.image_id, drawing.owner, tags, drawing.file_name, drawing.title]
            table.writerow(row)


def write_thumbs(drawings: Iterable[Drawing], thumbs: Path, path: Path) -> None:
    """Write the thumbnails as one archive, stored as they are: WebP does not shrink further."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for drawing in drawings:
            entry = zipfile.ZipInfo(drawing.file_name, ZIP_MOMENT)
            entry.create_system = 3  # Unix, whatever this machine is: the byte is in the file.
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, thumbnail(thumbs / drawing.file_name))


def build(source: Path, target: Path, *, per_owner: int) -> Summary:
    """Write the table, the features, the thumbnails and their licence into ``target``."""
    features = np.load(source / "features.npy", allow_pickle=False)
    thumbs = source / "thumbs"
    drawings = choose(read_source(source), features, thumbs, per_owner=per_owner)

    target.mkdir(parents=True, exist_ok=True)
    write_table(drawings, target / "images.csv")
    rows = [drawing.row for drawing in drawings]
    np.save(target / "features.npy", features[rows].astype(np.float16))
    write_thumbs(drawings, thumbs, target / "thumbs.zip")
    (target / "LICENSE.txt").write_text(LICENCE, encoding="utf-8", newline="\n")
    return _summary(drawings, target)


def _summary(drawings: Sequence[Drawing], target: Path) -> Summary:
    owners = Counter(drawing.owner for drawing in drawings)
    uses = _uses(drawings)
    return Summary(
        images=len(drawings),
        owners=len(owners),
        most_of_one_owner=max(owners.values(), default=0),
        tags=len(uses),
        measurable_tags=sum(count >= ENOUGH_USES for count in uses.values()),
        megabytes=sum(file.stat().st_size for file in target.iterdir()) / 1e6,
    )


@click.command()
@click.argument("source", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("target", type=click.Path(file_okay=False, path_type=Path))
@click.option("--per-owner", default=50, show_default=True, help="Most drawings of one author.")
def main(source: Path, target: Path, per_owner: int) -> None:
    """Choose drawings from the folder SOURCE and write the demo collection to TARGET."""
    summary = build(source, target, per_owner=per_owner)
    click.echo(
        f"{summary.images:,} images by {summary.owners:,} authors (at most "
        f"{summary.most_of_one_owner} by one), {summary.tags:,} tags, {summary.measurable_tags} "
        f"of them used {ENOUGH_USES} times or more, {summary.megabytes:.1f} MB in {target}"
    )


if __name__ == "__main__":
    main()
