"""From a condition's text to an Expression: Jinja2 parses it; anything but a few kinds of nodes is refused by name."""

from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import Environment, TemplateSyntaxError, nodes

from sparkops.core.playbook.expression import Both, Compare, Const, Defined, Expression, Items, Name, Not
from sparkops.core.playbook.names import BadExpression
from sparkops.core.schema import one_line

LONGEST = 1000
"""Most characters of a condition, so that none is deep or slow."""

_SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "lteq": "<=", "gt": ">", "gteq": ">=", "in": "in", "notin": "not in"}


def parse(text: str) -> Expression:
    """The condition; raises BadExpression with one line about what is not allowed."""
    if len(text) > LONGEST:
        raise BadExpression(f"is longer than {LONGEST} characters")
    if "{{" in text:
        raise BadExpression("write names in a condition without {{ }}")
    try:
        body = Environment(autoescape=False).parse("{{ " + text + " }}").body
        if len(body) != 1 or not isinstance(body[0], nodes.Output) or len(body[0].nodes) != 1:
            raise BadExpression("must be exactly one condition")
        return _read(body[0].nodes[0])
    except TemplateSyntaxError as error:
        raise BadExpression(one_line(f"cannot be read: {error.message}")) from None
    except SyntaxError as error:  # Jinja2 gives digits of every script to Python, which reads only 0 to 9
        raise BadExpression(one_line(f"cannot be read: {error.msg}")) from None
    except RecursionError:
        raise BadExpression("is nested too deeply") from None


def _read(node: nodes.Node) -> Expression:
    reader = _READERS.get(type(node))
    if reader is None:
        what = _KINDS.get(type(node), type(node).__name__.lower())
        raise BadExpression(f"{what} cannot be used in a condition")
    return reader(node)


def _item(node: nodes.Getattr | nodes.Getitem) -> Expression:
    inner = _read(node.node)
    key = node.attr if isinstance(node, nodes.Getattr) else getattr(node.arg, "value", None)
    if not isinstance(inner, Name) or not isinstance(key, (str, int)):
        raise BadExpression("`.key` and `[…]` can only follow a name, as in `result.code` or `hosts[0]`")
    return Name((*inner.path, key))


def _negative(node: nodes.Neg) -> Expression:
    value = getattr(node.node, "value", None)
    if not isinstance(value, (int, float)):
        raise BadExpression("a minus sign can only be in front of a number")
    return Const(-value)


def _test(node: nodes.Test) -> Expression:
    name = _read(node.node)
    if node.name not in ("defined", "undefined") or not isinstance(name, Name) or node.args:
        told = "only `defined` and `undefined` can follow `is`"
        raise BadExpression(f"{told}; to test a result, write `NAME.code == 0` or `NAME.ended == 'skipped'`")
    return Defined(name) if node.name == "defined" else Not(Defined(name))


def _filter(node: nodes.Filter) -> Expression:
    raise BadExpression(f"a filter (|) cannot be used in a condition{_INSTEAD.get(node.name, '')}")


def _chain(node: nodes.Compare) -> Expression:
    """`a < b < c` is `a < b and b < c`."""
    sides = [_read(node.expr), *(_read(operand.expr) for operand in node.ops)]
    links = [
        Compare(left, _SIGNS[operand.op], right)
        for left, operand, right in zip(sides, node.ops, sides[1:], strict=False)
    ]
    found: Expression = links[0]
    for link in links[1:]:
        found = Both(found, link)
    return found


def _items(node: nodes.List | nodes.Tuple) -> Expression:
    if isinstance(node, nodes.Tuple) and not node.items:
        raise BadExpression("is empty")
    return Items(tuple(_read(item) for item in node.items))


_READERS: Mapping[type[nodes.Node], Callable[[Any], Expression]] = {
    nodes.Const: lambda node: Const(node.value),
    nodes.Name: lambda node: Name((node.name,)),
    nodes.Getattr: _item,
    nodes.Getitem: _item,
    nodes.Neg: _negative,
    nodes.Not: lambda node: Not(_read(node.node)),
    nodes.And: lambda node: Both(_read(node.left), _read(node.right)),
    nodes.Or: lambda node: Both(_read(node.left), _read(node.right), either=True),
    nodes.Compare: _chain,
    nodes.Test: _test,
    nodes.Filter: _filter,
    nodes.List: _items,
    nodes.Tuple: _items,
}
_NUMBER = " and is not needed: in a comparison with a number, text such as '90' counts as a number"
_INSTEAD = {"int": _NUMBER, "float": _NUMBER, "default": "; set the default in `vars:`; `-e` overrides it"}
_ARITHMETIC = (nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Pow)
_KINDS: Mapping[type[nodes.Node], str] = {
    **dict.fromkeys(_ARITHMETIC, "arithmetic"),
    nodes.Call: "a call",
    nodes.Concat: "joining text (~)",
    nodes.CondExpr: "`if … else`",
    nodes.Dict: "a mapping",
}
