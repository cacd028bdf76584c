"""Values of which a pass makes several: equal by their fields, and the same again from another process."""

from __future__ import annotations

import ast
import copy
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

import policy
from policy.model.ledger_between_passes import Backfilled
from policy.plan.plan_types import Estimate
from policy.reasons.reason import Reason

VALUES = (
    Estimate("1.s", 10.0, 20.0), Backfilled(5.0, cuttable=True), Reason("reserved", (("idle", 4),)),
)  # fmt: skip


def sources() -> Iterator[ast.ClassDef]:
    """Each such class of the package, as it is written: a compiled one does not say what it is made of."""
    for path in sorted(Path(policy.__file__).parent.rglob("*.py")):
        for each in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(each, ast.ClassDef) and [ast.unparse(base) for base in each.bases] == ["ValueMadeOften"]:
                yield each


def test_a_value_comes_back_equal_from_another_process() -> None:
    for value in VALUES:
        assert pickle.loads(pickle.dumps(value)) == value  # noqa: S301 - our own bytes
        assert copy.copy(value) == copy.deepcopy(value) == value
        assert copy.copy(value) is not value


def test_values_are_equal_where_all_their_fields_are() -> None:
    one = Estimate("1.s", 10.0, 20.0)
    assert one == Estimate("1.s", 10.0, promised_s=20.0)
    assert hash(one) == hash(Estimate("1.s", 10.0, 20.0))
    assert one != Estimate("1.s", 10.0, 21.0)
    assert one != ("1.s", 10.0, 20.0)
    reason = Reason("reserved", (("idle", 4),))
    assert {reason: 1}[Reason("reserved", (("idle", 4),), ())] == 1
    assert reason != Reason("reserved", (("idle", 5),))
    assert reason != "reserved"


def test_a_value_is_shown_and_replaced_by_the_names_of_its_fields() -> None:
    one = Estimate("1.s", 10.0, 20.0)
    assert repr(one) == "Estimate(at_s=10.0, id='1.s', promised_s=20.0)"
    assert one._replace(at_s=11.0) == Estimate("1.s", 11.0, 20.0)
    assert one == Estimate("1.s", 10.0, 20.0)
    with pytest.raises(TypeError):
        one._replace(start_s=11.0)


def test_the_slots_of_each_are_the_arguments_that_it_is_made_of() -> None:
    """What is sent to another process, shown and compared are the slots."""
    found = {each.name: each for each in sources()}
    assert "Ledger" in found
    for each in found.values():
        (slots,) = (step.value for step in each.body if isinstance(step, ast.Assign))
        (init,) = (step for step in each.body if isinstance(step, ast.FunctionDef) and step.name == "__init__")
        made_of = [argument.arg for argument in init.args.args[1:]]
        assert sorted(made_of) == list(ast.literal_eval(slots)), each.name
