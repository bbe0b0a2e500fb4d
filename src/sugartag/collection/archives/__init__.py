"""Published collections and the exports of other tools, in the layout they come in."""

from sugartag.collection.archives.archive import Archive
from sugartag.collection.archives.formats import FORMATS, detected_format, open_archive

__all__ = ["FORMATS", "Archive", "detected_format", "open_archive"]
