"""Build the folder of photographs that ``sugartag demo`` runs on.

The source is a folder with ``photos.csv`` (file, creator, title, keywords, place, date) and
``photos/``: photographs of DOCUMERICA. Keywords that few photographs or photographers have are
left out. Photographers with enough photographs keep those that bring the most keywords up to ten
uses, because a tag used less often can be suggested but not measured. Each photograph becomes a
small WebP with an XMP sidecar beside it, as photo programs write them: keywords in dc:subject, the
photographer in dc:creator. The archive's caption goes to dc:description, which an import does not
read: the keywords are words of the caption, and would be given away by it.

    python scripts/build_photo_demo.py SOURCE src/sugartag/assets/photos

The same source, settings and Pillow give the same bytes.
"""

import csv
import io
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from xml.sax.saxutils import escape

import click
from PIL import Image

LARGEST_SIDE = 384
QUALITY = 70
PER_PHOTOGRAPHER = 16
FEWEST_KEYWORDS = 1
FEWEST_USES, FEWEST_PHOTOGRAPHERS = 8, 4
"""Keywords of fewer photographs or photographers are names and numbers of one assignment."""
ENOUGH_USES = 10
"""A tag used this often can be measured; the value the evaluation uses for hidden tags."""
LITTLE = 0.01
"""The worth of one more use of a tag that already has enough."""
ZIP_MOMENT = (1980, 1, 1, 0, 0, 0)
"""The time of every file in the archive, so that building twice gives the same bytes."""

LICENCE = """\
The photographs are of DOCUMERICA, a project of the US Environmental Protection Agency, 1971 to
1977, kept by the US National Archives (Record Group 412). They and their captions are works of the
United States Government and in the public domain; use is unrestricted. The photographers are named
in the sidecars. The photographs were made smaller and compressed anew; the keywords are words of
the captions.
"""
SIDECAR = """\
<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"
    xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/" photoshop:City="{place}"
    photoshop:Credit="US National Archives, DOCUMERICA, {number}">
   <dc:creator><rdf:Seq><rdf:li>{creator}</rdf:li></rdf:Seq></dc:creator>
   <dc:description><rdf:Alt><rdf:li xml:lang="x-default">{title}</rdf:li></rdf:Alt></dc:description>
   <dc:rights><rdf:Alt><rdf:li xml:lang="x-default">Public domain</rdf:li></rdf:Alt></dc:rights>
   <dc:subject><rdf:Bag>{keywords}</rdf:Bag></dc:subject>
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
<?xpacket end="w"?>
"""


@dataclass(frozen=True)
class Photograph:
    """A row of the table."""

    file: str
    creator: str
    title: str
    keywords: tuple[str, ...]
    place: str

    @property
    def number(self) -> str:
        """The number of the photograph in the National Archives."""
        return Path(self.file).stem


@click.command(help=__doc__.splitlines()[0])
@click.argument("source", type=click.Path(path_type=Path, exists=True))
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--each", default=PER_PHOTOGRAPHER, show_default=True, help="Of a photographer.")
def main(source: Path, target: Path, each: int) -> None:
    """Choose, make smaller and pack the photographs."""
    chosen = choose(general(read(source / "photos.csv")), each)
    target.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target / "photos.zip", "w") as archive:
        for name, data in files_of(chosen, source / "photos"):
            archive.writestr(zipfile.ZipInfo(name, ZIP_MOMENT), data)
    (target / "LICENSE.txt").write_text(LICENCE, encoding="utf-8")
    size = (target / "photos.zip").stat().st_size / 1e6
    owners = len({one.creator for one in chosen})
    print(f"{len(chosen)} photographs by {owners} photographers, {size:.1f} MB: {target}")


def read(table: Path) -> list[Photograph]:
    """Read the photographs."""
    with table.open(encoding="utf-8", newline="") as file:
        return [
            Photograph(
                file=row["file"],
                creator=row["creator"],
                title=row["title"],
                keywords=tuple(dict.fromkeys(word for word in row["keywords"].split("|") if word)),
                place=row["place"],
            )
            for row in csv.DictReader(file)
        ]


def general(photographs: Sequence[Photograph]) -> list[Photograph]:
    """Keep the keywords that many use, and the photographs that still have some."""
    uses = Counter(word for one in photographs for word in one.keywords)
    users: dict[str, set[str]] = defaultdict(set)
    for one in photographs:
        for word in one.keywords:
            users[word].add(one.creator)
    kept = {
        word
        for word, count in uses.items()
        if count >= FEWEST_USES and len(users[word]) >= FEWEST_PHOTOGRAPHERS
    }
    found = [
        replace(one, keywords=tuple(word for word in one.keywords if word in kept))
        for one in photographs
    ]
    return [one for one in found if one.creator and len(one.keywords) >= FEWEST_KEYWORDS]


def choose(photographs: Sequence[Photograph], each: int) -> list[Photograph]:
    """Take ``each`` of every photographer who has that many: in turn, what keywords need most."""
    by_owner: dict[str, list[Photograph]] = defaultdict(list)
    for one in photographs:
        by_owner[one.creator].append(one)
    pools = {owner: pool for owner, pool in sorted(by_owner.items()) if len(pool) >= each}
    uses: Counter[str] = Counter()
    chosen: list[Photograph] = []
    for _ in range(each):
        for pool in pools.values():
            best = max(pool, key=lambda one: (_worth(one, uses), one.number))
            pool.remove(best)
            uses.update(best.keywords)
            chosen.append(best)
    return sorted(chosen, key=lambda one: (one.creator, one.number))


def _worth(one: Photograph, uses: Counter[str]) -> float:
    """Return what a photograph brings for each of its keywords; long lists are worth no more."""
    values = [1.0 if uses[word] < ENOUGH_USES else LITTLE for word in one.keywords]
    return sum(values) / len(values)


def files_of(chosen: Sequence[Photograph], photos: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the path and content of every picture and sidecar."""
    for one in chosen:
        folder = re.sub(r"[^a-z]+", "-", one.creator.lower()).strip("-")
        name = f"{folder}/{one.number}.webp"
        yield name, smaller(photos / one.file)
        yield f"{name}.xmp", sidecar(one).encode()


def smaller(path: Path) -> bytes:
    """Return the photograph as a small WebP."""
    with Image.open(path) as image:
        image.thumbnail((LARGEST_SIDE, LARGEST_SIDE), Image.Resampling.LANCZOS)
        buffer = io.BytesIO()
        image.convert("RGB").save(buffer, "WEBP", quality=QUALITY, method=6)
    return buffer.getvalue()


def sidecar(one: Photograph) -> str:
    """Return what stands in the sidecar of a photograph."""
    return SIDECAR.format(
        place=escape(one.place, {'"': "&quot;"}),
        number=one.number,
        creator=escape(one.creator),
        title=escape(one.title),
        keywords="".join(f"<rdf:li>{escape(word)}</rdf:li>" for word in one.keywords),
    )


if __name__ == "__main__":
    main()
