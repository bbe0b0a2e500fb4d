"""XMP packets, read by a parser that refuses everything that a packet does not need.

A document type, and with it every entity, is refused before it is looked at; size, depth and the
number of elements are bounded. Only the properties that hold keywords, creator, title and rating
are kept.
"""

from dataclasses import dataclass, field
from xml.parsers import expat

from sugartag.metadata.keywords import MAX_KEYWORDS, Metadata, keywords_of
from sugartag.metadata.namespaces import OTHER_SPELLINGS, PREFIXES, SEPARATORS

MAX_PACKET_BYTES = 8 << 20
MAX_ELEMENTS = 100_000
MAX_DEPTH = 64
MAX_TEXT_CHARACTERS = 10_000
"""Of one property or list item; the rest of a longer one is left out."""
_CHUNK_BYTES = 1 << 16
_SEPARATOR = " "

_SINGLE = ("dc:creator", "dc:title", "tiff:Artist", "xmp:Rating")
_OLD_NAMES = {"lr:HierarchicalSubject": "lr:hierarchicalSubject"}
_WANTED = frozenset((*SEPARATORS, *_SINGLE))
_TOP = ("rdf:RDF", "rdf:Description")
_PREFIX_OF = {
    **{namespace: prefix for prefix, namespace in PREFIXES.items()},
    **{
        old: prefix
        for old, new in OTHER_SPELLINGS.items()
        for prefix in PREFIXES
        if PREFIXES[prefix] == new
    },
}


class XmpError(ValueError):
    """A packet is refused; the message says why."""


def read_xmp(packet: bytes) -> Metadata:
    """Return what a packet says; one that cannot be read says only which problem it has."""
    try:
        return _metadata(xmp_properties(packet))
    except XmpError as error:
        return Metadata(problems=(f"XMP: {error}",))


def xmp_properties(packet: bytes) -> dict[str, list[str]]:
    """Return the texts of each property that is read here, by its customary name.

    A property that is a list gives its items; an alternative gives its default language first.
    Raises :class:`XmpError` for a packet that is not well-formed or is refused.
    """
    if len(packet) > MAX_PACKET_BYTES:
        raise XmpError(f"{len(packet):,} bytes, more than {MAX_PACKET_BYTES:,}; it was not read")
    walk = _Walk()
    parser = expat.ParserCreate(namespace_separator=_SEPARATOR)
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse_document_type
    parser.EntityDeclHandler = _refuse_document_type
    parser.StartElementHandler = walk.start
    parser.EndElementHandler = walk.end
    parser.CharacterDataHandler = walk.text
    try:
        view = memoryview(_unpadded(packet))
        for start in range(0, len(view), _CHUNK_BYTES):
            parser.Parse(bytes(view[start : start + _CHUNK_BYTES]), False)
        parser.Parse(b"", True)
    except (expat.ExpatError, LookupError, UnicodeError) as error:
        raise XmpError(f"not well-formed ({error})") from error
    return {name: _in_order(items) for name, items in walk.found.items()}


def _in_order(items: list[tuple[int, str]]) -> list[str]:
    return [text for _, text in sorted(items, key=lambda item: item[0])]


def _unpadded(packet: bytes) -> bytes:
    """Return a packet without the NULs that some programs end it with; in UTF-16 they are text."""
    wide = b"\0" in packet[:4] or packet.startswith((b"\xff\xfe", b"\xfe\xff"))
    return packet if wide else packet.rstrip(b"\0")


def _refuse_document_type(*_: object) -> None:
    raise XmpError("it declares a document type or entities, which no XMP needs; it was not read")


@dataclass
class _Walk:
    """Follows the parser, and keeps the wanted properties of the top descriptions."""

    found: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    """By name: each item's rank (0 for the default language, else 1) and text."""
    _stack: list[str] = field(default_factory=list)
    _elements: int = 0
    _property: str = ""
    _depth: int = 0
    """How deep the property stands; what is deeper belongs to it."""
    _items: int = 0
    _rank: int = 1
    _pieces: list[str] = field(default_factory=list)
    _length: int = 0

    def start(self, raw_name: str, attributes: dict[str, str]) -> None:
        self._elements += 1
        if self._elements > MAX_ELEMENTS or len(self._stack) >= MAX_DEPTH:
            raise XmpError(
                f"more than {MAX_ELEMENTS:,} elements, or {MAX_DEPTH} inside each other; "
                "it was not read"
            )
        name = _customary(raw_name)
        if tuple(self._stack[-2:]) == _TOP and not self._property:
            self._property, self._depth, self._items = name, len(self._stack), 0
            self._begin(attributes)
        elif self._property and name == "rdf:li":
            self._items += 1
            self._begin(attributes)
        self._stack.append(name)
        if tuple(self._stack[-2:]) == _TOP:
            for key, value in attributes.items():
                self._keep(_customary(key), 1, value)

    def end(self, _: str) -> None:
        name = self._stack.pop()
        if not self._property:
            return
        ends = len(self._stack) == self._depth
        if name == "rdf:li" or (ends and not self._items):
            self._keep(self._property, self._rank, "".join(self._pieces))
            self._pieces.clear()
        if ends:
            self._property = ""

    def text(self, text: str) -> None:
        # A value may have qualifiers, and then stands in an element of its own.
        inside = self._stack[-1] in {"rdf:li", "rdf:value", self._property}
        if self._property in _WANTED and inside and self._length < MAX_TEXT_CHARACTERS:
            piece = text[: MAX_TEXT_CHARACTERS - self._length]
            self._length += len(piece)
            self._pieces.append(piece)

    def _begin(self, attributes: dict[str, str]) -> None:
        default = any(
            _customary(key) == "xml:lang" and value == "x-default"
            for key, value in attributes.items()
        )
        self._rank, self._length = (0 if default else 1), 0
        self._pieces.clear()

    def _keep(self, name: str, rank: int, text: str) -> None:
        cleaned = " ".join(text.replace("\0", "").split())
        if name in _WANTED and cleaned:
            items = self.found.setdefault(name, [])
            items.append((rank, cleaned))
            if len(items) > MAX_KEYWORDS:
                raise XmpError(f"more than {MAX_KEYWORDS:,} keywords; none was taken")


def _customary(name: str) -> str:
    """Return ``dc:subject`` for the name that the parser gives, whatever prefix the file has."""
    namespace, _, local = name.rpartition(_SEPARATOR)
    prefix = _PREFIX_OF.get(namespace)
    known = f"{prefix}:{local}" if prefix else name
    return _OLD_NAMES.get(known, known)


def _metadata(properties: dict[str, list[str]]) -> Metadata:
    keywords = [
        keyword
        for name, separator in SEPARATORS.items()
        for keyword in keywords_of(properties.get(name, ()), name, separator)
    ]
    first = {name: properties.get(name, [""])[0] for name in _SINGLE}
    return Metadata(
        keywords=tuple(keywords),
        creator=first["dc:creator"],
        artist=first["tiff:Artist"],
        title=first["dc:title"],
        rating=_rating(first["xmp:Rating"]),
    )


def _rating(text: str) -> int | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return int(value) if -1 <= value <= 5 else None
