"""Write docs/performance.md and its plots from the files of ``sugartag bench`` that there are.

Result files are benchmarks/results/bench-NAME.json, and bench-paper-size-MACHINE.json of other
machines.
"""

from pathlib import Path

from performance.page import found_documents, found_elsewhere, plots, render

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "performance.md"
IMAGES = ROOT / "docs" / "images"


def page() -> str:
    """Return the page as it must be."""
    return render(found_documents(RESULTS), elsewhere=found_elsewhere(RESULTS))


def main() -> None:
    """Write the page and its plots anew."""
    PAGE.write_text(page(), encoding="utf-8")
    for name, drawing in plots(found_documents(RESULTS)).items():
        (IMAGES / name).write_text(drawing, encoding="utf-8")
    print(f"written: {PAGE}")


if __name__ == "__main__":
    main()
