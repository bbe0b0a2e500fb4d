"""Planted worlds drawn at random, how good verdicts are in them, and the page's section."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from comparison.jobs import read_json
from comparison.tables import table, wrapped
from sugartag.collection.synthetic import World

FORMAT = "sugartag-drawn-worlds/1"
FILE, LARGER_FILE = "drawn-worlds.json", "drawn-worlds-larger.json"
DRAWING = 11
"""Keeps the random numbers that a world is drawn with apart from those that make its images."""
SIZES, VOCABULARIES, TOPICS = (2_000, 4_000, 8_000), (200, 300, 600), (8, 16, 24)
RANGES: Mapping[str, tuple[float, float]] = {
    "tags_per_image": (4.0, 9.0),
    "missing_share": (0.2, 0.65),
    "random_noise": (0.0, 2.5),
    "habits_per_owner": (0.0, 2.5),
    "habit_rate": (0.2, 0.7),
    "owner_style": (0.0, 1.0),
}
DIFFICULTY = (0.5, 4.0)
"""Between these, each doubling being as probable."""
SEEN_SHARE = 0.8
FEWEST_ADDED = 20
"""With fewer additions their precision says nothing."""
RIGHT = 0.8


def drawn_world(number: int, n_images: int | None = None) -> World:
    """Return the world of this number; how many images it has is drawn, too, if not given."""
    rng = np.random.default_rng([DRAWING, number])
    drawn_images, n_tags, n_topics = (
        int(rng.choice(some)) for some in (SIZES, VOCABULARIES, TOPICS)
    )
    n_images = n_images or drawn_images
    drawn = {name: round(float(rng.uniform(*ends)), 2) for name, ends in RANGES.items()}
    difficulty = float(np.exp(rng.uniform(*np.log(DIFFICULTY))))
    # A topic has at least twice as many tags as an image.
    most_topics = int(SEEN_SHARE * n_tags / (2.0 * drawn["tags_per_image"]))
    return World(
        n_images=n_images,
        n_tags=n_tags,
        n_owners=n_images // 10,
        n_groups=n_images // 50,
        n_topics=min(n_topics, most_topics),
        n_concepts=int(SEEN_SHARE * n_tags),
        visual_difficulty=round(difficulty, 2),
        **drawn,
    )


def _mean_of(runs: Sequence[Mapping[str, Any]], name: str) -> float:
    return float(np.nanmean([run[name] for run in runs]))


def summarised_worlds(runs: Sequence[Mapping[str, Any]]) -> dict[str, float | int]:
    """Return what is true of most worlds, and of all additions together."""
    added = [run["counts"] for run in runs if run["counts"]["added"] >= FEWEST_ADDED]
    precision = np.array([counts["rightly_added"] / counts["added"] for counts in added])
    counts = [run["counts"] for run in runs]
    total = {name: sum(one[name] for one in counts) for name in counts[0]}
    removing = np.array([run["remove_precision"] for run in runs], dtype=float)
    found: dict[str, float | int] = {
        "worlds": len(runs),
        "adding": len(added),
        "add_precision_of_all": total["rightly_added"] / max(total["added"], 1),
        "add_recall": float(np.mean([run["add_recall"] for run in runs])),
        "remove_precision": float(np.nanmean(removing)),
        "lowest_remove_precision": float(np.nanmin(removing)),
        "remove_recall": float(np.nanmean([run["remove_recall"] for run in runs])),
        "all_remove_precision": _mean_of(runs, "all_remove_precision"),
        "all_remove_recall": _mean_of(runs, "all_remove_recall"),
        "all_ece_given": _mean_of(runs, "all_ece_given"),
        "ece": float(np.mean([run["ece"] for run in runs])),
        "highest_ece": float(np.max([run["ece"] for run in runs])),
    }
    if added:
        found |= {
            "add_precision": float(precision.mean()),
            "lowest_add_precision": float(precision.min()),
            "adding_rightly": int(np.count_nonzero(precision >= RIGHT)),
        }
    return found


INTRODUCTION = """\
The three worlds above were looked at while the method was made. How far do verdicts hold
elsewhere? Here are {worlds} worlds that nobody chose: how many images, tags and topics there are,
what people leave out, slip and stamp on, and how much an image shows of its tags is drawn at
random for each ({missing} of the right tags are missing, up to {noise:g} wrong ones are given to
an image at random, and what tags do not explain of its looks is {easy:g} to {hard:g} times what
they do). Every world is fitted with all defaults and judged by its own truth. How recall and slips
are told was chosen in worlds of the same kind that were drawn with other numbers, but for two
things: how much higher than its mean the recall is taken, and how many times the wrong uses of the
best told tags others may have, was set after a look at worlds 2, 8, 20 and 22 of these."""
NOTE = """\
Where fewer than {fewest} tags are added their precision says nothing, and it is not counted."""


def drawn_section(results: Path) -> Iterator[str]:
    """Yield the section about drawn worlds, if they were measured."""
    files = [results / name for name in (FILE, LARGER_FILE)]
    documents = [read_json(file) for file in files if file.exists()]
    if documents:
        yield section_of(documents)


def section_of(documents: Sequence[Mapping[str, Any]]) -> str:
    """Return what result files say."""
    document, (low, high) = documents[0], RANGES["missing_share"]
    words = {
        "worlds": document["summary"]["worlds"],
        "missing": f"{low:.0%} to {high:.0%}".replace("%", " %"),
        "noise": RANGES["random_noise"][1],
        "easy": DIFFICULTY[0],
        "hard": DIFFICULTY[1],
        "fewest": FEWEST_ADDED,
    }
    machine = document["machine"]
    return "\n\n".join(
        [
            "## Verdicts in worlds drawn at random",
            wrapped(INTRODUCTION.format(**words)),
            _compared([(_sizes(one), one["summary"]) for one in documents]),
            wrapped(NOTE.format(**words)),
            f"[{document['method']}](methods/{document['method']}.md), measured on "
            f"{machine['cpu']}, {document['date']}.\n",
        ]
    )


def _sizes(document: Mapping[str, Any]) -> str:
    """Return how many images the worlds have."""
    sizes = sorted({run["world"]["n_images"] for run in document["runs"].values()})
    ends = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    return f"{document['summary']['worlds']} worlds of {ends} images"


def _compared(columns: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """Return a table with a column for each summary."""
    cells = [_cells(summary) for _, summary in columns]
    names = dict.fromkeys(name for some in cells for name in some)
    rows = [[name, *(some.get(name, "–") for some in cells)] for name in names]
    return table(["part", *(title for title, _ in columns)], rows)


def _cells(summary: Mapping[str, Any]) -> dict[str, str]:
    found = {"worlds in which tags are added": f"{summary['adding']} of {summary['worlds']}"}
    if summary["adding"]:
        rightly = f"{summary['adding_rightly']} of {summary['adding']}"
        found |= {
            "add precision, mean of these worlds": f"{summary['add_precision']:.3f}",
            "add precision, all additions together": f"{summary['add_precision_of_all']:.3f}",
            f"worlds with an add precision of {RIGHT:g} and more": rightly,
            "lowest add precision": f"{summary['lowest_add_precision']:.3f}",
        }
    return found | {
        "add recall, mean of all worlds": f"{summary['add_recall']:.3f}",
        "remove precision, mean": f"{summary['remove_precision']:.3f}",
        "lowest remove precision": f"{summary['lowest_remove_precision']:.3f}",
        "remove recall, mean": f"{summary['remove_recall']:.3f}",
        **_of_all(summary, "remove precision, all tags, mean", "all_remove_precision"),
        **_of_all(summary, "remove recall, all tags, mean", "all_remove_recall"),
        "ECE, mean": f"{summary['ece']:.3f}",
        "highest ECE": f"{summary['highest_ece']:.3f}",
        **_of_all(summary, "ECE, given, all tags, mean", "all_ece_given"),
    }


def _of_all(summary: Mapping[str, Any], title: str, name: str) -> dict[str, str]:
    """Return a cell about all tags; files made before these were judged have none."""
    return {title: f"{summary[name]:.3f}"} if name in summary else {}
