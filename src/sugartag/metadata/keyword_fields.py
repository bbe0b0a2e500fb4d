"""The properties of XMP that hold keywords, and how they are written."""

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from sugartag.metadata.namespaces import (
    DC,
    DC_SUBJECT,
    DIGIKAM,
    DIGIKAM_TAGS,
    LIGHTROOM,
    LIGHTROOM_SUBJECT,
    RDF,
    SEPARATORS,
)
from sugartag.metadata.packet import Element


@dataclass(frozen=True)
class KeywordProperty:
    """A property that holds keywords."""

    name: str
    namespace: str
    locals: tuple[str, ...]
    """What it is called, and has been called."""
    container: str

    @property
    def separator(self) -> str | None:
        """What parts the levels of a keyword; None where it has no levels."""
        return SEPARATORS[self.name]

    def text_of(self, path: tuple[str, ...]) -> str | None:
        """Return how a keyword is written here; None where the separator is part of a name."""
        if self.separator is None:
            return path[-1]
        return None if any(self.separator in level for level in path) else self.separator.join(path)


PROPERTIES = (
    KeywordProperty(DC_SUBJECT, DC, ("subject",), "Bag"),
    KeywordProperty(
        LIGHTROOM_SUBJECT, LIGHTROOM, ("hierarchicalSubject", "HierarchicalSubject"), "Bag"
    ),
    KeywordProperty(DIGIKAM_TAGS, DIGIKAM, ("TagsList",), "Seq"),
)


def rdf_prefix(element: Element) -> str:
    """Return the prefix of RDF at an element."""
    return element.prefix_of(RDF) or "rdf"


def texts_for(one: KeywordProperty, paths: Sequence[tuple[str, ...]]) -> list[str]:
    """Return how keywords are written in a property, once each."""
    return list(dict.fromkeys(text for path in paths if (text := one.text_of(path)) is not None))


def declared(
    one: KeywordProperty, place: Element, texts: Sequence[str], space: str, step: str
) -> str:
    """Return a property with its prefix declared, if that is not known where it will stand."""
    wanted = one.name.partition(":")[0]
    prefix = place.prefix_of(one.namespace)
    if prefix is not None:
        return written(one, f"{prefix}:{one.locals[0]}", rdf_prefix(place), texts, space, step)
    free = next(p for p in (wanted, *(f"{wanted}{k}" for k in range(99))) if p not in place.scope)
    name = f'{free}:{one.locals[0]} xmlns:{free}="{one.namespace}"'
    return written(one, name, rdf_prefix(place), texts, space, step)


def written(
    one: KeywordProperty, name: str, rdf: str, texts: Sequence[str], space: str, step: str
) -> str:
    """Return a whole property, its parts indented step by step from a white space."""
    inner = listed(one, rdf, texts, space, step)
    return f"<{name}>{inner}{space}</{name.partition(' ')[0]}>"


def listed(one: KeywordProperty, rdf: str, texts: Sequence[str], space: str, step: str) -> str:
    """Return the list inside a property."""
    inner, deeper = space + step, space + step + step
    items = items_text(rdf, texts, deeper)
    return f"{inner}<{rdf}:{one.container}>{items}{inner}</{rdf}:{one.container}>"


def items_text(rdf: str, texts: Sequence[str], space: str) -> str:
    """Return the items of a list, each after a white space."""
    return "".join(f"{space}<{rdf}:li>{escape(text)}</{rdf}:li>" for text in texts)
