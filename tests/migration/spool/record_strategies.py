"""Random records, with every text that a user may think of."""

from dataclasses import fields

from hypothesis import strategies as st

from policy.migration.job_record_and_copy_updates import Record
from policy.migration.job_states_and_transitions import FINAL, STATES

TEXTS = st.one_of(
    st.sampled_from(
        ("", "-x", "a b", "\t", "\n", "%", "%00", "=", ",", "a=b,c%09", "\udcff", "\U0001f600", "\x00", "é" * 127)
    ),
    st.text(max_size=20).map(lambda text: text.encode("utf-8", "replace").decode()),
)
_ELEMENTS = TEXTS.filter(lambda text: "\0" not in text)
_BY_TYPE = {
    str: TEXTS,
    int: st.integers(0, 10**17),
    tuple: st.lists(_ELEMENTS, max_size=4).map(tuple),
}
_OWN = {
    "gid": st.builds("{}.{}".format, st.sampled_from(("a", "b-2")), st.integers(1, 9)),
    "state": st.sampled_from(STATES),
    "then": st.sampled_from(("", *sorted(FINAL))),
    "avoid": st.lists(st.sampled_from(("b", "c-3")), max_size=2).map(tuple),
    "attempt": st.integers(1, 3),
    "rev": st.integers(1, 9),
    "more": st.dictionaries(st.sampled_from(("newer", "other_key")), TEXTS),
}
RECORDS = st.builds(
    Record, **{one.name: _OWN[one.name] if one.name in _OWN else _BY_TYPE[type(one.default)] for one in fields(Record)}
)  # fmt: skip
