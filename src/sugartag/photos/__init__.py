"""A folder of photographs, from the files on disk to suggestions, in one go."""

from sugartag.photos.run import Photos, retag_photos

__all__ = ["Photos", "retag_photos"]
