"""Where things stand in an XMP packet, byte by byte, so that one part can be edited alone.

The parser refuses and bounds what the reader of packets refuses and bounds; it says at which byte
each element starts and ends.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from sugartag.metadata.namespaces import OTHER_SPELLINGS, RDF
from sugartag.metadata.xmp import MAX_DEPTH, MAX_ELEMENTS, MAX_PACKET_BYTES, XmpError

_TAG = re.compile(rb"""<[^>"']*(?:"[^"]*"[^>"']*|'[^']*'[^>"']*)*>""")
_DECLARED = re.compile(rb"""\A(?:\xef\xbb\xbf)?<\?xml[^>]*?encoding\s*=\s*["']([\w.-]+)["']""")
_CODECS = {"utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin-1", "windows-1252"}

Edit = tuple[int, int, str]
"""From this byte to that one there is to be this text."""


@dataclass
class Element:
    """An element and the bytes of it: ``<name ...>`` to ``</name>``."""

    raw: str
    """Its name as it is written, with the prefix."""
    namespace: str
    local: str
    attributes: dict[str, str]
    """By the names as they are written."""
    scope: dict[str, str]
    """The namespace of each prefix here."""
    start: int
    open_end: int
    """Where the start tag ends."""
    close_start: int = 0
    """Where the end tag begins; for ``<name/>`` the end."""
    end: int = 0
    children: list["Element"] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    """The text directly inside."""

    @property
    def empty(self) -> bool:
        """Whether it is written as ``<name/>``."""
        return self.close_start == self.end

    @property
    def text(self) -> str:
        """The text of it, or of the value inside that has qualifiers beside it."""
        inner = [child.text for child in self.children if child.local == "value"]
        return " ".join("".join([*self.texts, *inner]).split())

    def called(self, namespace: str, *locals_: str) -> Iterator["Element"]:
        """Yield the children of a name."""
        for child in self.children:
            if child.namespace == namespace and child.local in locals_:
                yield child

    def prefix_of(self, namespace: str) -> str | None:
        """Return a prefix that stands for a namespace here."""
        found = [prefix for prefix, name in self.scope.items() if prefix and name == namespace]
        return found[0] if found else None


@dataclass(frozen=True)
class Packet:
    """A packet as UTF-8, its elements, and how to write it back in the encoding it came in."""

    content: bytes
    root: Element
    codec: str
    tail: bytes
    """What follows the packet: padding that is no XML."""

    @classmethod
    def of(cls, data: bytes) -> "Packet":
        """Parse a packet; raises :class:`XmpError` for one that is refused or cannot be kept."""
        if len(data) > MAX_PACKET_BYTES:
            raise XmpError(f"{len(data):,} bytes, more than {MAX_PACKET_BYTES:,}; not edited")
        codec = _codec_of(data)
        tail = b"" if codec.startswith("utf-16") else data[len(data.rstrip(b"\0")) :]
        body = data[: len(data) - len(tail)]
        try:
            text = body.decode(codec)
            if text.encode(codec) != body:
                raise XmpError(f"its {codec} text would not be kept as it is")
        except UnicodeError as error:
            raise XmpError(f"not text in {codec} ({error})") from error
        content = text.encode()
        return cls(content, _parsed(content), codec, tail)

    def edited(self, edits: Iterable[Edit]) -> bytes:
        """Return the packet with some bytes replaced, every other byte as it was."""
        content = self.content
        for start, end, text in sorted(edits, key=lambda edit: edit[:2], reverse=True):
            content = content[:start] + text.encode() + content[end:]
        return content.decode().encode(self.codec, "xmlcharrefreplace") + self.tail

    def space_before(self, place: int) -> str:
        """Return the white space that ends at a byte."""
        before = self.content[:place]
        return before[len(before.rstrip()) :].decode()

    def slice(self, start: int, end: int) -> str:
        """Return some bytes as text."""
        return self.content[start:end].decode()

    def descriptions(self) -> tuple[Element, list[Element]]:
        """Return the element ``rdf:RDF`` and the top descriptions in it."""
        waiting = [self.root]
        while waiting:
            element = waiting.pop()
            if element.namespace == RDF and element.local == "RDF":
                return element, list(element.called(RDF, "Description"))
            waiting += element.children
        raise XmpError("it has no rdf:RDF, so it is not XMP")


def _codec_of(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"<\0")):
        return "utf-16-le"
    if data.startswith((b"\xfe\xff", b"\0<")):
        return "utf-16-be"
    declared = _DECLARED.match(data)
    codec = declared[1].decode().lower() if declared else "utf-8"
    if codec not in _CODECS:
        raise XmpError(f"its encoding is {codec!r}, which is not edited; save it as UTF-8")
    return codec


@dataclass
class _Walk:
    """Follows the parser, and keeps every element with its place."""

    parser: expat.XMLParserType
    content: bytes
    root: Element | None = None
    stack: list[Element] = field(default_factory=list)
    n_elements: int = 0

    def start(self, raw: str, attributes: dict[str, str]) -> None:
        self.n_elements += 1
        if self.n_elements > MAX_ELEMENTS or len(self.stack) >= MAX_DEPTH:
            raise XmpError(f"more than {MAX_ELEMENTS:,} elements, or {MAX_DEPTH} inside each other")
        scope = self.stack[-1].scope if self.stack else {"xml": "xml"}
        declared = {
            name.partition(":")[2]: OTHER_SPELLINGS.get(value, value)
            for name, value in attributes.items()
            if name == "xmlns" or name.startswith("xmlns:")
        }
        scope = {**scope, **declared} if declared else scope
        prefix, _, local = raw.rpartition(":")
        start = self.parser.CurrentByteIndex
        tag = _TAG.match(self.content, start)
        if tag is None:
            raise XmpError(f"the element {raw} cannot be located")
        namespace = scope.get(prefix, "")
        element = Element(raw, namespace, local, attributes, scope, start, tag.end())
        if self.stack:
            self.stack[-1].children.append(element)
        else:
            self.root = element
        self.stack.append(element)

    def end(self, _: str) -> None:
        element, place = self.stack.pop(), self.parser.CurrentByteIndex
        if self.content[element.open_end - 2 : element.open_end] == b"/>":
            element.close_start = element.end = element.open_end
        else:
            element.close_start, element.end = place, self.content.index(b">", place) + 1

    def text(self, text: str) -> None:
        if self.stack:
            self.stack[-1].texts.append(text)


def _refuse(*_: object) -> None:
    raise XmpError("it declares a document type or entities, which no XMP needs")


def _parsed(content: bytes) -> Element:
    parser = expat.ParserCreate("utf-8")
    walk = _Walk(parser, content)
    parser.StartDoctypeDeclHandler = _refuse
    parser.EntityDeclHandler = _refuse
    parser.StartElementHandler = walk.start
    parser.EndElementHandler = walk.end
    parser.CharacterDataHandler = walk.text
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise XmpError(f"not well-formed ({error})") from error
    if walk.root is None:
        raise XmpError("it is empty")
    return walk.root
