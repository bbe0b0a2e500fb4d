"""The paper's statements, each held against what was found here."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from sugartag.reproduce.names import method_name

Verdict: TypeAlias = Literal["agrees", "differs", "partly"]
USERS = ("mrtf", "ttc1", "ttc2", "sugar-tc")
NO_USERS = ("trvsc", "lr", "nmc", "lslr")
FLAT = 0.01
"""A change of F that the eye takes for none."""
NOTHING = 0.002
"""A change of F that is none."""


def claims_of(experiments: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return every statement that can be checked with the experiments that were run."""
    found: list[dict[str, str]] = []
    for entry in experiments.values():
        check = _CHECKS.get(entry["kind"])
        if check is not None and "failed" not in entry["found"]:
            found += check(entry["found"], entry["published"])
    return found


def _claim(says: str, verdict: Verdict | bool, here: str) -> dict[str, str]:
    if isinstance(verdict, bool):
        verdict = "agrees" if verdict else "differs"
    return {"paper": says, "verdict": verdict, "here": here}


def _comparison(found: Mapping[str, Any], published: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    f = {
        name: row["tuned"]["f"]
        for name, row in found["methods"].items()
        if row["of_the_paper"] and "f" in row.get("tuned", {})
    }
    if not {"sugar-tc", "original", *USERS, *NO_USERS} <= set(f):
        return
    order = sorted(f, key=lambda name: -f[name])
    yield _claim(
        "SUGAR-TC has the highest average F of the nine methods.",
        order[0] == "sugar-tc",
        f"{method_name(order[0])} has, with {f[order[0]]:.3f}; SUGAR-TC has "
        f"{f['sugar-tc']:.3f}{_as_printed(found)} and is number {order.index('sugar-tc') + 1} of "
        f"{len(order)}.",
    )
    worse = [name for name in f if name != "original" and f[name] <= f["original"]]
    yield _claim(
        "Every retagging method is better than the tags as given.",
        not worse,
        f"The tags as given have {f['original']:.3f}; "
        + (f"not better: {_listed(worse)}." if worse else "all are better."),
    )
    weakest, strongest = min(USERS, key=f.__getitem__), max(NO_USERS, key=f.__getitem__)
    yield _claim(
        "MRTF, TTC1, TTC2 and SUGAR-TC, which know users, are better than TRVSC, LR, NMC and LSLR "
        "(in the paper's own table LSLR is above MRTF).",
        f[weakest] > f[strongest],
        f"The weakest of the first is {method_name(weakest)} with {f[weakest]:.3f}, the strongest "
        f"of the others {method_name(strongest)} with {f[strongest]:.3f}.",
    )
    yield _claim(
        "TTC2 is better than TTC1, and TTC1 than MRTF.",
        f["ttc2"] > f["ttc1"] > f["mrtf"],
        f"TTC2 {f['ttc2']:.3f}, TTC1 {f['ttc1']:.3f}, MRTF {f['mrtf']:.3f}.",
    )


def _as_printed(found: Mapping[str, Any]) -> str:
    """Say what SUGAR-TC has with its defaults, where tuning chose other settings."""
    row = found["methods"]["sugar-tc"]
    default = row.get("default", {})
    if not row["tuned"].get("settings") or "f" not in default:
        return ""
    return f" ({default['f']:.3f} with its defaults)"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(method_name, names))


def _concepts(found: Mapping[str, Any], published: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    count = len(found["concepts"])
    wins = found["best_on"]
    first = max(wins, key=lambda name: wins[name])
    champion = found["champion"]
    yield _claim(
        "SUGAR-TC has the highest F on most concepts.",
        wins[champion] > count / 2,
        f"On {wins[champion]} of {count}; most often highest is {method_name(first)}, on "
        f"{wins[first]}.",
    )
    above = {name: n for name, n in found["above_before"].items() if name != found["before"]}
    least = min(above, key=lambda name: above[name])
    yield _claim(
        "All methods improve almost all concepts.",
        above[least] >= 0.9 * count,
        f"{method_name(champion)} improves {above[champion]} of {count}; fewest are improved by "
        f"{method_name(least)}, {above[least]}.",
    )


def _retrieval(found: Mapping[str, Any], published: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    champion = found["champion"]
    rivals = [name for name in found["methods"] if name not in (champion, "sugar-plus")]
    if champion not in found["methods"] or not rivals:
        return
    curves = {name: found["methods"][name]["paper"]["map"] for name in (champion, *rivals)}
    wins = [
        all(curves[champion][at] > curves[name][at] for name in rivals)
        for at in range(len(found["lengths"]))
    ]
    last = len(found["lengths"]) - 1
    first = max(curves, key=lambda name: curves[name][last])
    verdict: Verdict = "agrees" if all(wins) else "partly" if any(wins) else "differs"
    yield _claim(
        "SUGAR-TC finds images by tag better than the others, at every length T.",
        verdict,
        f"It is best at {sum(wins)} of {len(wins)} lengths. At T = {found['lengths'][last]} MAP is "
        f"{curves[champion][last]:.3f}; highest is {method_name(first)} with "
        f"{curves[first][last]:.3f}.",
    )


def _cost(found: Mapping[str, Any], published: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    rows = {name: row["stages"] for name, row in found["methods"].items() if "stages" in row}
    if not set(USERS) <= set(rows):
        return
    seconds = {name: sum(one["seconds"] for one in row.values()) for name, row in rows.items()}
    peak = {name: max(one["mb"] for one in row.values()) for name, row in rows.items()}
    fastest = min(seconds, key=lambda name: seconds[name])
    yield _claim(
        "SUGAR-TC takes the least time of the four.",
        fastest == "sugar-tc",
        "Seconds: " + ", ".join(f"{method_name(name)} {seconds[name]:.1f}" for name in rows) + ".",
    )
    yield _claim(
        "SUGAR-TC takes more memory than TTC1 and TTC2 and less than MRTF.",
        max(peak["ttc1"], peak["ttc2"]) < peak["sugar-tc"] < peak["mrtf"],
        "Peak MB: " + ", ".join(f"{method_name(name)} {peak[name]:.0f}" for name in rows) + ".",
    )


def _sensitivity(
    found: Mapping[str, Any], published: Mapping[str, Any]
) -> Iterator[dict[str, str]]:
    for sweep in found["sweeps"]:
        points = {point["value"]: point for point in sweep["points"] if "f" in point}
        said = published.get("best", {}).get(sweep["setting"])
        if said is None or sweep["best"] is None:
            continue
        symbol, best = sweep["symbol"], sweep["best"]
        spread = [points[value]["f"] for value in points]
        here = (
            f"Best is {best:g}, F {points[best]['f']:.3f}; over all values F lies between "
            f"{min(spread):.3f} and {max(spread):.3f}."
        )
        if max(spread) - min(spread) <= NOTHING:
            yield _claim(f"{symbol} = {said:g} is best.", "partly", f"{here} It does not matter.")
            continue
        near = said in points and points[best]["f"] - points[said]["f"] <= FLAT
        verdict: Verdict = "agrees" if best == said else "partly" if near else "differs"
        if verdict == "partly":
            here += f" At {said:g} it is {points[said]['f']:.3f}, as good as that."
        yield _claim(f"{symbol} = {said:g} is best.", verdict, here)
        if (ends := published.get("flat", {}).get(sweep["setting"])) is not None:
            inside = [points[value]["f"] for value in points if ends[0] <= value <= ends[1]]
            if len(inside) < 2:
                continue
            width = max(inside) - min(inside)
            yield _claim(
                f"From {symbol} = {ends[0]} to {ends[1]} F changes slightly.",
                width <= FLAT,
                f"There it changes by {width:.3f}.",
            )


def _convergence(
    found: Mapping[str, Any], published: Mapping[str, Any]
) -> Iterator[dict[str, str]]:
    stops = found["stops_after"]
    said = published.get("iterations")
    if said is None:
        return
    here = f"The rule stops after {stops} updates" if stops else "The rule does not stop in time"
    if stops and found["left_to_gain"] is not None:
        more = len(found["objectives"]) - 1
        here += f"; going on to {more} lowers the objective by another {found['left_to_gain']:.2%}"
    close = stops is not None and abs(stops - said) <= 0.2 * said
    yield _claim(
        f"It converges after about {said} updates (relative change below {found['tolerance']:g}).",
        close,
        here + ".",
    )
    yield _claim(
        "The objective never rises.",
        found["rises"] == 0,
        f"It rose {found['rises']} times in {len(found['objectives']) - 1} updates.",
    )


_CHECKS: Mapping[str, Any] = {
    "comparison": _comparison,
    "concepts": _concepts,
    "retrieval": _retrieval,
    "cost": _cost,
    "sensitivity": _sensitivity,
    "convergence": _convergence,
}
