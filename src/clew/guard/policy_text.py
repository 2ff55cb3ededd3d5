"""The text of policies before Cedar reads it: where each begins, and how deep it goes. Pure, in one pass.

Cedar's parser calls itself for each bracket, and what makes a tree of a policy does so for each link of a chain
(`a && b && c`, `a.b.c`; the conditions of a policy become one). Neither looks at the stack, whose overflow ends the
process, so what is too deep may not reach them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field

from clew.values import dataclass

# Brackets and links of chains on the way to the innermost. The engine reads on a stack of 16 MB, which breaks at
# some 1,250 brackets or 2,500 links (cedarpy 4.12, measured at 512 kB: 39 and 79); the shipped policies go to 12.
MAX_DEPTH = 100

# As Cedar reads them: a carriage return ends a comment, and a text that is not closed ends the whole.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|//[^\n\r]*|&&|\|\||\w+|[^\s\w]')
_CLOSES = {")": "(", "]": "[", "}": "{"}
_LINKS = frozenset({"&&", "||", "+", "-", "*", "if"})
_PARTS = frozenset({"<", ">", "=", ":", "then", "else"})  # beside links: what stands between two operands
_ENDS = frozenset({",", ";"})
_CONDITIONS = frozenset({"when", "unless"})


@dataclass(slots=True)
class _Group:
    """What stands between two brackets, as far as it was read."""

    bracket: str = ""
    deepest: int = 0  # of the expressions before
    links: int = 0  # of this expression
    operands: int = 0  # the deepest of its operands before
    members: int = 0  # of this operand: attributes and calls
    inner: int = 0  # and the deepest bracket in it

    def end_operand(self) -> None:
        self.operands = max(self.operands, self.members + self.inner)
        self.members = self.inner = 0

    def end_expression(self) -> int:
        self.end_operand()
        self.deepest = max(self.deepest, self.links + self.operands)
        self.links = self.operands = 0
        return self.deepest


@dataclass(slots=True)
class _Measure:
    open: list[_Group] = field(default_factory=lambda: [_Group()])
    has_condition: bool = False

    def take(self, mark: str) -> None:
        group = self.open[-1]
        if mark in "([{":
            group.members += mark == "["
            self.open.append(_Group(mark))
        elif mark in _CLOSES:
            self._close(_CLOSES[mark])
        elif mark in _ENDS:
            group.end_expression()
        elif mark in _LINKS or mark in _PARTS:
            group.end_operand()
            group.links += mark in _LINKS
        elif mark == ".":
            group.members += 1
        elif mark in _CONDITIONS and len(self.open) == 1:
            group.end_operand()
            group.links += self.has_condition
            self.has_condition = True

    def _close(self, bracket: str) -> None:
        """One that closes nothing leaves all open: that counts too much, never too little."""
        if self.open[-1].bracket == bracket:
            depth = self.open.pop().end_expression() + 1
            self.open[-1].inner = max(self.open[-1].inner, depth)

    def total(self) -> int:
        while len(self.open) > 1:
            self._close(self.open[-1].bracket)
        return self.open[0].end_expression()


def deepest(text: str) -> tuple[int, int]:
    """How deep the deepest policy goes, and the line on which it begins."""
    measured, measure, start = [(0, 0)], _Measure(), None
    for token in _tokens(text):
        start = token.start() if start is None else start
        measure.take(token[0])
        if token[0] == ";" and len(measure.open) == 1:
            measured.append((measure.total(), start))
            measure, start = _Measure(), None
    measured.append((measure.total(), start or 0))
    depth, at = max(measured, key=lambda one: one[0])
    return depth, text.count("\n", 0, at) + 1


def statements(text: str) -> Iterator[tuple[int, str]]:
    """The line on which each policy begins, and its text; comments and strings may hold semicolons."""
    start: int | None = None
    for token in _tokens(text):
        start = token.start() if start is None else start
        if token[0] == ";":
            yield text.count("\n", 0, start) + 1, text[start : token.end()]
            start = None
    if start is not None:
        yield text.count("\n", 0, start) + 1, text[start:]


def _tokens(text: str) -> Iterator[re.Match[str]]:
    return (token for token in _TOKEN.finditer(text) if not token[0].startswith("//"))
