"""The parts of a condition. Each evaluates itself as far as names are known, and prints itself."""

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sparkops.core.playbook.names import BadExpression, Names, Path, dotted, lookup, unknown
from sparkops.core.schema import one_line, scalar

SIGNS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda left, right: left in right,
    "not in": lambda left, right: left not in right,
}


class Expression:
    def names(self) -> "Iterator[Name]":
        """Every name in the expression, from left to right; by default those of the fields."""
        for value in vars(self).values():
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, Expression):
                    yield from part.names()

    def settle(self, known: Names) -> "Expression":
        """The expression with the known names replaced by their values; a `Const` when none is left."""
        return self


@dataclass(frozen=True)
class Const(Expression):
    value: Any

    def __str__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True)
class Name(Expression):
    path: Path

    @property
    def root(self) -> str:
        return str(self.path[0])

    def names(self) -> "Iterator[Name]":
        yield self

    def settle(self, known: Names) -> Expression:
        return Const(lookup(self.path, known)) if self.root in known else self

    def __str__(self) -> str:
        return dotted(self.path)


@dataclass(frozen=True)
class Defined(Expression):
    name: Name

    def settle(self, known: Names) -> Expression:
        if self.name.root not in known:
            return self
        try:
            return Const(lookup(self.name.path, known) is not None)
        except BadExpression:
            return Const(False)

    def __str__(self) -> str:
        return f"{self.name} is defined"


@dataclass(frozen=True)
class Not(Expression):
    inner: Expression

    def settle(self, known: Names) -> Expression:
        done = self.inner.settle(known)
        return Const(not done.value) if isinstance(done, Const) else Not(done)

    def __str__(self) -> str:
        return f"not ({self.inner})" if isinstance(self.inner, Both) else f"not {self.inner}"


@dataclass(frozen=True)
class Both(Expression):
    """`left and right`; with `either`, `left or right`."""

    left: Expression
    right: Expression
    either: bool = False

    def settle(self, known: Names) -> Expression:
        """If the left side decides, the right side is not evaluated, as in `x is defined and x > 1`."""
        left = self.left.settle(known)
        if isinstance(left, Const):
            return left if bool(left.value) is self.either else self.right.settle(known)
        right = self.right.settle(known)
        if isinstance(right, Const) and bool(right.value) is self.either:
            return right
        return Both(left, right, self.either)

    def __str__(self) -> str:
        return f"({self.left}) {'or' if self.either else 'and'} ({self.right})"


@dataclass(frozen=True)
class Compare(Expression):
    left: Expression
    sign: str
    right: Expression

    def settle(self, known: Names) -> Expression:
        left, right = self.left.settle(known), self.right.settle(known)
        if not isinstance(left, Const) or not isinstance(right, Const):
            return Compare(left, self.sign, right)
        try:
            return Const(bool(SIGNS[self.sign](*_alike(left.value, right.value))))
        except TypeError:
            told = f"{left.value!r:.40} {self.sign} {right.value!r:.40}"
            raise BadExpression(one_line(f"these values cannot be compared: {told}")) from None

    def __str__(self) -> str:
        return f"{self.left} {self.sign} {self.right}"


def _alike(left: Any, right: Any) -> tuple[Any, Any]:
    """Both sides for a comparison: beside a number, text that is a number (output of a command) counts as one."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, str) and isinstance(other, (int, float)) and not isinstance(other, bool):
            number = scalar(one.strip())
            if isinstance(number, (int, float)) and not isinstance(number, bool):
                return (number, right) if one is left else (left, number)
    return left, right


@dataclass(frozen=True)
class Items(Expression):
    items: tuple[Expression, ...]

    def settle(self, known: Names) -> Expression:
        done = tuple(item.settle(known) for item in self.items)
        values = tuple(item.value for item in done if isinstance(item, Const))
        return Const(values) if len(values) == len(done) else Items(done)

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.items))}]"


def holds(expression: Expression, known: Names) -> bool:
    """Whether the condition is true; raises BadExpression if a name in it is unknown."""
    done = expression.settle(known)
    if isinstance(done, Const):
        return bool(done.value)
    raise BadExpression(unknown(next(done.names()).root, known))
