"""The page of performance says what the result files say, and what there is no file for."""

import json
import xml.etree.ElementTree as ElementTree

import pytest

import performance_page
from performance.page import found_documents, plots, render
from performance.paper_size import PaperSize
from performance.scaling import Scaling
from performance.scoring import Scoring
from performance.sections import scaling_section, scaling_series
from performance.solvers import Solvers
from performance.words import share_words, time_words

MACHINE = {
    "cpu": "some processor",
    "cores": 2,
    "memory_mb": 25_000,
    "python": "3.11",
    "numpy": "2",
    "sugartag": "0.1",
}


def document(bench, entries):
    return {
        "format": "sugartag-bench/1",
        "bench": bench.name,
        "machine": MACHINE,
        "date": "2026-01-02",
        "settings": json.loads(json.dumps(vars(bench))),
        "derived": json.loads(json.dumps(bench.derived(entries))),
        "entries": entries,
    }


def measured(**values):
    return {"status": "measured", "peak_anonymous_mb": 1234.0, "cpu_seconds": 4.0, **values}


def fitted(fit, score, **values):
    return measured(
        fit_seconds=fit, score_seconds=score, seconds=fit + score, share_scored=1.0, **values
    )


@pytest.fixture
def paper():
    stages = {"completion": {"seconds": 90.0, "mb": 16_000.0}}
    rates = {
        "gemm": {"flops_per_second": 2e11, "median_flops_per_second": 1e11},
        "read": {"bytes": 5e8, "bytes_per_second": 1e9},
    }
    point = {"counts": {"images": 4_000}, "seconds": 20.0}
    return document(
        PaperSize(fractions=(64, 32)),
        {
            "rates": measured(**rates),
            "rates, after": measured(**rates),
            "sugar-plus": fitted(80.0, 20.0, flops={"all": 4.95e12}, stolen_seconds=1.5),
            "sugar-tc-exact": fitted(100.0, 9.0, stages=stages, objective=5.0, anchors=[520, 500]),
            "sugar-tc-multiplicative": measured(
                setup_seconds=10.0, median_update_seconds=11.0, updates=7, objective=6.0
            ),
            "tag-vote-exact": fitted(1.0, 9.9) | {"share_scored": 0.1},
            "sugar-tc-truncated": fitted(
                60.0, 9.0, relative_gap=0.0321, asks={"settings": {"tag_components": 501}}
            ),
            "mrtf": measured(seconds=600.0, ended_by="time") | {"status": "capped"},
            "mrtf at 1/64": measured(**point),
            "mrtf at 1/32": measured(counts={"images": 8_000}, seconds=40.0),
        },
    )


@pytest.fixture
def scaling():
    return document(
        Scaling(images=(1000, 4000)),
        {
            f"sugar-plus {images}": fitted(
                fit, 1.0, counts={"images": images}, asks={"method": "sugar-plus"}
            )
            for images, fit in ((1000, 4.0), (4000, 14.0))
        },
    )


def test_the_page_is_what_the_result_files_say():
    assert performance_page.PAGE.read_text(encoding="utf-8") == performance_page.page()


def test_the_plots_are_what_the_result_files_say():
    for name, drawing in plots(found_documents(performance_page.RESULTS)).items():
        assert (performance_page.IMAGES / name).read_text(encoding="utf-8") == drawing


def test_without_results_every_section_says_so():
    page = render({})

    assert page.count("not measured yet.") == 4
    assert page.count("Not measured yet: `sugartag bench ") == 4
    assert "Nothing has been measured yet." in page


def test_claims_come_first_and_state_the_ratios(paper):
    page = render({"paper-size": paper})

    assert page.index("## Claims") < page.index("## At the paper's size") < page.index("## How it")
    # 100 s / (10 + 450 x 11) s; (80 + 20) s / (1 + 9.9 / 0.1) s; 100 s / (4.95e12 / 1e11 + 0.5) s
    assert "tensor of 520 anchor images and 500 users in 1/49 of the time" in page
    assert "With 501 of 5,018 tag components" in page
    assert "takes 0.60 of that time, and its objective is at most 3.2 % above the lowest" in page
    assert "sugar-plus takes 1.00 times the time of an exact vote" in page
    assert "sugar-plus takes 2.00 times the time of the arithmetic" in page


def test_what_other_machines_measured_is_told_apart(paper):
    other = paper | {"machine": {"cpu": "Another processor"}}
    other["derived"] = other["derived"] | {"ratios": {"sugar-plus / floor": 4.56}}

    page = render({"paper-size": paper}, elsewhere={"bench-paper-size-other.json": other})

    claims, rest = page.split("## At the paper's size")
    assert "4.56 times" not in claims
    told = rest.split("### The same on Another processor")[1].split("\n## ")[0]
    assert "4.56 times" in told
    assert "results/bench-paper-size-other.json" in told


def test_what_was_extrapolated_is_called_so_with_both_points(paper):
    page = render({"paper-size": paper})

    assert "| mrtf | 20.7 min | extrapolated | over 1,234 MB | 13.9 h |" in page
    assert "Extrapolated from 20.0 s for 4,000 images and 40.0 s for 8,000 images" in page
    assert "| tag-vote, exact | 1.7 min | scoring from a share of the images |" in page
    assert "| Tensor completion | 1.5 min / 16,000 MB | 1.2 h / 10.1 GB |" in page


def test_growth_is_claimed_from_a_quarter_to_the_whole(scaling):
    page = render({"scaling": scaling})

    assert "takes 3.00 times the time and 1.00 times the memory" in page
    assert "| sugar-plus | 4,000 | 14.0 s | 1.0 s | 3,750 µs | 1,234 MB |" in page
    assert page.count("](images/performance-") == 2


def test_what_was_fitted_only_to_compile_is_in_no_table(scaling):
    entry = next(iter(scaling["entries"].values()))
    more = scaling | {"entries": {"compiling": entry, **scaling["entries"]}}

    assert scaling_section(more) == scaling_section(scaling)
    assert scaling_series(more, "seconds") == scaling_series(scaling, "seconds")


def test_plots_are_drawings_that_stand_alone(scaling):
    drawn = plots({"scaling": scaling})

    assert set(drawn) == {"performance-time.svg", "performance-memory.svg"}
    for drawing in drawn.values():
        root = ElementTree.fromstring(drawing)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert root.get("width", "").isdigit()
        assert "4k" in drawing


def test_the_other_sections_have_their_tables():
    solver = {"seconds": 8.0, "steps": 3, "objective": 5.0, "relative_gap": None}
    solver["shape"] = [60, 20, 10]
    solvers = document(
        Solvers(),
        {
            "exact": measured(**solver),
            "multiplicative": measured(**solver) | {"cpu_seconds": 206.0},
            "exact, truncated": measured(**solver) | {"relative_gap": 0.0123},
        },
    )
    scoring = document(
        Scoring(methods=("sugar-plus", "tag-vote-usearch")),
        {
            "rates": measured(gemm={"flops_per_second": 1e9}),
            "sugar-plus": measured(
                images_per_second=100.0, flops_per_image=2e6, counts={"tags": 2000}
            ),
            "tag-vote-usearch": measured(images_per_second=50.0, flops_per_image=None),
        },
    )

    page = render({"solvers": solvers, "scoring": scoring})

    assert "1/51 of the processor time of 450 updates" in page
    assert "| 3 | 5 | – |" in page
    assert "| 3 | 5 | 1.2 % |" in page
    assert "sugar-plus scores 100 images a second for 2,000 tags: 20 % of" in page
    assert "| sugar-plus | 100 | 2.00 | 20 % |" in page
    assert "| tag-vote, usearch | 50 | – | – |" in page


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.0312, "0.031 s"), (1.26, "1.3 s"), (89.0, "89.0 s"), (600.0, "10.0 min"), (9e3, "2.5 h")],
)
def test_times_are_told_in_the_unit_that_reads_best(seconds, words):
    assert time_words(seconds) == words


def test_a_share_is_never_told_better_than_it_is():
    assert share_words(1 / 51.9) == "1/51"
    assert share_words(0.75) == "0.75"
