"""Experiments small enough to be run in tests, and the collection they are run on."""

from pathlib import Path

TABLE = """
order = 1
kind = "comparison"
paper = "Table 1"
title = "Average F"
summary = "Average F."
[options]
methods = ["original", "tag-vote"]
beyond = ["linear-probe"]
with_owners = ["tag-vote"]
trials = 2
replicates = 20
seeds = 2
[published.f]
original = 0.379
"""
CONCEPTS = """
order = 2
kind = "concepts"
paper = "Figure 3"
title = "F of each concept"
summary = "F of each concept."
[options]
champion = "linear-probe"
runner_up = "tag-vote"
before = "original"
marked = 3
"""
RETRIEVAL = """
order = 3
kind = "retrieval"
paper = "Figure 6"
title = "Images found by tag"
summary = "MAP by T."
[options]
methods = ["original", "linear-probe"]
queries = ["dog", "sunset", "zoo"]
lengths = [5, 50]
champion = "linear-probe"
"""
CLUSTERS = """
order = 5
kind = "sensitivity"
paper = "Figure 5a"
title = "Image clusters"
summary = "F by C_i."
[options]
method = "sugar-tc"
seeds = 2
replicates = 20
settings = { user_clusters = 2, units_per_cluster = 1, max_iterations = 5 }
[[options.sweeps]]
setting = "image_clusters"
symbol = "C_i"
values = [4, 6]
[published]
best = { image_clusters = 6 }
"""
SHARE = """
order = 6
kind = "sensitivity"
paper = "Figure 5e"
title = "The share"
summary = "F by γ."
[options]
method = "sugar-tc"
replicates = 20
settings = { image_clusters = 4, user_clusters = 2, units_per_cluster = 1, max_iterations = 5 }
[[options.sweeps]]
setting = "image_share"
symbol = "γ"
values = [0.0, 1.0]
[published]
best = { image_share = 1.0 }
"""


def write_experiments(folder: Path, **texts: str) -> Path:
    """Write experiment files, those above unless others are given."""
    folder.mkdir(parents=True, exist_ok=True)
    files = texts or {
        "table-1": TABLE,
        "concepts": CONCEPTS,
        "retrieval": RETRIEVAL,
        "clusters": CLUSTERS,
        "share": SHARE,
    }
    for name, text in files.items():
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return folder
