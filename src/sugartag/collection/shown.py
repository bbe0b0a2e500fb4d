"""A collection in a line, and as a small table for notebooks."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sugartag.collection.model import Collection

ROWS_SHOWN = 5
TAGS_SHOWN = 8


def in_short(collection: "Collection") -> str:
    """Return how much of everything there is."""
    features = collection.n_features
    parts = [
        counted(collection.n_images, "image"),
        counted(collection.n_tags, "tag"),
        counted(collection.n_owners, "owner"),
        *([counted(collection.n_groups, "group")] if collection.n_groups else []),
        f"{features:,} features each" if features else "no features",
        *([counted(len(collection.concept_names), "true concept")] if collection.has_truth else []),
    ]
    return ", ".join(parts)


def as_html(collection: "Collection") -> str:
    """Return the counts and the first images as HTML."""
    rows = []
    block = slice(0, min(ROWS_SHOWN, collection.n_images))
    tags, owners = collection.tags_of(block), collection.owner[block]
    for row, (image, owner) in enumerate(zip(collection.ids[block], owners.tolist(), strict=True)):
        own = tags.indices[tags.indptr[row] : tags.indptr[row + 1]].tolist()
        names = [collection.tag_names[tag] for tag in own]
        more = f", … ({len(names)})" if len(names) > TAGS_SHOWN else ""
        who = collection.owner_names[owner] if owner < collection.nobody else ""
        rows.append((image, who, ", ".join(names[:TAGS_SHOWN]) + more))
    return f"<p>{escape(in_short(collection))}</p>" + html_table(
        ("image_id", "owner", "tags"), rows
    )


def html_table(names: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Return a table, every text escaped."""
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def counted(number: int, word: str) -> str:
    """Return a count with its word: ``1 image``, ``2 images``."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"
