"""Requests that no command of PBS sends, by a program that uses its library as any user may: with texts of any bytes
and numbers of any size."""

from __future__ import annotations

from tests.pbs.cluster import PbsCluster

_PROGRAM = r"""
import ctypes, glob, sys

exec_path, what, name, *attributes = sys.argv[1:]
library = ctypes.CDLL(glob.glob(exec_path + "/lib/libpbs.so*")[0])


class Attribute(ctypes.Structure):
    pass


text, number = ctypes.c_char_p, ctypes.c_int
texts = [(name, text) for name in ("name", "resource", "value")]
Attribute._fields_ = [("next", ctypes.POINTER(Attribute)), *texts, ("op", number)]
# The library's own checks of attributes are the client's, and so need not be made.
unchecked = ctypes.CFUNCTYPE(number, number, number, number, number, ctypes.c_void_p)(lambda *_: 0)
ctypes.c_void_p.in_dll(library, "pfn_pbs_verify_attributes").value = ctypes.cast(unchecked, ctypes.c_void_p).value
library.pbs_submit_resv.restype = library.pbs_modify_resv.restype = text
library.pbs_submit.restype = library.pbs_geterrmsg.restype = text
first = None
for attribute in reversed(attributes):
    key, _, value = attribute.encode("utf-8", "surrogateescape").partition(b"=")
    whole, _, resource = key.partition(b".")
    first = Attribute(ctypes.pointer(first) if first else None, whole, resource or None, value, 0)
server, sent = library.pbs_connect(None), ctypes.byref(first)
if what == "alter":
    answer = library.pbs_modify_resv(server, name.encode(), sent, None)
elif what == "reserve":
    answer = library.pbs_submit_resv(server, sent, None)
elif what == "alter job":
    answer = b"" if library.pbs_alterjob(server, name.encode(), sent, None) else b"True"
else:
    answer = library.pbs_submit(server, sent, name.encode() or None, None, None)
print((answer or library.pbs_geterrmsg(server) or b"").decode())
"""


def ask_by_library(pbs: PbsCluster, user: str, what: str, name: str, *attributes: str) -> str:
    """What the server answers to ``reserve``, to ``alter`` the reservation ``name``, to ``alter job`` ``name``
    (``True``: done), or to ``submit`` the script ``name``. Attributes are ``NAME=VALUE`` or ``NAME.RESOURCE=VALUE``."""
    argv = ["/usr/bin/python3", "-I", "-c", _PROGRAM, str(pbs.spec.pbs_exec), what, name, *attributes]
    return pbs.run(argv, user=user).demand_success().stdout.strip()
