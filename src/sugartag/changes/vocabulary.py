"""The vocabulary of a catalogue: aliases and implications, which hold until they are taken back.

Both are virtual: they change what is found and exported, and no tag of any image. Baking makes
them real through the journal, so that it can be undone like any other run.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass

from sugartag.changes.applying import Wanted, journal_for
from sugartag.changes.catalogue import Catalogue
from sugartag.changes.journal import Reached, go_on, only_one
from sugartag.changes.plans import ImagePlan, Outcome, Provenance, TagChange
from sugartag.changes.store import now
from sugartag.collection.vocabulary import clean
from sugartag.errors import CollectionError, SettingsError


@dataclass(frozen=True)
class Rules:
    """What tags stand for and imply."""

    aliases: Mapping[str, str]
    implications: Mapping[str, tuple[str, ...]]

    def resolved(self, tags: Iterable[str]) -> list[str]:
        """Return the tags as they are meant: aliases replaced, implied ones after the others."""
        found = list(dict.fromkeys(self.meant(tag) for tag in tags))
        known = set(found)
        for tag in found:
            for implied in map(self.meant, self.implications.get(tag, ())):
                if implied not in known:
                    known.add(implied)
                    found.append(implied)
        return found

    def meant(self, tag: str) -> str:
        """Return what a tag stands for in the end."""
        while tag in self.aliases:
            tag = self.aliases[tag]
        return tag


def rules_of(catalogue: Catalogue) -> Rules:
    """Return the aliases and implications of a catalogue."""
    aliases = catalogue.all(
        "SELECT t.name, s.name FROM aliases a JOIN tags t USING (tag) "
        "JOIN tags s ON s.tag = a.stands_for ORDER BY t.name"
    )
    implications: dict[str, tuple[str, ...]] = {}
    for tag, implied in catalogue.all(
        "SELECT t.name, s.name FROM implications a JOIN tags t USING (tag) "
        "JOIN tags s ON s.tag = a.implies ORDER BY t.name, s.name"
    ):
        implications[tag] = (*implications.get(tag, ()), implied)
    return Rules(dict(aliases), implications)


def set_alias(catalogue: Catalogue, tag: str, stands_for: str, *, by: str | None = None) -> None:
    """Make a tag stand for another one."""
    tag, stands_for = _checked(catalogue, tag, stands_for)
    rules = rules_of(catalogue)
    if rules.meant(stands_for) == tag:
        raise SettingsError(f"{stands_for!r} stands for {tag!r} already; remove that alias first")
    with catalogue.writing() as connection:
        number = catalogue.tag_numbers([tag, stands_for])
        row = (number[tag], number[stands_for], by, now())
        connection.execute("INSERT OR REPLACE INTO aliases VALUES (?, ?, ?, ?)", row)


def set_implication(catalogue: Catalogue, tag: str, implied: str, *, by: str | None = None) -> None:
    """Make a tag imply another one."""
    tag, implied = _checked(catalogue, tag, implied)
    if tag in rules_of(catalogue).resolved([implied]):
        raise SettingsError(f"{implied!r} implies {tag!r} already; that would go round in a circle")
    with catalogue.writing() as connection:
        number = catalogue.tag_numbers([tag, implied])
        row = (number[tag], number[implied], by, now())
        connection.execute("INSERT OR REPLACE INTO implications VALUES (?, ?, ?, ?)", row)


def remove_alias(catalogue: Catalogue, tag: str) -> None:
    """Let a tag stand for itself again."""
    _removed(catalogue, "aliases", "tag = ?1", clean(tag), "")


def remove_implication(catalogue: Catalogue, tag: str, implied: str) -> None:
    """Let a tag no longer imply another one."""
    _removed(catalogue, "implications", f"tag = ?1 AND implies = ({_TAG}?2)", clean(tag), implied)


def bake(
    catalogue: Catalogue, wanted: Wanted, *, by: str | None = None, reached: Reached = go_on
) -> Outcome:
    """Make aliases and implications real in every image; they go on to hold."""
    rules = rules_of(catalogue)
    with only_one(catalogue):
        journal = journal_for(catalogue, wanted, by=by, reached=reached)
        return journal.run("bake", asdict(wanted), bake_plans(catalogue, rules, by))


def bake_plans(catalogue: Catalogue, rules: Rules, by: str | None = None) -> Iterator[ImagePlan]:
    """Yield what aliases and implications make of the images that they concern."""
    moment = now()
    for image in _images_with(catalogue, {*rules.aliases, *rules.implications}):
        given = {
            name: Provenance(*from_)
            for name, *from_ in catalogue.all(f"{_GIVEN} WHERE g.image = ?", (image,))
        }
        meant = {rules.meant(name): given[name] for name in sorted(given, reverse=True)}
        new = Provenance("reviewer", None, by, moment)
        changes = [
            TagChange(tag, "add", meant.get(tag, new))
            for tag in rules.resolved(given)
            if tag not in given
        ]
        changes += [TagChange(tag, "remove", given[tag]) for tag in given if tag in rules.aliases]
        if changes:
            yield _plan(catalogue, image, given, changes)


def drop(
    catalogue: Catalogue,
    tags: Iterable[str],
    wanted: Wanted,
    *,
    by: str | None = None,
    reached: Reached = go_on,
) -> Outcome:
    """Remove tags from every image, because a person says so."""
    names = _known(catalogue, tags)
    with only_one(catalogue):
        journal = journal_for(catalogue, wanted, by=by, reached=reached)
        settings = {**asdict(wanted), "tags": names}
        return journal.run("drop", settings, drop_plans(catalogue, names))


def drop_plans(catalogue: Catalogue, names: Iterable[str]) -> Iterator[ImagePlan]:
    """Yield the removal of tags from every image that has one of them."""
    gone = set(_known(catalogue, names))
    for image in _images_with(catalogue, gone):
        given = {
            name: Provenance(*from_)
            for name, *from_ in catalogue.all(f"{_GIVEN} WHERE g.image = ?", (image,))
        }
        changes = [TagChange(tag, "remove", given[tag]) for tag in given if tag in gone]
        yield _plan(catalogue, image, given, changes)


_TAG = "SELECT tag FROM tags WHERE name = "
_GIVEN = "SELECT t.name, g.source, g.run, g.by, g.at FROM image_tags g JOIN tags t USING (tag)"


def _plan(
    catalogue: Catalogue, image: int, given: Iterable[str], changes: list[TagChange]
) -> ImagePlan:
    image_id, path = catalogue.one("SELECT image_id, path FROM images WHERE image = ?", (image,))
    added = tuple(one.tag for one in changes if one.change == "add")
    removed = tuple(one.tag for one in changes if one.change == "remove")
    kept = tuple(tag for tag in given if tag not in removed)
    return ImagePlan(image, image_id, path, tuple(changes), added, removed, (*kept, *added))


def _images_with(catalogue: Catalogue, names: set[str]) -> list[int]:
    number = catalogue.tag_numbers(names)
    found: set[int] = set()
    for tag in number.values():
        found.update(
            r[0] for r in catalogue.all("SELECT image FROM image_tags WHERE tag = ?", (tag,))
        )
    return sorted(found)


def _known(catalogue: Catalogue, tags: Iterable[str]) -> list[str]:
    names = [clean(tag) for tag in tags]
    for name in names:
        if catalogue.first(f"{_TAG} ?", (name,)) is None:
            raise CollectionError(f"{catalogue.path} has no tag {name!r}; check its spelling")
    return names


def _checked(catalogue: Catalogue, tag: str, other: str) -> tuple[str, str]:
    """Return two clean names, the first of which is a tag that there is."""
    tag, other = clean(tag), clean(other)
    if not other or tag == other:
        raise SettingsError(f"{tag!r} and {other!r} must be two tags")
    _known(catalogue, [tag])
    return tag, other


def _removed(catalogue: Catalogue, table: str, where: str, tag: str, other: str) -> None:
    with catalogue.writing() as connection:
        sql = f"DELETE FROM {table} WHERE {where.replace('?1', f'({_TAG}?1)')}"
        values = (tag, clean(other)) if other else (tag,)
        if not connection.execute(sql, values).rowcount:
            raise CollectionError(f"there is nothing to remove for {tag!r}")
