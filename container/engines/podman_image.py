"""The image that the podman engine's hosts are made of: named by the user, or built from `container/Containerfile` on
a Debian base that is pulled or, where no registry is reachable, made by debootstrap.

A built image has its recipe's digest as a label, so that an outdated one is recognised. Only one build at a time runs
on one store of images: the nameless images left by a build look the same as those of a build under way.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

from container.engines.call_podman import call_podman, limit_options, try_podman
from container.hosts.machine_and_host_requirements import read_pbs_exec
from container.run_program import SYSTEM_PATH, run
from container.testbed_spec import TestbedError, check_image

_RECIPE_FOLDER = Path(__file__).parents[1]
_RECIPE = ("Containerfile", "*.py", "hosts/*.py", "pbs/*.py")
_DIGEST_LABEL = "pbsteer.recipe"
_RECIPE_LABEL = "pbsteer.host"
"""A label of all images built from the recipe, including the intermediate ones."""
_DEB_BEGINS = b"!<arch>\n"
_OTHER_RELEASE = "bookworm"
_PULL_TIMEOUT_S = 300.0
_DEBOOTSTRAP_TIMEOUT_S = 900.0
_BUILD_TIMEOUT_S = 1800.0
_SCRATCH = Path("/var/tmp")  # noqa: S108


def resolve(image: str) -> str:
    """The image that a specification means: the named one, or ours for this machine's Debian release."""
    return image or f"localhost/pbsteer-host:{find_release(Path('/etc/os-release'))}"


def find_release(os_release: Path) -> str:
    """The Debian release of the hosts: the machine's, since its PBS is linked against that release's libraries.

    On a machine that is not Debian it is bookworm.
    """
    try:
        lines = os_release.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    fields = {key: value.strip("\"'") for key, _, value in (line.partition("=") for line in lines)}
    return fields.get("VERSION_CODENAME", _OTHER_RELEASE) if fields.get("ID") == "debian" else _OTHER_RELEASE


def provide(image: str, say: Callable[[str], None]) -> None:
    """Make sure that the image exists: pull a named one, build ours where it is absent or outdated.

    `TestbedError` says what was tried.
    """
    name = resolve(image)
    if image:
        check_image(image)
        if not _exists(name):
            say(f"pulling the image {name}")
            call_podman(["pull", "--quiet", name], timeout_s=_PULL_TIMEOUT_S)
    elif _read_digest(name) != _digest_recipe():
        build(name, base=None, packages=None, say=say)


def build(name: str, *, base: str | None, packages: Path | None, say: Callable[[str], None]) -> None:
    """Build the image ``name`` from the recipe, on ``base`` (default: Debian), with the PBS from the folder
    ``packages``.

    Without packages the image has no PBS, and its hosts need an installed one mounted. Raises `TestbedError`.
    """
    check_image(name)
    chosen = list_packages(packages) if packages is not None else []
    start_s = time.monotonic()
    below = base or _provide_base(find_release(Path("/etc/os-release")), say)
    say(f"building the image {name} on {below}: packages from Debian's archive, about a minute")
    with tempfile.TemporaryDirectory(prefix="pbsteer-image-", dir=_SCRATCH) as scratch:
        context = Path(scratch)
        for source in _list_recipe():
            target = context / source.relative_to(_RECIPE_FOLDER)
            target.parent.mkdir(exist_ok=True)
            shutil.copy(source, target)
        (context / "packages").mkdir()
        for package in chosen:
            shutil.copy(package, context / "packages")
        options = ["--tag", name, "--build-arg", f"BASE={below}", "--label", f"{_DIGEST_LABEL}={_digest_recipe()}"]
        with _alone(say):
            try:
                call_podman(["build", *options, *limit_options(), str(context)], timeout_s=_BUILD_TIMEOUT_S)
            finally:
                _remove_nameless()
    say(f"built the image {name} in {time.monotonic() - start_s:.0f} s")


def list_packages(folder: Path) -> list[Path]:
    """The .deb files in a folder; `TestbedError` if there is none, one is not a package, or there are .rpm files."""
    debs, rpms = sorted(folder.glob("*.deb")), sorted(folder.glob("*.rpm"))
    if rpms:
        raise TestbedError(
            f"{rpms[0]}: an .rpm is linked against another distribution's libraries and does not run on a Debian image;"
            " install it on a machine of that distribution and run the testbed there, or give a .deb"
        )
    if not debs:
        raise TestbedError(f"no .deb file in {folder}; put PBS's server package there (it contains the MoM)")
    for deb in debs:
        with deb.open("rb") as opened:
            if opened.read(len(_DEB_BEGINS)) != _DEB_BEGINS:
                raise TestbedError(f"{deb} is no Debian package, or only a part of one")
    return debs


def find_pbs(image: str) -> str | None:
    """PBS_EXEC of the PBS in an image, or None if it has none."""
    argv = ["run", "--rm", "--network", "none", "--entrypoint", "", *limit_options(), resolve(image)]
    return read_pbs_exec(call_podman([*argv, "sh", "-c", "cat /etc/pbs.conf || true"]).stdout)


def _provide_base(release: str, say: Callable[[str], None]) -> str:
    """A bare Debian of this release: made here before, else a published one, else made now."""
    made, published = f"localhost/pbsteer-debian:{release}", f"docker.io/library/debian:{release}-slim"
    for name in (made, published):
        if _exists(name):
            return name
    say(f"pulling {published}")
    pulled = try_podman(["pull", "--quiet", published], timeout_s=_PULL_TIMEOUT_S)
    if pulled.status == 0:
        return published
    if shutil.which("debootstrap", path=SYSTEM_PATH) is None:
        raise TestbedError(
            f"no Debian base image: {pulled.stderr.strip()[-300:]}; and no program 'debootstrap' to make one (Debian's"
            " package debootstrap has it). Name a base: pbsteer testbed image --base NAME"
        )
    say(f"no registry answers: making a Debian {release} with debootstrap, about a minute")
    with tempfile.TemporaryDirectory(prefix="pbsteer-debian-", dir=_SCRATCH) as scratch:
        tree, archive = Path(scratch) / "tree", Path(scratch) / "tree.tar"
        # In its own namespaces: what debootstrap mounts in the tree is unmounted with it, even if it is killed.
        apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        bootstrap = [*apart, "debootstrap", "--variant=minbase", release, str(tree)]
        run(bootstrap, timeout_s=_DEBOOTSTRAP_TIMEOUT_S, env=os.environ).demand_success()
        run(["tar", "-C", str(tree), "-cf", str(archive), "."], timeout_s=_BUILD_TIMEOUT_S).demand_success()
        call_podman(["import", "--quiet", str(archive), made], timeout_s=_BUILD_TIMEOUT_S)
    return made


@contextlib.contextmanager
def _alone(say: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock for builds, on podman's folder of images, waiting for another build to end."""
    store = call_podman(["info", "--format", "{{.Store.GraphRoot}}"]).stdout.strip()
    try:
        folder = os.open(store, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise TestbedError(f"cannot lock {store!r}, where podman keeps its images: {error.strerror}") from error
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another image is being built: waiting for its end")
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _remove_nameless() -> None:
    """Remove the nameless images of failed builds, and one whose name a newer image has taken, unless a host uses
    it.
    """
    with contextlib.suppress(TestbedError):
        try_podman(["image", "prune", "--force", "--filter", f"label={_RECIPE_LABEL}"])


def _exists(name: str) -> bool:
    return try_podman(["image", "exists", name]).status == 0


def _read_digest(name: str) -> str:
    """The recipe's digest in an image's label, or nothing where there is no such image."""
    argv = ["image", "inspect", "--format", f'{{{{index .Labels "{_DIGEST_LABEL}"}}}}', name]
    return try_podman(argv).stdout.strip()


def _digest_recipe() -> str:
    digest = hashlib.sha256()
    for source in _list_recipe():
        digest.update(str(source.relative_to(_RECIPE_FOLDER)).encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()


def _list_recipe() -> list[Path]:
    return sorted(path for pattern in _RECIPE for path in _RECIPE_FOLDER.glob(pattern))
