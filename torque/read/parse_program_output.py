"""The output of Torque's programs: the XML of ``qstat -x`` and ``pbsnodes -x``, and the text of ``qstat -f``.

One user's control character in a job's name, account or variables makes the XML of all jobs invalid: such characters
are removed before it is parsed. Torque writes no document types and no entities of its own, so both are refused, and a
text of any length stays within the limit.
"""

from __future__ import annotations

from xml.parsers import expat

from hooks.pbs.files_and_output.parse_qmgr_list import parse_list

Texts = dict[str, str]

LONGEST = 1 << 28
"""More characters of a program's output are refused: a hundred thousand jobs have about a third of that."""
_CONTROLS = {code: None for code in range(32) if chr(code) not in "\t\n\r"} | {0xFFFE: None, 0xFFFF: None, 0x7F: None}
_NAMES = {"Job": "Job_Id", "Node": "name"}
_LONGEST_QUOTED = 120


class OutputError(ValueError):
    """A program's output that cannot be read; the message says where."""


def parse_objects(text: str, kind: str) -> dict[str, Texts]:
    """The objects of one kind (``Job`` or ``Node``) in a program's XML, by name, with resources under dotted names.
    An empty text has none. Raises :class:`OutputError`."""
    if len(text) > LONGEST:
        raise OutputError(f"the XML has {len(text):,} characters; allowed are {LONGEST:,}")
    cleaned = text.translate(_CONTROLS).strip()
    if not cleaned:
        return {}
    reader = _Reader(kind)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = reader.begin
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.take
    parser.StartDoctypeDeclHandler = _refuse
    parser.EntityDeclHandler = _refuse
    try:
        parser.Parse(cleaned.encode("utf-8", "replace"), True)
    except expat.ExpatError as error:
        raise OutputError(f"the XML cannot be read: {error}: {cleaned[:_LONGEST_QUOTED]!r}") from error
    return reader.objects


def parse_texts(text: str) -> dict[str, Texts]:
    """The objects in the text of ``qstat -Q -f`` or ``qstat -B -f``, by name."""
    return parse_list(text.translate(_CONTROLS)[:LONGEST])


def _refuse(*_: object) -> None:
    raise OutputError("the XML declares a document type or an entity, which Torque does not")


class _Reader:
    """Collects the objects: below the root one element for each, below that its attributes, below those resources."""

    def __init__(self, kind: str) -> None:
        self.objects: dict[str, Texts] = {}
        self._kind, self._name_tag = kind, _NAMES[kind]
        self._path: list[str] = []
        self._texts: Texts = {}
        self._text: list[str] = []

    def begin(self, tag: str, _attributes: object) -> None:
        self._path.append(tag)
        self._text = []
        if len(self._path) == 2:
            self._texts = {}

    def take(self, text: str) -> None:
        self._text.append(text)

    def end(self, tag: str) -> None:
        text, self._text = "".join(self._text), []
        if len(self._path) > 2 and (text.strip() or len(self._path) > 3):
            self._texts[".".join(self._path[2:])] = text.strip()
        elif len(self._path) == 2 and tag == self._kind:
            name = self._texts.pop(self._name_tag, "")
            if name:
                self.objects[name] = self._texts
        self._path.pop()
