"""Make src/clew/asynchronous.pyi from the verbs: what type checkers and editors know of AsyncClew.

python tools/async_stub.py           write it
python tools/async_stub.py --check   say whether it is current
"""

from __future__ import annotations

import ast
import builtins
import inspect
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from clew.asynchronous import is_static, owner_of, parts_of

STUB = Path(__file__).parents[1] / "src" / "clew" / "asynchronous.pyi"
HEAD = '"""What AsyncClew can do. Made by tools/async_stub.py from the verbs: do not edit."""\n'
OWN = """
def open_async(
    url: str | os.PathLike[str] | None = ...,
    *,
    token: str | None = ...,
    home: str | os.PathLike[str] | None = ...,
    **settings: Any,
) -> AsyncClew: ...

class AsyncClew:
    def __init__(self, clew: Clew | Callable[[], Clew], *, threads: int = ...) -> None: ...
    async def __aenter__(self) -> AsyncClew: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    async def close(self) -> None: ...
    @property
    def clew(self) -> Clew: ...
    def remember_many(
        self,
        drafts: Iterable[Draft] | AsyncIterable[Draft],
        *,
        scope: Scope | None = ...,
        identity: Identity | None = ...,
    ) -> AsyncIterator[Remembered]: ...
"""
OWN_NAMES = {"close", "remember_many"}
OWN_IMPORTS = {
    "os": ("", "os"),
    "AsyncIterable": ("collections.abc", "AsyncIterable"),
    "AsyncIterator": ("collections.abc", "AsyncIterator"),
    "Callable": ("collections.abc", "Callable"),
    "Iterable": ("collections.abc", "Iterable"),
    "TracebackType": ("types", "TracebackType"),
    "Any": ("typing", "Any"),
    "Clew": ("clew.clew", "Clew"),
    "Draft": ("clew.model.memory", "Draft"),
    "Remembered": ("clew.model.memory", "Remembered"),
    "Identity": ("clew.model.scope", "Identity"),
    "Scope": ("clew.model.scope", "Scope"),
}


@dataclass
class Stub:
    """`imports`: under which name what is imported from where."""

    imports: dict[str, tuple[str, str]] = field(default_factory=lambda: dict(OWN_IMPORTS))
    classes: list[str] = field(default_factory=list)

    def text(self) -> str:
        self.classes.append(OWN + "\n".join(self.members(())))
        return HEAD + "\n".join(sorted(set(self._imported()))) + "\n" + "\n".join(self.classes)

    def _imported(self) -> Iterator[str]:
        for name, (module, original) in self.imports.items():
            given = original if name == original else f"{original} as {name}"
            yield f"from {module} import {given}" if module else f"import {name}"

    def members(self, path: tuple[str, ...]) -> Iterator[str]:
        for name, member in parts_of(path).items():
            if not path and name in OWN_NAMES:
                continue
            if isinstance(member, type):
                yield f"    @property\n    def {name}(self) -> {self.topic((*path, name))}: ..."
            else:
                yield self.verb((*path, name), member)

    def topic(self, path: tuple[str, ...]) -> str:
        name = "Async" + owner_of(path).__name__
        self.classes.append(f"class {name}:\n" + "\n".join(self.members(path)))
        return name

    def verb(self, path: tuple[str, ...], member: Any) -> str:
        function = member.fget if isinstance(member, property) else member
        node, names = definition_of(function), names_of(function.__module__)
        resolved = Resolver(self, names, function.__module__).visit(ast.parse(ast.unparse(node))).body[0]
        arguments = resolved.args
        if is_static(path):
            arguments.args.insert(0, ast.arg("self"))
        arguments.defaults = [ast.Constant(...) for _ in arguments.defaults]
        arguments.kw_defaults = [one and ast.Constant(...) for one in arguments.kw_defaults]
        returns = ast.unparse(resolved.returns)
        return f"    async def {path[-1]}({ast.unparse(arguments)}) -> {returns}: ..."

    def named(self, module: str, original: str) -> str:
        """The name under which the stub knows it; two of one name are told apart."""
        name = original
        while self.imports.setdefault(name, (module, original)) != (module, original):
            name += "_"
        return name


class Resolver(ast.NodeTransformer):
    """Names of annotations as the stub imports them."""

    def __init__(self, stub: Stub, names: dict[str, tuple[str, str]], module: str) -> None:
        self._stub, self._names, self._module = stub, names, module

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body, node.decorator_list = [], []
        given = node.args
        for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
            if argument and argument.annotation:
                argument.annotation = self.visit(argument.annotation)
        node.returns = self.visit(node.returns)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if hasattr(builtins, node.id):
            return node
        return ast.Name(self._stub.named(*self._names.get(node.id, (self._module, node.id))))

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """`decaying.DecayReport` is DecayReport of the module that is called decaying there."""
        assert isinstance(node.value, ast.Name)
        module, original = self._names[node.value.id]
        return ast.Name(self._stub.named(f"{module}.{original}" if module else original, node.attr))


def definition_of(function: Any) -> ast.FunctionDef:
    source = inspect.cleandoc("\n" + inspect.getsource(function))
    [node] = ast.parse(source).body
    assert isinstance(node, ast.FunctionDef)
    return node


@cache
def names_of(module: str) -> dict[str, tuple[str, str]]:
    """What a module imports, also for type checkers alone: name, (module, name there)."""
    found: dict[str, tuple[str, str]] = {}
    for node in ast.walk(ast.parse(inspect.getsource(sys.modules[module]))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
    return found


def formatted(text: str) -> str:
    for command in (["check", "--fix", "--quiet", "--select", "I"], ["format", "--quiet"]):
        words = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(STUB), "-"]
        text = subprocess.run(words, input=text, capture_output=True, text=True, check=True).stdout
    return text


def made() -> str:
    return formatted(Stub().text())


def main(words: list[str]) -> int:
    if "--check" in words:
        is_current = STUB.read_text(encoding="utf-8") == made()
        print("current" if is_current else "out of date: python tools/async_stub.py")
        return 0 if is_current else 1
    STUB.write_text(made(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
