"""Keywords, creators and titles, from the metadata of pictures and the files beside them."""
