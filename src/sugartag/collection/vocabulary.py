"""Tags on the way in: how they are written, which are left out, which look like variants.

Nothing is merged here. Tags that look like variants of each other are proposed, for a person to
decide; only Unicode normalisation, trimming and, if asked for, lower case make two texts one tag.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from urllib.parse import unquote_plus

from sugartag.errors import SettingsError

_STOP_WORDS = """
untitled, unnamed, no title, notitle, default, digital camera, camera phone, cameraphone,
olympus digital camera, kodak digital still camera, konica minolta digital camera,
minolta digital camera, sony dsc, nikon coolpix, canon powershot, canon eos, exif, jpg, jpeg, raw,
canon, nikon, sony, fuji, fujifilm, olympus, panasonic, lumix, leica, pentax, ricoh, casio, kodak,
hasselblad, minolta, samsung, iphone, gopro, dslr, slr, coolpix, powershot, iphoneography
"""
STOP_TAGS = frozenset(map(str.strip, _STOP_WORDS.split(",")))
"""Words that say how a picture was taken or that nobody described it; compared without case."""
_STOP_PATTERN = re.compile(
    r"(?:img|dscn?f?|sdc|pict|pic|picture|image|photo|scan|mvi|gopr|pxl|imag|cimg)"
    r"[ _-]*\d{2,}(?:[ _-]\w{1,8})?(?:\.\w{3,4})?"
    r"|_?[a-z]{1,4}_?\d{4,}\.(?:jpe?g|png|tiff?|webp|heic|cr2|nef|arw)"
    r"|\d{8}[_-]\d{4,6}"
    r"|(?:canon|nikon|sony|fujifilm|olympus|panasonic|pentax|leica)[ -]?(?:eos|powershot|coolpix|"
    r"lumix|alpha|ixus|rebel|finepix)?[ -]?[a-z]{0,3}-?\d{1,4}"
    r"[a-z]{0,3}(?: ?mark ?[iv]+| ?mk ?[iv\d]+)?"
    r"|[\w-]+:[\w-]+=.*",
    re.IGNORECASE,
)
"""File names, camera models, and the machine tags of Flickr (``geo:lat=52.1``)."""
MAX_TAGS_COMPARED = 200_000
"""In a larger vocabulary no variants are looked for."""
SHORTEST_MISSPELT = 6
MISSPELT_SHARE = 0.2
"""A misspelling is used at most this often for each use of the right spelling."""
MOST_ALIKE = 50


def clean(text: str) -> str:
    """Return the text in NFC, without white space at its ends."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return text.strip()


def clean_lowercase(text: str) -> str:
    """Return the clean text in lower case."""
    return clean(clean(text).lower())


def clean_all(texts: Sequence[str]) -> list[str]:
    """Return every text clean."""
    return list(map(str.strip if "".join(texts).isascii() else clean, texts))


@dataclass(frozen=True)
class TagRules:
    """What is done with tags on the way in."""

    lowercase: bool = False
    min_uses: int = 1
    """Tags that fewer images have are dropped."""
    stop_tags: frozenset[str] = frozenset()
    """Tags to leave out, in any case of their letters."""
    url_encoded: bool = False
    """Tags are written as in a URL: ``caf%C3%A9``, ``new+york``."""

    def __post_init__(self) -> None:
        if self.min_uses < 1:
            raise SettingsError(f"min_uses must be at least 1, not {self.min_uses}")

    def with_stop_words(self) -> "TagRules":
        """Return these rules with the built-in list of stop tags added."""
        return replace(self, stop_tags=self.stop_tags | STOP_TAGS)


@dataclass
class TagCleaner:
    """Makes texts into tags, and counts the uses of those it leaves out."""

    rules: TagRules
    left_out: Counter[str] = field(default_factory=Counter)

    def __call__(self, text: str) -> str:
        """Return the tag of a text; empty if it is none, or is left out."""
        tag = self.spelt(text)
        if self.rules.stop_tags and tag and self._stops(tag):
            self.left_out[tag] += 1
            return ""
        return tag

    def spelt(self, text: str) -> str:
        """Return a text as tags are written."""
        return clean_lowercase(text) if self.rules.lowercase else clean(text)

    def _stops(self, tag: str) -> bool:
        if tag.casefold() in self.rules.stop_tags:
            return True
        return self.rules.stop_tags >= STOP_TAGS and _STOP_PATTERN.fullmatch(tag) is not None


def url_decoded(text: str) -> str:
    """Return a text that stands in URL encoding as it was typed."""
    return unquote_plus(text, errors="replace").replace("\0", "")


@dataclass(frozen=True)
class Variant:
    """A tag that may be another one, written differently."""

    tag: str
    uses: int
    variant: str
    variant_uses: int
    kind: str
    """``same letters``, ``plural`` or ``spelling``."""


def find_variants(names: Sequence[str], uses: Sequence[int]) -> list[Variant]:
    """Return pairs of tags that look alike, the one used more often first in each."""
    if len(names) > MAX_TAGS_COMPARED:
        return []
    same: dict[str, list[int]] = defaultdict(list)
    for index, name in enumerate(names):
        if letters := _letters(name):
            same[letters].append(index)
    pairs: dict[tuple[int, int], str] = {}
    for alike in same.values():
        for first, second in combinations(alike[:MOST_ALIKE], 2):
            pairs[first, second] = "same letters"
    main = {letters: max(group, key=lambda i: uses[i]) for letters, group in same.items()}
    for letters, index in main.items():
        for singular in _singulars(letters):
            if singular in main:
                pairs.setdefault((index, main[singular]), "plural")
    for first, second in _misspelt(main, uses):
        if (first, second) not in pairs and (second, first) not in pairs:
            pairs[first, second] = "spelling"
    return sorted(
        (_variant(names, uses, pair, kind) for pair, kind in pairs.items()),
        key=lambda found: (-found.variant_uses, found.tag, found.variant),
    )


def _variant(
    names: Sequence[str], uses: Sequence[int], pair: tuple[int, int], kind: str
) -> Variant:
    often, seldom = sorted(pair, key=lambda index: (-uses[index], names[index]))
    return Variant(names[often], int(uses[often]), names[seldom], int(uses[seldom]), kind)


def _letters(name: str) -> str:
    """Return the letters and digits of a name, without case and accents."""
    plain = unicodedata.normalize("NFKD", name.casefold())
    return "".join(character for character in plain if character.isalnum())


def _singulars(letters: str) -> Iterator[str]:
    """Yield what a word may be the plural of."""
    if len(letters) < 4 or not letters.endswith("s") or letters.endswith(("ss", "us", "is")):
        return
    yield letters[:-1]
    if letters.endswith("ies"):
        yield f"{letters[:-3]}y"
    if letters.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
        yield letters[:-2]
    if letters.endswith("ves"):
        yield from (f"{letters[:-3]}f", f"{letters[:-3]}fe")


def _misspelt(main: dict[str, int], uses: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield pairs of words one letter apart, one of them seldom used beside the other."""
    without_one: dict[str, list[str]] = defaultdict(list)
    for letters in main:
        if len(letters) >= SHORTEST_MISSPELT and letters.isalpha():
            for form in {letters, *(letters[:i] + letters[i + 1 :] for i in range(len(letters)))}:
                without_one[form].append(letters)
    seen = set()
    for words in without_one.values():
        for first, second in combinations(sorted(words)[:MOST_ALIKE], 2):
            if (first, second) in seen or not _one_apart(first, second):
                continue
            seen.add((first, second))
            few, many = sorted((uses[main[first]], uses[main[second]]))
            if few <= MISSPELT_SHARE * many:
                yield main[first], main[second]


def _one_apart(first: str, second: str) -> bool:
    """Tell whether one letter was left out, added, changed, or exchanged with the next."""
    if len(first) != len(second):
        return True  # They share a form without one letter, which is all that differs.
    differs = [i for i in range(len(first)) if first[i] != second[i]]
    swapped = len(differs) == 2 and differs[1] == differs[0] + 1
    if swapped:
        i, j = differs
        return first[i] == second[j] and first[j] == second[i]
    return len(differs) == 1
