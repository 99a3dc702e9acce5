"""Reading a page back with the standard library's parser, strictly."""

from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "br", "img", "link", "hr", "input"}
SVG_VOID = {"path", "use", "rect", "circle", "line"}


class Page(HTMLParser):
    """Tags with their attributes, the text outside pictures, and the numbers that carry their exact value."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.numbers: list[tuple[str, str]] = []
        self.loose: list[str] = []
        self.order: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice"
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1] == tag, f"</{tag}> closes <{self.open[-1]}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if "svg" in self.open or "style" in self.open:
            return
        self.words.append(data)
        if self.open and self.open[-1] == "data":
            self.numbers.append((str(self.tags[-1][1]["value"]), data))
        elif "pre" not in self.open:
            self.loose.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).replace("\N{NO-BREAK SPACE}", " ").split())


def leaves(value: Any) -> Iterator[Any]:
    """Every text, number and flag of a JSON document, and the length of every list (a page may count them)."""
    if isinstance(value, dict):
        for one in value.values():
            yield from leaves(one)
    elif isinstance(value, list):
        yield len(value)
        for one in value:
            yield from leaves(one)
    else:
        yield value
