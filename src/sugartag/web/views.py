"""What a page shows, as it stands in the address: all of it, so that a link leads back to it."""

from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field, field_validator

from sugartag.changes.selecting import Selection, State

LONGEST = 300
DEFAULT_LINE = 0.8
Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Name = Annotated[str | None, Field(max_length=LONGEST)]


class View(BaseModel):
    """Filters, the line, and the place in a list."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    tag: Name = None
    action: Literal["add", "doubt"] = "add"
    """Additions, or tags to check."""
    line: Probability = DEFAULT_LINE
    """Everything from this probability on can be accepted at once."""
    least: Probability = 0.0
    most: Probability = 1.0
    state: State = "open"
    owner: Name = None
    group: Name = None
    run: Name = None
    untagged: bool = False
    """Only images without any tag."""
    cursor: Name = None
    at: int | None = None
    """The number of the image that has the focus."""

    @field_validator("tag", "owner", "group", "run", "cursor", "at", mode="before")
    @classmethod
    def _nothing(cls, value: Any) -> Any:
        """Take an empty field of a form for one that is not there."""
        return None if value == "" else value

    def selection(self, **changes: Any) -> Selection:
        """Return the proposals that are asked for."""
        asked = {
            "actions": (self.action,),
            "tag": self.tag,
            "owner": self.owner,
            "group": self.group,
            "run": self.run,
            "least": self.least,
            "most": self.most,
            "state": self.state,
            "untagged": self.untagged,
        }
        return Selection(**{**asked, **changes})

    def link(self, path: str, **changes: Any) -> str:
        """Return the address of this view at a path, some of it changed."""
        wanted = {**self.model_dump(), **changes}
        plain = View().model_dump()
        named = {
            name: (
                f"{value:g}" if isinstance(value, float) else int(value) if value is True else value
            )
            for name, value in wanted.items()
            if value is not None and value != plain.get(name)
        }
        return f"{path}?{urlencode(named)}" if named else path

    @property
    def filters(self) -> list[tuple[str, str, dict[str, Any]]]:
        """What narrows the view, in words, with the change that takes it away."""
        found: list[tuple[str, str, dict[str, Any]]] = []
        for name in ("owner", "group", "run"):
            if value := getattr(self, name):
                found.append((name, value, {name: None, "cursor": None}))
        if self.least > 0 or self.most < 1:
            band = f"{100 * self.least:.0f} to {100 * self.most:.0f} %"
            found.append(("probability", band, {"least": 0.0, "most": 1.0, "cursor": None}))
        if self.untagged:
            found.append(("images", "without tags", {"untagged": False, "cursor": None}))
        if self.state != "open":
            found.append(("shown", self.state, {"state": "open", "cursor": None}))
        return found


Asked = Annotated[View, Query()]
