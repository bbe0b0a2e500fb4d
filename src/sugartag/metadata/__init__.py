"""Keywords, creators and titles, from the metadata of pictures and the files beside them."""

from sugartag.metadata.keywords import Keyword, Metadata
from sugartag.metadata.reading import read_metadata

__all__ = ["Keyword", "Metadata", "read_metadata"]
