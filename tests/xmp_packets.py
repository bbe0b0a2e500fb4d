"""XMP packets as photo programs write them, for tests."""

from xml.sax.saxutils import escape

NAMESPACES = {
    "dc": "http://purl.org/dc/elements/1.1/",
    "xmp": "http://ns.adobe.com/xap/1.0/",
    "tiff": "http://ns.adobe.com/tiff/1.0/",
    "digiKam": "http://www.digikam.org/ns/1.0/",
    "lr": "http://ns.adobe.com/lightroom/1.0/",
    "MicrosoftPhoto": "http://ns.microsoft.com/photo/1.0/",
}


def bag(name: str, items: list[str], container: str = "Bag") -> str:
    """Return a property that is a list."""
    inner = "".join(f"<rdf:li>{escape(item)}</rdf:li>" for item in items)
    return f"<{name}><rdf:{container}>{inner}</rdf:{container}></{name}>"


def packet(*properties: str, attributes: str = "", before: str = "") -> bytes:
    """Return a whole packet around the properties given."""
    names = " ".join(f'xmlns:{prefix}="{name}"' for prefix, name in NAMESPACES.items())
    return (
        f'{before}<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>'
        '<x:xmpmeta xmlns:x="adobe:ns:meta/">'
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        f'<rdf:Description rdf:about="" {names} {attributes}>{"".join(properties)}'
        '</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>'
    ).encode()
