"""From a folder of photographs to a collection folder."""

from sugartag.collection.folders.importing import (
    FolderSources,
    FolderSummary,
    import_folder,
    is_up_to_date,
    read_hierarchy,
)
from sugartag.collection.folders.owners import owner_rule

__all__ = [
    "FolderSources",
    "FolderSummary",
    "import_folder",
    "is_up_to_date",
    "owner_rule",
    "read_hierarchy",
]
