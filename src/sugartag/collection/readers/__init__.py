"""From tables that people have to a collection folder."""

from sugartag.collection.readers.importer import ImportSummary, Sources, import_collection

__all__ = ["ImportSummary", "Sources", "import_collection"]
