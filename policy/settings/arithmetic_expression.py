"""Arithmetic expressions in a settings file, such as ``min(compute, memory)``.

Python's own parser reads the text, and only numbers, the names given, ``+ - * /``, ``min`` and ``max`` are evaluated:
an expression can do nothing but compute a number.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Mapping, Sequence
from typing import Callable, NamedTuple

LONGEST = 300
"""The most characters of an expression."""

Values = Mapping[str, float]
Evaluate = Callable[[Values], float]


class ExpressionError(ValueError):
    """An expression that cannot be read; the message quotes what is not allowed."""


class Expression(NamedTuple):
    """``uses``: the names in it, in the order in which they are allowed; ``value``: computes it from their values."""

    uses: tuple[str, ...]
    value: Evaluate


_OPERATORS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_FUNCTIONS: Mapping[str, Callable[..., float]] = {"min": min, "max": max}


def read_expression(text: str, names: Sequence[str]) -> Expression:
    """Read an expression of these names. Raises :class:`ExpressionError`."""
    if len(text) > LONGEST:
        raise ExpressionError(f"{text[:60]!r}... has {len(text):,} characters; allowed are {LONGEST}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ExpressionError(f"{text!r} is no expression; {_allowed(names)}") from None
    used: set[str] = set()
    value = _compile(tree, names, used)
    return Expression(tuple(name for name in names if name in used), value)


def _allowed(names: Sequence[str]) -> str:
    return f"allowed are numbers, {', '.join(names)}, + - * /, min() and max()"


def _compile(node: ast.expr, names: Sequence[str], used: set[str]) -> Evaluate:
    """A function that computes one node; the names in it are added to ``used``."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        number = float(node.value) if abs(node.value) < 1e300 else float("inf")
        return lambda _values: number
    if isinstance(node, ast.Name) and node.id in names:
        name = node.id
        used.add(name)
        return lambda values: values[name]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        sign, operand = (-1 if isinstance(node.op, ast.USub) else 1), _compile(node.operand, names, used)
        return lambda values: sign * operand(values)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        operate = _OPERATORS[type(node.op)]
        left, right = _compile(node.left, names, used), _compile(node.right, names, used)
        return lambda values: operate(left(values), right(values))
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in _FUNCTIONS
        and len(node.args) >= 2
        and not node.keywords
    ):
        function, arguments = _FUNCTIONS[node.func.id], [_compile(each, names, used) for each in node.args]
        return lambda values: function([argument(values) for argument in arguments])
    raise ExpressionError(f"{ast.unparse(node)!r} is not allowed in an expression; {_allowed(names)}")
