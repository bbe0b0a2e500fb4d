"""What is claimed of photographs holds in the committed measurements."""

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
FEATURES_PAGE = Path(__file__).parents[2] / "docs" / "features.md"


def result(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / name).read_text(encoding="utf-8"))
    return found


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def test_embed_has_three_quarters_of_the_bare_throughput_in_every_round() -> None:
    shares = [one["share"] for one in result("embed-speed.json")["rounds"]]

    assert len(shares) >= 5
    assert min(shares) >= 0.75


def test_the_page_shows_the_median_and_the_range_that_were_measured() -> None:
    found, page = result("embed-speed.json"), FEATURES_PAGE.read_text(encoding="utf-8")
    share, rounds = found["share_of_bare_throughput"], found["rounds"]
    used = [one["processor_share"] for one in rounds]

    for median, least, most in (
        (share["median"], share["least"], share["most"]),
        (found["share_of_processor_time"], min(used), max(used)),
    ):
        assert f"| {percent(median)} | {percent(least)} to {percent(most)} |" in page


def test_the_shipped_encoder_gives_the_features_that_others_gave_the_photographs() -> None:
    found = result("embed-accuracy.json")

    assert found["images"] == 1237
    assert found["cosine_with_given_features"]["mean"] > 0.97


def test_photographs_take_less_than_four_minutes_and_kills_change_nothing() -> None:
    found = result("photos.json")

    assert found["photographs"] == 1237
    assert found["machine"]["cores"] == 2
    assert found["seconds"] < 240
    assert found["killed_by"] == [-9, -9]
    assert found["same_result"] == {"changes.csv": True, "collection": True, "model": True}
