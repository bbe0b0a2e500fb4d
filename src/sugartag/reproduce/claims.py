"""The paper's statements, each held against what was found here.

A verdict respects its interval: where the interval of a difference holds 0, nothing is decided.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from sugartag.reproduce.experiments import method_name
from sugartag.reproduce.findings import KNOW_NO_USERS, KNOW_USERS

Verdict: TypeAlias = Literal["agrees", "contradicts", "undecided"]
Found: TypeAlias = Mapping[str, Any]
VERDICTS: Mapping[Verdict, str] = {
    "agrees": "agrees",
    "contradicts": "contradicts",
    "undecided": "cannot be distinguished",
}
"""How verdicts are written."""
FLAT = 0.01
"""A change of F that the eye takes for none."""
ALMOST_ALL = 0.9
NEAR = 0.2
"""A number of updates this share away from the paper's is "about" the same."""
MEMORY = "SUGAR-TC takes more memory than TTC1 and TTC2 and less than MRTF."


def claims_of(experiments: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return every statement that can be checked with the experiments that were run."""
    return [
        {"paper": says, "verdict": verdict, "here": here, "on": entry["on"]}
        for entry in experiments.values()
        if "failed" not in entry["found"] and entry["kind"] in _CHECKS
        for says, verdict, here in _CHECKS[entry["kind"]](entry["found"], entry["published"])
    ]


def gap_between(found: Found, one: str, other: str) -> Found:
    """Return how far the F of one method lies above that of another."""
    if other in found["above"].get(one, {}):
        gap: Found = found["above"][one][other]
        return gap
    there = found["above"][other][one]
    low, high = there["interval"]
    return {"f": -there["f"], "interval": [-high, -low]}


def above(gap: Found, level: float = 0.0) -> Verdict:
    """Tell whether a difference is above a level, below it, or neither for sure."""
    return over(gap["interval"], level)


def over(interval: Sequence[float], level: float) -> Verdict:
    """Tell whether what an interval holds is above a level."""
    low, high = interval
    return "agrees" if low > level else "contradicts" if high < level else "undecided"


def together(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict on all of several statements: one that is wrong is enough."""
    found = set(verdicts)
    if "contradicts" in found:
        return "contradicts"
    return "undecided" if "undecided" in found else "agrees"


def signed(gap: Found) -> str:
    """Return a difference in words."""
    low, high = gap["interval"]
    return f"{gap['f']:+.3f} ({low:+.3f} to {high:+.3f})"


Claims: TypeAlias = Iterator[tuple[str, Verdict, str]]


def _comparison(found: Found, published: Found) -> Claims:
    rows = found["methods"]
    f = {
        name: row["tuned"]["f"]
        for name, row in rows.items()
        if row["of_the_paper"] and "f" in row.get("tuned", {})
    }
    if not {"sugar-tc", "original", *KNOW_USERS, *KNOW_NO_USERS} <= set(f):
        return
    others = sorted((name for name in f if name != "sugar-tc"), key=lambda name: -f[name])
    gaps = {name: gap_between(found, "sugar-tc", name) for name in others}
    yield (
        "SUGAR-TC has the highest average F of the nine methods.",
        together(above(gap) for gap in gaps.values()),
        f"SUGAR-TC has {f['sugar-tc']:.3f}, as tuned. {_split(gaps)}{_by_the_oracle(rows)}",
    )
    better = {name: gap_between(found, name, "original") for name in f if name != "original"}
    yield (
        "Every retagging method is better than the tags as given.",
        together(above(gap) for gap in better.values()),
        f"The tags as given have {f['original']:.3f}. "
        + _sorted_words(better, "better", "worse", "not to be told apart"),
    )
    yield from _of_users(found, rows)
    steps = gap_between(found, "ttc2", "ttc1"), gap_between(found, "ttc1", "mrtf")
    yield (
        "TTC2 is better than TTC1, and TTC1 than MRTF.",
        together(map(above, steps)),
        f"TTC2 less TTC1: {signed(steps[0])}; TTC1 less MRTF: {signed(steps[1])}.",
    )


def _by_the_oracle(rows: Found) -> str:
    """Say which place it has where settings are chosen by the truth, as the paper chose them."""
    f = {
        name: row["oracle"]["f"]
        for name, row in rows.items()
        if row["of_the_paper"] and "f" in row.get("oracle", {})
    }
    if "sugar-tc" not in f:
        return ""
    place = 1 + sum(value > f["sugar-tc"] for value in f.values())
    return f" By the oracle it has {f['sugar-tc']:.3f} and is number {place} of {len(f)}."


def _of_users(found: Found, rows: Found) -> Claims:
    pairs = [gap_between(found, one, other) for one in KNOW_USERS for other in KNOW_NO_USERS]
    counts = {verdict: sum(above(gap) == verdict for gap in pairs) for verdict in VERDICTS}
    yield (
        "MRTF, TTC1, TTC2 and SUGAR-TC, which know users, are each better than TRVSC, LR, NMC and "
        "LSLR (in the paper's own table LSLR is above MRTF).",
        together(map(above, pairs)),
        f"Of the {len(pairs)} pairs {counts['agrees']} agree, {counts['contradicts']} contradict, "
        f"{counts['undecided']} cannot be distinguished.",
    )
    groups = found["users_above_others"]
    yield (
        "On average, methods that know users are better than those that do not.",
        above(groups),
        f"The mean F of the four less that of the other four: {signed(groups)}.",
    )
    for name, row in rows.items():
        if gain := row.get("gain_by_owners"):
            yield (
                f"User information helps {method_name(name)}.",
                above(gain),
                f"F is {row['owners_shuffled']['f']:.3f} with the owners shuffled among the "
                f"images; the true owners change it by {signed(gain)}.",
            )


def _split(gaps: Mapping[str, Found]) -> str:
    return _sorted_words(gaps, "Above", "below", "not to be told apart from", first=True)


def _sorted_words(
    gaps: Mapping[str, Found], yes: str, no: str, neither: str, *, first: bool = False
) -> str:
    """Say which differences are above 0, which below and which neither."""
    words = {"agrees": yes, "contradicts": no, "undecided": neither}
    parts = []
    for verdict, word in words.items():
        if names := [method_name(name) for name, gap in gaps.items() if above(gap) == verdict]:
            listed = ", ".join(names)
            parts.append(f"{word} {listed}" if first else f"{word}: {listed}")
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def _concepts(found: Found, published: Found) -> Claims:
    count, champion = len(found["concepts"]), found["champion"]
    wins = found["best_on"]
    first = max(wins, key=lambda name: wins[name])
    yield (
        "SUGAR-TC has the highest F on most concepts.",
        over(found["shares_best"][champion], 0.5),
        f"On {wins[champion]} of {count}; most often highest is {method_name(first)}, on "
        f"{wins[first]}.",
    )
    better = {name: n for name, n in found["above_before"].items() if name != found["before"]}
    least = min(better, key=lambda name: better[name])
    yield (
        "All methods improve almost all concepts.",
        together(over(found["shares_above"][name], ALMOST_ALL) for name in better),
        f"{method_name(champion)} improves {better[champion]} of {count}; fewest are improved by "
        f"{method_name(least)}, {better[least]}. Almost all: {ALMOST_ALL:.0%}.",
    )


def _retrieval(found: Found, published: Found) -> Claims:
    champion, lengths = found["champion"], found["lengths"]
    rivals = {
        name: ways["paper"]
        for name, ways in found["champion_above"].items()
        if name != "sugar-plus"
    }  # fmt: skip
    if not rivals:
        return
    by_length = [
        together(over(curve["intervals"][at], 0.0) for curve in rivals.values())
        for at in range(len(lengths))
    ]
    curves = {name: found["methods"][name]["paper"]["map"] for name in (champion, *rivals)}
    first = max(curves, key=lambda name: curves[name][-1])
    yield (
        "SUGAR-TC finds images by tag better than the others, at every length T.",
        together(by_length),
        f"Above all others at {by_length.count('agrees')} of {len(lengths)} lengths, below one at "
        f"{by_length.count('contradicts')}. At T = {lengths[-1]} MAP is "
        f"{curves[champion][-1]:.3f}; highest is {method_name(first)} with "
        f"{curves[first][-1]:.3f}.",
    )


def _cost(found: Found, published: Found) -> Claims:
    rows = {name: row for name, row in found["methods"].items() if "stages" in row}
    if not set(KNOW_USERS) <= set(rows):
        return
    others = [name for name in rows if name != "sugar-tc"]
    repeats = len(rows["sugar-tc"]["totals"])
    yield (
        "SUGAR-TC takes the least time of the four.",
        together(_less(rows["sugar-tc"]["totals"], rows[name]["totals"]) for name in others),
        f"Processor seconds, lowest to highest of {repeats} runs: {_ranges(rows, 'totals', 1)}.",
    )
    order = (("ttc1", "sugar-tc"), ("ttc2", "sugar-tc"), ("sugar-tc", "mrtf"))
    yield (
        MEMORY,
        together(_less(rows[less]["peaks"], rows[more]["peaks"]) for less, more in order),
        f"Peak MB: {_ranges(rows, 'peaks', 0)}.",
    )


def _less(one: Sequence[float], other: Sequence[float]) -> Verdict:
    """Tell whether one of two costs is less; where their ranges overlap nobody knows."""
    return over([min(other) - max(one), max(other) - min(one)], 0.0)


def _ranges(rows: Mapping[str, Found], key: str, digits: int) -> str:
    return ", ".join(
        f"{method_name(name)} {min(row[key]):.{digits}f} to {max(row[key]):.{digits}f}"
        for name, row in rows.items()
    )


def _sensitivity(found: Found, published: Found) -> Claims:
    for sweep in found["sweeps"]:
        points = {point["value"]: point for point in sweep["points"] if "f" in point}
        said, symbol, best = (
            published.get("best", {}).get(sweep["setting"]),
            sweep["symbol"],
            sweep["best"],
        )
        if said not in points or len(points) < 2:
            continue
        gaps = [point["said_above"] for value, point in points.items() if value != said]
        spread = [point["f"] for point in points.values()]
        here = (
            f"Highest at {best:g}, F {points[best]['f']:.3f}; F lies between {min(spread):.3f} and "
            f"{max(spread):.3f}, and is {points[said]['f']:.3f} at {said:g}."
        )
        yield (f"{symbol} = {said:g} is best.", together(map(above, gaps)), here)
        if (widest := sweep.get("widest")) is not None:
            low, high = published["flat"][sweep["setting"]]
            yield (
                f"From {symbol} = {low} to {high} F changes slightly.",
                over([FLAT - end for end in reversed(widest["interval"])], 0.0),
                f"There it changes by {signed(widest)}. Slightly: {FLAT:g} at most.",
            )


def _convergence(found: Found, published: Found) -> Claims:
    said = published.get("iterations")
    for label, one in found["variants"].items():
        if said is None or "failed" in one:
            continue
        stops, updates = one["stops_after"], len(one["falls"])
        here = f"The rule holds first after {stops}" if stops else "The rule does not hold within"
        here += f" {'of ' if stops else ''}{updates} updates"
        beside = "above" if one["last"] > one["nothing"] else "below"
        yield (
            f"It converges after about {said} updates ({label}; relative change below "
            f"{found['tolerance']:g}).",
            "agrees" if stops and abs(stops - said) <= NEAR * said else "contradicts",
            f"{here}. After all of them the objective is {one['last'] / one['lowest']:.2f} times "
            f"the lowest possible, and {beside} that of a tensor of zeros.",
        )
        yield (
            f"The objective never rises ({label}).",
            "agrees" if one["rises"] == 0 else "contradicts",
            f"It rose {one['rises']} times in {updates} updates.",
        )


_CHECKS: Mapping[str, Any] = {
    "comparison": _comparison,
    "concepts": _concepts,
    "retrieval": _retrieval,
    "cost": _cost,
    "sensitivity": _sensitivity,
    "convergence": _convergence,
}
