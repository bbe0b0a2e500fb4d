"""Put the numbers of a run of ``sugartag reproduce`` into docs/reproduce.md.

Copy the run's results.json to benchmarks/results/reproduce.json first. The text of the page is
written by hand; its tables are not, and a test fails when they differ from the file.
"""

import json
from pathlib import Path

from sugartag.reproduce.markdown import refreshed

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "reproduce.json"
PAGE = ROOT / "docs" / "reproduce.md"


def main() -> None:
    """Write the page anew."""
    document = json.loads(RESULTS.read_text(encoding="utf-8"))
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8"), document), encoding="utf-8")
    print(f"written: {PAGE}")


if __name__ == "__main__":
    main()
