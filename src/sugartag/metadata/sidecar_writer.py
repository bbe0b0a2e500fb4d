"""Keywords written into XMP sidecars: merged into what is there, everything else kept as it is.

``dc:subject``, ``lr:hierarchicalSubject`` and ``digiKam:TagsList`` are written together, for no
two programs read the same one. A field that is missing is made with the keywords of the others:
some programs read only the first field that they find.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sugartag.metadata.keyword_fields import (
    PROPERTIES,
    KeywordProperty,
    declared,
    items_text,
    listed,
    rdf_prefix,
    texts_for,
    written,
)
from sugartag.metadata.keywords import Keyword, keyword_of
from sugartag.metadata.namespaces import DC, DIGIKAM, LIGHTROOM, RDF, X
from sugartag.metadata.packet import Edit, Element, Packet
from sugartag.metadata.xmp import XmpError, read_xmp

Paths = Mapping[str, tuple[str, ...]]
"""The levels of a tag that stands below others; a tag that is missing stands by itself."""


@dataclass(frozen=True)
class Edited:
    """A sidecar with other keywords."""

    data: bytes
    added: tuple[str, ...]
    """The tags that it did not have before."""
    removed: tuple[str, ...]
    """The tags that it had before."""


def edited_sidecar(
    data: bytes, *, add: Sequence[str] = (), remove: Sequence[str] = (), paths: Paths | None = None
) -> Edited:
    """Return a sidecar with tags added and removed; the same bytes where it is so already.

    Raises :class:`XmpError` for a packet that cannot be read or edited.
    """
    if not data.strip(b"\0 \t\r\n"):
        return Edited(new_sidecar(add, paths) if add else data, tuple(dict.fromkeys(add)), ())
    fields = _Fields.of(Packet.of(data))
    known = {keyword.name for found in fields.found for keyword in found.keywords}
    known |= {item.text for found in fields.found for item in found.items}
    adding = tuple(tag for tag in dict.fromkeys(add) if tag not in known)
    removing = tuple(tag for tag in dict.fromkeys(remove) if tag in known)
    if not adding and not removing:
        return Edited(data, (), ())
    result = fields.packet.edited(fields.edits(adding, removing, paths or {}))
    _check(result, adding, removing)
    return Edited(result, adding, removing)


def new_sidecar(tags: Sequence[str], paths: Paths | None = None) -> bytes:
    """Return a sidecar that holds these tags and nothing else."""
    known = [(paths or {}).get(tag, (tag,)) for tag in dict.fromkeys(tags)]
    lines = [
        '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>',
        f'<x:xmpmeta xmlns:x="{X}" x:xmptk="sugartag">',
        f' <rdf:RDF xmlns:rdf="{RDF}">',
        '  <rdf:Description rdf:about=""',
        f'    xmlns:dc="{DC}"',
        f'    xmlns:lr="{LIGHTROOM}"',
        f'    xmlns:digiKam="{DIGIKAM}">',
    ]
    for one in PROPERTIES:
        texts = [text for path in known if (text := one.text_of(path)) is not None]
        if texts:
            lines.append("   " + written(one, one.name, "rdf", texts, "\n   ", " "))
    lines += ["  </rdf:Description>", " </rdf:RDF>", "</x:xmpmeta>", '<?xpacket end="w"?>', ""]
    return "\n".join(lines).encode()


@dataclass
class _Field:
    """What a packet holds of one property."""

    kind: KeywordProperty
    places: list[tuple[Element, Element]] = field(default_factory=list)
    """The elements of that name, each with the description it is in."""
    attributes: list[tuple[Element, str]] = field(default_factory=list)
    """Descriptions that hold it as an attribute, with the name as it is written."""

    @property
    def items(self) -> Iterator[Element]:
        for _, element in self.places:
            yield from _items_of(element)

    @property
    def keywords(self) -> Iterator[Keyword]:
        for text in self._held_texts():
            if keyword := keyword_of(text, self.kind.name, self.kind.separator):
                yield keyword

    def _held_texts(self) -> Iterator[str]:
        for _, element in self.places:
            items = _items_of(element)
            yield from (item.text for item in items) if items else [element.text]
        for element, name in self.attributes:
            yield element.attributes[name]


@dataclass
class _Fields:
    """The keyword properties of a packet."""

    packet: Packet
    rdf: Element
    descriptions: list[Element]
    found: list[_Field]

    @classmethod
    def of(cls, packet: Packet) -> "_Fields":
        rdf, descriptions = packet.descriptions()
        found = [_Field(one) for one in PROPERTIES]
        for one in found:
            for place in descriptions:
                for element in place.called(one.kind.namespace, *one.kind.locals):
                    one.places.append((place, element))
                for name in place.attributes:
                    prefix, _, local = name.rpartition(":")
                    if place.scope.get(prefix) == one.kind.namespace and local in one.kind.locals:
                        one.attributes.append((place, name))
        return cls(packet, rdf, descriptions, found)

    def edits(self, add: Sequence[str], remove: Sequence[str], paths: Paths) -> list[Edit]:
        """Return what is to be replaced, in no order."""
        gone = set(remove)
        everything = dict.fromkeys(
            keyword.path
            for one in reversed(self.found)
            for keyword in one.keywords
            if keyword.name not in gone
        )
        leaves = {path[-1] for path in everything if len(path) > 1}
        seeds = [path for path in everything if len(path) > 1 or path[0] not in leaves]
        new = [paths.get(tag, (tag,)) for tag in add]
        edits: list[Edit] = []
        missing: list[tuple[KeywordProperty, list[str]]] = []
        for one in self.found:
            edits += self._removed(one, gone, keep=bool(add))
            if one.places and add:
                edits += self._appended(one, texts_for(one.kind, new))
            elif add:
                edits += [self._without(*attribute) for attribute in one.attributes]
                missing.append((one.kind, texts_for(one.kind, [*seeds, *new])))
        inserted = [(one, texts) for one, texts in missing if texts]
        return [*edits, *(self._inserted(inserted) if inserted else ())]

    def _removed(self, one: _Field, gone: set[str], *, keep: bool) -> Iterator[Edit]:
        """Take items out; with the last one the property goes, unless others will be added."""
        for number, (place, element) in enumerate(one.places):
            items = _items_of(element)
            wrong = [item for item in items if _is_called(item.text, one.kind, gone)]
            bare = not items and _is_called(element.text, one.kind, gone)
            if (bare or (wrong and len(wrong) == len(items))) and not (keep and number == 0):
                yield self._cut(place, element)
                continue
            for item in wrong:
                yield self._cut(_container_of(element) or element, item)
        if not keep:
            for place, name in one.attributes:
                if _is_called(place.attributes[name], one.kind, gone):
                    yield self._without(place, name)

    def _cut(self, parent: Element, element: Element) -> Edit:
        """Take out an element and the white space before it."""
        space = self.packet.space_before(element.start)
        return max(parent.open_end, element.start - len(space.encode())), element.end, ""

    def _without(self, place: Element, name: str) -> Edit:
        tag = self.packet.slice(place.start, place.open_end)
        start = tag.index(name)
        quote_at = min(k for k in (tag.find('"', start), tag.find("'", start)) if k >= 0)
        end = tag.index(tag[quote_at], quote_at + 1) + 1
        before = len(tag[:start].rstrip())
        offset = place.start
        return offset + len(tag[:before].encode()), offset + len(tag[:end].encode()), ""

    def _appended(self, one: _Field, texts: list[str]) -> Iterator[Edit]:
        """Add items to the first element of a property."""
        place, element = one.places[0]
        if not texts:
            return
        container = _container_of(element)
        prefix = rdf_prefix(place)
        if container is None:
            old = [element.text] if element.text else []
            space = self.packet.space_before(element.start)
            inner = listed(one.kind, prefix, [*old, *texts], space, _step(self.packet, element))
            yield self._filled(element, f"{inner}{space}")
            return
        items = list(container.called(RDF, "li"))
        if items:
            space = self.packet.space_before(items[-1].start)
            yield items[-1].end, items[-1].end, items_text(prefix, texts, space)
            return
        space = self.packet.space_before(container.start)
        inner = items_text(prefix, texts, space + _step(self.packet, container))
        yield self._filled(container, f"{inner}{space}")

    def _filled(self, element: Element, inner: str) -> Edit:
        """Replace all that is inside an element."""
        if not element.empty:
            return element.open_end, element.close_start, inner
        tag = self.packet.slice(element.start, element.end)
        return element.end - 2, element.end, f">{inner}</{element.raw}>" if tag else ""

    def _inserted(self, missing: list[tuple[KeywordProperty, list[str]]]) -> Iterator[Edit]:
        """Make properties, at the end of the description that has keywords, or of the first."""
        if not self.descriptions:
            yield self._described(missing)
            return
        holding = [place for one in self.found for place, _ in one.places]
        target = (holding or self.descriptions)[0]
        outer = self.packet.space_before(target.start)
        step = _step(self.packet, target)
        if target.children:
            space = self.packet.space_before(target.children[-1].start)
        else:
            space = outer + step if "\n" in outer else ""
        text = "".join(space + declared(one, target, texts, space, step) for one, texts in missing)
        if target.empty:
            yield target.end - 2, target.end, f">{text}{outer}</{target.raw}>"
        elif target.children:
            end = target.children[-1].end
            yield end, end, text
        else:
            yield target.open_end, target.open_end, text

    def _described(self, missing: list[tuple[KeywordProperty, list[str]]]) -> Edit:
        """Make a description, where there is none."""
        prefix, space = rdf_prefix(self.rdf), self.packet.space_before(self.rdf.start)
        inner = space + "  " if "\n" in space else ""
        text = "".join(inner + declared(one, self.rdf, texts, inner, " ") for one, texts in missing)
        whole = (
            f'{space}<{prefix}:Description {prefix}:about="">{text}{space}</{prefix}:Description>'
        )
        if self.rdf.empty:
            return self._filled(self.rdf, f"{whole}{space}")
        return self.rdf.open_end, self.rdf.open_end, whole


def _check(result: bytes, added: Sequence[str], removed: Sequence[str]) -> None:
    """Raise unless the edited packet reads as it should; nothing is written that does not."""
    read = read_xmp(result)
    names = {keyword.name for keyword in read.keywords}
    odd = [tag for tag in added if tag not in names] + [tag for tag in removed if tag in names]
    if read.problems or odd:
        raise XmpError(f"it cannot be edited safely ({[*read.problems, *odd][0]}); left as it is")


def _container_of(element: Element) -> Element | None:
    return next(element.called(RDF, "Bag", "Seq", "Alt"), None)


def _items_of(element: Element) -> list[Element]:
    container = _container_of(element)
    return [] if container is None else list(container.called(RDF, "li"))


def _is_called(text: str, one: KeywordProperty, names: set[str]) -> bool:
    keyword = keyword_of(text, one.name, one.separator)
    return text in names or (keyword is not None and keyword.name in names)


def _step(packet: Packet, element: Element) -> str:
    """Return by how much what is inside an element is indented further; nothing on one line."""
    outer = packet.space_before(element.start)
    if "\n" not in outer:
        return ""
    if element.children:
        inner = packet.space_before(element.children[0].start)
        if inner.startswith(outer) and len(inner) > len(outer):
            return inner[len(outer) :]
    return " "
