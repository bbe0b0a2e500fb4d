"""The names that XMP gives to what is read here, and to what sidecars are written with."""

X = "adobe:ns:meta/"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XML = "http://www.w3.org/XML/1998/namespace"
DC = "http://purl.org/dc/elements/1.1/"
XMP = "http://ns.adobe.com/xap/1.0/"
TIFF = "http://ns.adobe.com/tiff/1.0/"
DIGIKAM = "http://www.digikam.org/ns/1.0/"
LIGHTROOM = "http://ns.adobe.com/lightroom/1.0/"
MICROSOFT_PHOTO = "http://ns.microsoft.com/photo/1.0/"

PREFIXES = {
    "x": X,
    "rdf": RDF,
    "xml": XML,
    "dc": DC,
    "xmp": XMP,
    "tiff": TIFF,
    "digiKam": DIGIKAM,
    "lr": LIGHTROOM,
    "MicrosoftPhoto": MICROSOFT_PHOTO,
}
"""The prefix that each namespace is customarily given."""

OTHER_SPELLINGS = {
    "http://ns.microsoft.com/photo/1.0": MICROSOFT_PHOTO,
    "http://www.digikam.org/ns/1.0": DIGIKAM,
}
"""Namespaces as some programs wrote them."""

DIGIKAM_TAGS = "digiKam:TagsList"
LIGHTROOM_SUBJECT = "lr:hierarchicalSubject"
DC_SUBJECT = "dc:subject"
MICROSOFT_KEYWORDS = "MicrosoftPhoto:LastKeywordXMP"

SEPARATORS = {
    DIGIKAM_TAGS: "/",
    LIGHTROOM_SUBJECT: "|",
    MICROSOFT_KEYWORDS: "/",
    DC_SUBJECT: None,
}
"""The properties that hold keywords, in the order they are read, and what parts their levels."""
