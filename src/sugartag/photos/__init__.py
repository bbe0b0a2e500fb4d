"""A folder of photographs, from the files on disk to suggestions, in one go."""

from sugartag.photos.asked import Photos
from sugartag.photos.run import retag_photos

__all__ = ["Photos", "retag_photos"]
