"""Sidecars as digiKam, Lightroom, darktable and Immich write them, with any keywords."""

from collections.abc import Sequence
from xml.sax.saxutils import escape

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
LEVELS = ("Places", "Europe")


def items(texts: Sequence[str], space: str) -> str:
    return "".join(f"{space}<rdf:li>{escape(text)}</rdf:li>" for text in texts)


def digikam(tags: Sequence[str], *, nested: bool = False) -> str:
    """Written through Exiv2: one description, attributes and elements mixed."""
    above = "/".join((*LEVELS, "")) if nested else ""
    paths = [f"{above}{tag}" for tag in tags]
    lists = (
        "   <digiKam:TagsList>\n    <rdf:Seq>"
        + items(["_Digikam_Internal_Tags_/Color Label None", *paths], "\n     ")
        + "\n    </rdf:Seq>\n   </digiKam:TagsList>\n"
        "   <dc:subject>\n    <rdf:Bag>" + items(tags, "\n     ") + "\n    </rdf:Bag>\n"
        "   </dc:subject>\n"
    )
    return (
        '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>\n'
        '<x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="XMP Core 4.4.0-Exiv2">\n'
        f' <rdf:RDF xmlns:rdf="{RDF}">\n'
        '  <rdf:Description rdf:about=""\n'
        '    xmlns:digiKam="http://www.digikam.org/ns/1.0/"\n'
        '    xmlns:dc="http://purl.org/dc/elements/1.1/"\n'
        '    xmlns:xmp="http://ns.adobe.com/xap/1.0/"\n'
        '   digiKam:PickLabel="0"\n   xmp:Rating="4">\n'
        f"{lists}"
        "  </rdf:Description>\n </rdf:RDF>\n</x:xmpmeta>\n"
        f'{" " * 40}\n<?xpacket end="w"?>'
    )


def lightroom(tags: Sequence[str], *, nested: bool = False) -> str:
    """Indented by three, develop settings as attributes, no digiKam fields."""
    above = "|".join((*LEVELS, "")) if nested else ""
    lists = ""
    for name, texts in (
        ("dc:subject", tags),
        ("lr:hierarchicalSubject", [f"{above}{tag}" for tag in tags]),
    ):
        if tags:
            lists += f"   <{name}>\n    <rdf:Bag>{items(texts, chr(10) + '     ')}\n"
            lists += f"    </rdf:Bag>\n   </{name}>\n"
    return (
        '<x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="Adobe XMP Core 5.6-c140">\n'
        f' <rdf:RDF xmlns:rdf="{RDF}">\n'
        '  <rdf:Description rdf:about=""\n'
        '    xmlns:crs="http://ns.adobe.com/camera-raw-settings/1.0/"\n'
        '    xmlns:dc="http://purl.org/dc/elements/1.1/"\n'
        '    xmlns:lr="http://ns.adobe.com/lightroom/1.0/"\n'
        '   crs:Exposure2012="+0.35" crs:RawFileName="a > b.nef">\n'
        f"{lists}"
        "   <crs:ToneCurvePV2012>\n    <rdf:Seq>\n     <rdf:li>0, 0</rdf:li>\n"
        "     <rdf:li>255, 255</rdf:li>\n    </rdf:Seq>\n   </crs:ToneCurvePV2012>\n"
        "  </rdf:Description>\n </rdf:RDF>\n</x:xmpmeta>\n"
    )


def darktable(tags: Sequence[str], *, nested: bool = False) -> str:
    """An XML declaration, a history of resources, its own tags among the hierarchical ones."""
    above = "|".join((*LEVELS, "")) if nested else ""
    paths = ["darktable|format|jpg", *(f"{above}{tag}" for tag in tags)]
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\r\n'
        '<x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="XMP Core 4.4.0-Exiv2">\r\n'
        f' <rdf:RDF xmlns:rdf="{RDF}">\r\n'
        '  <rdf:Description rdf:about=""\r\n'
        '    xmlns:dc="http://purl.org/dc/elements/1.1/"\r\n'
        '    xmlns:lr="http://ns.adobe.com/lightroom/1.0/"\r\n'
        '    xmlns:darktable="http://darktable.sf.net/"\r\n'
        '   darktable:xmp_version="5">\r\n'
        "   <dc:subject>\r\n    <rdf:Seq>" + items(tags, "\r\n     ") + "\r\n    </rdf:Seq>\r\n"
        "   </dc:subject>\r\n"
        "   <lr:hierarchicalSubject>\r\n    <rdf:Seq>"
        + items(paths, "\r\n     ")
        + "\r\n    </rdf:Seq>\r\n   </lr:hierarchicalSubject>\r\n"
        "   <darktable:history>\r\n    <rdf:Seq>\r\n"
        '     <rdf:li\r\n      darktable:num="0"\r\n      darktable:params="gz02eJx"/>\r\n'
        "    </rdf:Seq>\r\n   </darktable:history>\r\n"
        "  </rdf:Description>\r\n </rdf:RDF>\r\n</x:xmpmeta>\r\n"
    )


def immich(tags: Sequence[str], *, nested: bool = False) -> str:
    """Written through ExifTool: single quotes, a description for each namespace, padding."""
    above = "/".join((*LEVELS, "")) if nested else ""
    paths = [f"{above}{tag}" for tag in tags]
    listed = (
        "\n <rdf:Description rdf:about=''\n  xmlns:digiKam='http://www.digikam.org/ns/1.0/'>\n"
        "  <digiKam:TagsList>\n   <rdf:Seq>" + items(paths, "\n    ") + "\n   </rdf:Seq>\n"
        "  </digiKam:TagsList>\n </rdf:Description>\n"
    )
    return (
        "<?xpacket begin='\ufeff' id='W5M0MpCehiHzreSzNTczkc9d'?>\n"
        "<x:xmpmeta xmlns:x='adobe:ns:meta/' x:xmptk='Image::ExifTool 12.57'>\n"
        f"<rdf:RDF xmlns:rdf='{RDF}'>\n"
        + (listed if tags else "")
        + "\n <rdf:Description rdf:about=''\n  xmlns:exif='http://ns.adobe.com/exif/1.0/'>\n"
        "  <exif:GPSLatitude>52,31.1N</exif:GPSLatitude>\n </rdf:Description>\n"
        "</rdf:RDF>\n</x:xmpmeta>\n<?xpacket end='w'?>"
    )


STYLES = {"digiKam": digikam, "Lightroom": lightroom, "darktable": darktable, "Immich": immich}
