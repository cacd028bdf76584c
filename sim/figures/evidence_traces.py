"""The traces of docs/evidence.md: what they are, where a reader gets them, and how to know that a file is the same.

All but one are recorded: from the Parallel Workloads Archive (Feitelson, Tsafrir, Krakov, "Experience with using the
Parallel Workloads Archive", JPDC 74(10), 2014), or brought along by the simulator Alea; none is part of this project.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

_ARCHIVE = "https://www.cs.huji.ac.il/labs/parallel/workload"
_ALEA = "https://github.com/aleasimulator/alea/tree/master/Alea/data-set"


class EvidenceTrace(NamedTuple):
    """A trace by its file's name. ``page`` is where the file is linked; ``cluster`` is the cluster where the header
    does not say it as whole nodes; ``sha256`` is that of the file of the published figures, "" if there are none.
    """

    file: str
    what: str
    page: str
    cluster: str | None = None
    sha256: str = ""

    def problem(self, path: Path) -> str | None:
        """Why the figures may differ from the published ones: another file. None for the same file, or where none are
        published."""
        if not self.sha256 or sha256_of(path) == self.sha256:
            return None
        return f"{path}: is not the file of the published figures (sha256 {self.sha256}); its figures may differ"


TRACES = (
    EvidenceTrace(
        "KTH-SP2-1996-2.1-cln.swf.gz",
        "100-node IBM SP2, Royal Institute of Technology, Stockholm, 1996-97",
        f"{_ARCHIVE}/l_kth_sp2/index.html",
        sha256="c8c1a8db8b99cce4aa8d823a769280debca90485e30758ba35a76b17ac5485bb",
    ),
    EvidenceTrace(
        "CEA-Curie-2011-2.1-cln.swf.gz",
        "Bull cluster of 5,544 nodes and 93,312 cores, CEA, 2012; replayed as equal nodes of 16 cores",
        f"{_ARCHIVE}/l_cea_curie/index.html",
        "5832x16",
        "2a0fdbd40837590b491bbbac7d4cfe521de1f0b14c0dc39bbf82c4e49ea75bce",
    ),
    EvidenceTrace(
        "CTC-SP2-1996-3.1-cln.swf.gz",
        "IBM SP2, Cornell Theory Center, 1996-97",
        f"{_ARCHIVE}/l_ctc_sp2/index.html",
    ),
    EvidenceTrace(
        "SDSC-SP2-1998-4.2-cln.swf.gz",
        "128-node IBM SP2, San Diego Supercomputer Center, 1998-2000",
        f"{_ARCHIVE}/l_sdsc_sp2/index.html",
    ),
    EvidenceTrace(
        "SDSC-BLUE-2000-4.2-cln.swf.gz",
        "Blue Horizon, 144 nodes of 8 processors, San Diego Supercomputer Center, 2000-03",
        f"{_ARCHIVE}/l_sdsc_blue/index.html",
    ),
    EvidenceTrace(
        "HPC2N-2002-2.2-cln.swf.gz",
        "Linux cluster of 120 nodes of 2 processors, Umea, Sweden, 2002-06",
        f"{_ARCHIVE}/l_hpc2n/index.html",
    ),
    EvidenceTrace(
        "hpc2n.swf",
        "Linux cluster of 120 nodes of 2 processors, Umea, Sweden, the first two months of 2002's trace",
        _ALEA,
        sha256="eaaccb339ef0f313d1b975cf02cc518b7cc012fb0c609ef2af2dbd0291aa74ba",
    ),
    EvidenceTrace(
        "wagap-2013.swf",
        "two PBS clusters of MetaCentrum, Czech Republic, early 2013: 20 nodes of 80 cores and 48 of 12; replayed as"
        " one machine of single processors",
        _ALEA,
        "2176x1",
        "bf5c1cc69915f2d5d26c579f69e206513ceff9bd60e6c4b112182da0c6183ed7",
    ),
    EvidenceTrace(
        "lublin_256.swf",
        "10,000 jobs drawn from the model of Lublin and Feitelson for 256 processors; one user, exact estimates",
        "https://github.com/DIR-LAB/deep-batch-scheduler/tree/master/data",
        "256x1",
        "a394ab3d81179ebcf645a1cbd593a60b6dff7f11a510e1e6285c45f43310c962",
    ),
)


def sha256_of(path: Path) -> str:
    """The digest of a file's bytes. Raises OSError."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
