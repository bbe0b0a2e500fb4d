"""Write docs/performance.md and its plots from the files of ``sugartag bench`` that there are.

Result files are benchmarks/results/bench-NAME.json, and bench-paper-size-MACHINE.json of other
machines. The text about a billion images is taken from
docs/performance-billion.md, if that is there.
"""

from pathlib import Path

from sugartag.bench.page import found_documents, found_elsewhere, plots, render

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "performance.md"
BILLION = ROOT / "docs" / "performance-billion.md"
IMAGES = ROOT / "docs" / "images"


def page() -> str:
    """Return the page as it must be."""
    billion = BILLION.read_text(encoding="utf-8") if BILLION.exists() else None
    elsewhere = found_elsewhere(RESULTS)
    return render(found_documents(RESULTS), elsewhere=elsewhere, billion=billion)


def main() -> None:
    """Write the page and its plots anew."""
    PAGE.write_text(page(), encoding="utf-8")
    for name, drawing in plots(found_documents(RESULTS)).items():
        (IMAGES / name).write_text(drawing, encoding="utf-8")
    print(f"written: {PAGE}")


if __name__ == "__main__":
    main()
