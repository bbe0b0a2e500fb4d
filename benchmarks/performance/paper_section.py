"""What the page says of ``bench paper-size``: its claims, and its tables."""

from performance.paper_size import EXACT, METHODS, OURS, RATES, TRUNCATED, UPDATES, PaperSize
from performance.record import CAPPED
from performance.words import SHOWN, Document, share_words, table, time_words
from sugartag.reproduce.stages import STAGE_NAMES

RATIO_WORDS = {
    "exact / 450 updates": (
        "The exact solver completes the tensor of {anchors} in {share} of the time of the paper's "
        "450 updates, set-up included."
    ),
    "sugar-plus / tag-vote-exact": "sugar-plus takes {times} the time of an exact vote.",
    "sugar-plus / tag-vote-usearch": "sugar-plus takes {times} the time of a vote by an index.",
    "sugar-plus / floor": (
        "sugar-plus takes {times} the time of the arithmetic and the reading that its closed form "
        "cannot do without."
    ),
}


def paper_size_claims(document: Document) -> list[str]:
    """Return a sentence for each ratio there is."""
    derived, settings = document["derived"], document["settings"]
    size = f"{settings['images']:,} images and {settings['tags']:,} tags"
    exact = document["entries"].get(EXACT, {})
    anchors = "{} anchor images and {} users".format(*exact.get("anchors", ("–", "–")))
    sentences = []
    for name, words in RATIO_WORDS.items():
        if name in derived["ratios"]:
            ratio = derived["ratios"][name]
            sentence = words.format(
                anchors=anchors, share=share_words(ratio), times=f"{ratio:.2f} times"
            )
            sentences.append(f"**{size}.** {sentence}")
    return sentences


def paper_size_section(document: Document) -> str:
    """Return the tables of methods, stages and the floor."""
    settings = document["settings"]
    full = all(settings[name] == getattr(PaperSize, name) for name in ("images", "tags", "owners"))
    parts = [
        f"A synthetic collection of {settings['images']:,} images, {settings['tags']:,} tags, "
        f"{settings['owners']:,} owners and {settings['features']} features, "
        f"{'as large as' if full else 'SMALLER THAN'} the paper's collection; "
        f"{settings['workers']} workers.",
        _methods_table(document),
        _extrapolations(document),
        "By stage, with the paper's own figures (its collection, 8 cores of 2.67 GHz); memory here "
        "is what the process held beyond its start:",
        _stages_table(document),
        _objective_words(document),
        _truncation_words(document),
        floor_words(document),
    ]
    return "\n\n".join(part for part in parts if part)


def _methods_table(document: Document) -> str:
    derived, entries = document["derived"], document["entries"]
    rows = []
    for name in METHODS:
        if name not in derived["stated"]:
            continue
        stated, entry = derived["stated"][name], entries[name]
        seconds = stated["seconds"]
        hours = derived["published"]["hours"].get(_method_of(name), {})
        rows.append(
            [
                SHOWN.get(name, name),
                f"over {time_words(stated['at_least'])}"
                if seconds is None
                else time_words(seconds),
                stated["how"],
                f"{'over ' * (entry['status'] == CAPPED)}{entry['peak_anonymous_mb']:,.0f} MB",
                f"{sum(hours.values()):.1f} h" if hours else "–",
            ]
        )
    return table(["method", "time", "how", "memory", "the paper's time"], rows, "lrlrr")


def _extrapolations(document: Document) -> str:
    lines = []
    for name, stated in document["derived"]["stated"].items():
        if "points" in stated:
            points = " and ".join(
                f"{time_words(seconds)} for {images:,.0f} images"
                for images, seconds in stated["points"]
            )
            lines.append(
                f"- {name} was ended after {time_words(stated['at_least'])}. Extrapolated from "
                f"{points}, with the power {stated['exponent']:.2f} of the images."
            )
    return "\n".join(lines)


def _stages_table(document: Document) -> str:
    derived, entries = document["derived"], document["entries"]
    published = derived["published"]
    names = [name for name in METHODS if "stages" in entries.get(name, {})]
    rows = []
    for stage, words in STAGE_NAMES.items():
        cells = [words]
        for name in names:
            here = entries[name]["stages"].get(stage)
            cells.append(
                "–" if here is None else f"{time_words(here['seconds'])} / {here['mb']:,.0f} MB"
            )
            hours = published["hours"].get(_method_of(name), {}).get(stage)
            memory = published["gigabytes"].get(_method_of(name), {}).get(stage)
            cells.append("–" if hours is None else f"{hours:g} h / {memory:g} GB")
        rows.append(cells)
    heads = ["stage"]
    for name in names:
        heads += [SHOWN.get(name, name), "published"]
    return table(heads, rows, "l" + "r" * (2 * len(names)))


def _objective_words(document: Document) -> str:
    both = document["derived"]["objectives"]
    if both is None:
        return ""
    lower = "is not above" if both["exact_is_lowest"] else "is ABOVE, which must not be,"
    return (
        f"The objective of the exact solver, {both['exact']:.6g}, {lower} that of the updates, "
        f"{both['multiplicative']:.6g} after {both['updates']} of them: it is the minimum over all "
        "tensors, theirs is over those without negative entries."
    )


def _truncation_words(document: Document) -> str:
    entry, ratio = (
        document["entries"].get(TRUNCATED, {}),
        document["derived"]["ratios"].get("truncated / exact"),
    )
    if ratio is None:
        return ""
    kept, gap = entry["asks"]["settings"]["tag_components"], entry["relative_gap"]
    bound = "has no bound" if gap is None else f"is at most {100 * gap:.2g} % above the lowest"
    return (
        f"With {kept:,} of {document['settings']['tags']:,} tag components, the others taken for "
        f"alike, the exact solver takes {ratio:.2f} of that time, and its objective {bound}."
    )


def floor_words(document: Document) -> str:
    """Return what ours takes of the time of its arithmetic, run by run."""
    floor = document["derived"]["floor"]
    if floor is None:
        return ""
    rates, runs = document["entries"][RATES], document["derived"]["stated"][OURS]["runs"]
    each = ", ".join(
        f"{time_words(seconds)} ({one['ratio']:.2f} times the floor at the rates around it; others "
        f"on the host took {one['stolen_seconds']:.1f} s of processor time)"
        for seconds, one in zip(runs, floor["runs"], strict=False)
    )
    return (
        f"{OURS} was run {len(runs)} times: {each}. "
        f"Its floor is {floor['flops'] / 1e12:.2f} Tflop, and "
        f"{rates['read']['bytes'] / 1e6:,.0f} MB of features to be read. At the rates around each "
        f"run, before the first {rates['gemm']['median_flops_per_second'] / 1e9:.0f} Gflop/s and "
        f"{rates['read']['bytes_per_second'] / 1e9:.1f} GB/s, that is "
        f"{time_words(floor['seconds'])} (median). Were all products as fast as the single fastest "
        f"one, it would be {floor['ratio_to_fastest']:.2f} times the floor."
    )


def _method_of(name: str) -> str:
    return "sugar-tc" if name in {EXACT, TRUNCATED, UPDATES} else name
