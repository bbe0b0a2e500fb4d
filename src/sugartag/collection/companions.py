"""The files that an import or ``sugartag embed`` may write beside a collection's arrays."""

PROBLEMS = "errors.jsonl"
KNOWN_PICTURES = "files.jsonl"
HIERARCHY = "hierarchy.json"
VARIANTS = "variants.csv"
COMPANIONS = (PROBLEMS, KNOWN_PICTURES, HIERARCHY, VARIANTS)
