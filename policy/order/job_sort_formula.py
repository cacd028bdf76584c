"""PBS's ``job_sort_formula`` and ``fairshare_usage_res``: read with Python's parser, computed for many jobs at once.

PBS evaluates them as Python expressions with the names of :mod:`math` (Administrator's Guide, "Using a Formula for
Computing Job Execution Priority"). Here each node of the expression is computed for all jobs before the next node, and
nothing but numbers is ever evaluated.
"""

from __future__ import annotations

import ast
import math
import operator
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from struct import pack, unpack
from typing import Any, Callable

LONGEST = 4000
"""The most characters of a formula."""
ELIGIBLE_TIME, ACCRUE_TYPE = "eligible_time", "accrue_type"
QUEUE_PRIORITY, JOB_PRIORITY = "queue_priority", "job_priority"
SHARE, SHARE_OLD, TREE_USAGE, SHARE_FACTOR = (
    "fairshare_perc", "fair_share_perc", "fairshare_tree_usage", "fairshare_factor",
)  # fmt: skip
OF_SHARE = frozenset({SHARE, SHARE_OLD, TREE_USAGE, SHARE_FACTOR})
"""The keywords that a job has from its fair share entity."""
KEYWORDS = frozenset({ELIGIBLE_TIME, QUEUE_PRIORITY, JOB_PRIORITY, ACCRUE_TYPE}) | OF_SHARE
_NO_NUMBER = -1.0
"""What PBS makes of a value that is no real number (``PyFloat_AsDouble``)."""
_MOST_BITS = 4096
"""Powers of whole numbers that have more bits than this are not computed: the job gets zero, as for any other error."""

_AT_ONCE = 1024
"""So many jobs are computed together that the values of all parts of a formula stay in the processor's cache."""
_FAILURES = (ArithmeticError, ValueError, TypeError)

Column = Sequence[Any]
Columns = Mapping[str, Column]


class FormulaError(ValueError):
    """A formula that cannot be evaluated here; the message names the part."""


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * abs(exponent) > _MOST_BITS:
        raise OverflowError
    return base**exponent


_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}
_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_CONSTANTS = {name: getattr(math, name) for name in ("e", "inf", "nan", "pi", "tau")}
_MATH = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "copysign", "cos", "cosh", "degrees", "erf",
    "erfc", "exp", "expm1", "fabs", "floor", "fmod", "gamma", "hypot", "isfinite", "isinf", "isnan", "lgamma", "log",
    "log10", "log1p", "log2", "pow", "radians", "remainder", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
)  # fmt: skip
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{name: getattr(math, name) for name in _MATH},
    "abs": abs,
    "bool": bool,
    "float": float,
    "int": int,
    "max": max,
    "min": min,
    "round": round,
}


class JobSortFormula:
    """One expression. ``uses``: the names in it whose values belong to jobs, in alphabetical order."""

    __slots__ = ("_tree", "text", "uses")

    def __init__(self, text: str, tree: ast.expr, uses: tuple[str, ...]) -> None:
        self.text = text
        self._tree = tree
        self.uses = uses

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JobSortFormula) and self.text == other.text and self.uses == other.uses

    def __hash__(self) -> int:
        return hash((self.text, self.uses))

    def values(self, columns: Columns, count: int) -> list[float]:
        """The formula's value for each of ``count`` jobs, from a column of numbers for each name of ``uses``.

        As in PBS, a job for which the evaluation fails has the value zero.
        """
        found: list[float] = []
        for first in range(0, count, _AT_ONCE):
            some = {name: column[first : first + _AT_ONCE] for name, column in columns.items()}
            found += _Evaluation(some).values(self._tree, min(_AT_ONCE, count - first))
        return found


def read_formula(text: str, names: Collection[str]) -> JobSortFormula:
    """Read a formula of these names, beside those of :mod:`math`. Raises :class:`FormulaError`."""
    if len(text) > LONGEST:
        raise FormulaError(f"has {len(text):,} characters; {LONGEST:,} are the most that are read")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        uses: set[str] = set()
        _check(tree, names, uses)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, FormulaError):
            raise
        raise FormulaError("is no expression that can be read") from None
    return JobSortFormula(text, tree, tuple(sorted(uses)))


def as_float32(value: float) -> float:
    """The value as PBS's scheduler keeps it, in 32 bits: two jobs that differ by less are equal to it."""
    try:
        return float(unpack("f", pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def as_float32s(values: Sequence[float]) -> Sequence[float]:
    """All of the values as :func:`as_float32` has them."""
    return array("f", values).tolist()


def _check(node: ast.expr, names: Collection[str], uses: set[str]) -> None:
    """Add the names of jobs to ``uses``. Raises :class:`FormulaError` for anything that is not computed here."""
    parts: Sequence[ast.expr] = ()
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        if isinstance(node.value, int) and node.value.bit_length() > _MOST_BITS:
            raise FormulaError("has a number that is too large")
    elif isinstance(node, ast.Name):
        if node.id not in _CONSTANTS:
            if node.id not in names:
                raise FormulaError(f"has {node.id!r}, which is neither a keyword nor a resource that is a number")
            uses.add(node.id)
    elif isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        parts = (node.left, node.right)
    elif isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
        parts = (node.operand,)
    elif isinstance(node, ast.BoolOp):
        parts = node.values
    elif isinstance(node, ast.IfExp):
        parts = (node.test, node.body, node.orelse)
    elif isinstance(node, ast.Compare) and all(type(op) in _COMPARE for op in node.ops):
        parts = (node.left, *node.comparators)
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in _FUNCTIONS
        and node.args
        and not node.keywords
        and not any(isinstance(part, ast.Starred) for part in node.args)
    ):
        parts = node.args
    else:
        raise FormulaError(f"has {ast.unparse(node)[:60]!r}, which is not evaluated here")
    for part in parts:
        _check(part, names, uses)


class _Evaluation:
    """One evaluation over all jobs, a row for each. ``failed``: the rows in which some node failed; they go on with a
    placeholder."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self.failed: set[int] = set()

    def values(self, node: ast.expr, count: int) -> list[float]:
        """The expression's value for each of ``count`` rows, zero for those that failed."""
        rows = range(count)
        computed = self.compute(node, rows)
        try:
            values = list(map(float, computed))
        except _FAILURES:
            values = self.map(_as_number, rows, computed)
        for row in self.failed:
            values[row] = 0.0
        return values

    def map(self, function: Callable[..., Any], rows: Sequence[int], *arguments: Column) -> list[Any]:
        """The function's value for each row. Only if a row fails are they computed one by one."""
        try:
            return list(map(function, *arguments))
        except _FAILURES:
            return [self._attempt(function, row, each) for row, each in zip(rows, zip(*arguments))]

    def _attempt(self, function: Callable[..., Any], row: int, arguments: tuple[Any, ...]) -> Any:
        try:
            return function(*arguments)
        except _FAILURES:
            self.failed.add(row)
            return 1

    def compute(self, node: ast.expr, rows: Sequence[int]) -> Column:
        """The values of one node, for these rows."""
        if isinstance(node, ast.Constant):
            return [node.value] * len(rows)
        if isinstance(node, ast.Name):
            if node.id in _CONSTANTS:
                return [_CONSTANTS[node.id]] * len(rows)
            column = self._columns[node.id]
            return column if len(rows) == len(column) else [column[row] for row in rows]
        if isinstance(node, ast.BinOp):
            left, right = self.compute(node.left, rows), self.compute(node.right, rows)
            return self.map(_BINARY[type(node.op)], rows, left, right)
        if isinstance(node, ast.UnaryOp):
            return self.map(_UNARY[type(node.op)], rows, self.compute(node.operand, rows))
        if isinstance(node, ast.Call):
            assert isinstance(node.func, ast.Name)  # noqa: S101 - checked when it was read
            return self.map(_FUNCTIONS[node.func.id], rows, *(self.compute(part, rows) for part in node.args))
        if isinstance(node, ast.IfExp):
            chosen = [bool(value) for value in self.compute(node.test, rows)]
            of_body = self._some(node.body, rows, chosen)
            of_orelse = self._some(node.orelse, rows, [not first for first in chosen])
            return [next(of_body) if first else next(of_orelse) for first in chosen]
        if isinstance(node, ast.BoolOp):
            return self._all_or_any(node, rows)
        assert isinstance(node, ast.Compare)  # noqa: S101 - checked when it was read
        left = self.compute(node.left, rows)
        holds: Column = [True] * len(rows)
        for op, comparator in zip(node.ops, node.comparators):
            right = self.compute(comparator, rows)
            now = self.map(_COMPARE[type(op)], rows, left, right)
            holds, left = [so_far and holds_now for so_far, holds_now in zip(holds, now)], right
        return holds

    def _some(self, node: ast.expr, rows: Sequence[int], wanted: Sequence[bool]) -> Iterator[Any]:
        """The values of a node for the rows that want it, in order."""
        return iter(self.compute(node, [row for row, wants in zip(rows, wanted) if wants]))

    def _all_or_any(self, node: ast.BoolOp, rows: Sequence[int]) -> Column:
        """``and`` and ``or``: a row computes no further part once its outcome is certain."""
        found = self.compute(node.values[0], rows)
        for part in node.values[1:]:
            goes_on = [bool(value) == isinstance(node.op, ast.And) for value in found]
            more = self._some(part, rows, goes_on)
            found = [next(more) if on else value for value, on in zip(found, goes_on)]
        return found


def _as_number(value: Any) -> float:
    return _NO_NUMBER if isinstance(value, complex) else float(value)
