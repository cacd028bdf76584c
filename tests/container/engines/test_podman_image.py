"""Which image a testbed's containers are made of, and what is refused before anything is built."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from container.engines import podman_image
from container.run_program import Finished
from container.testbed_spec import TestbedError


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("ID=debian\nVERSION_CODENAME=trixie\n", "trixie"),
        ('ID="debian"\nVERSION_CODENAME="bookworm"\n', "bookworm"),
        ("ID=ubuntu\nVERSION_CODENAME=noble\n", "bookworm"),
        ("ID=debian\n", "bookworm"),
    ],
)
def test_hosts_run_the_debian_release_that_the_machine_runs(tmp_path: Path, text: str, release: str) -> None:
    (tmp_path / "os-release").write_text(text)
    assert podman_image.find_release(tmp_path / "os-release") == release


def test_a_machine_that_does_not_say_what_it_is_counts_as_no_debian(tmp_path: Path) -> None:
    assert podman_image.find_release(tmp_path / "absent") == "bookworm"


def test_a_named_image_is_taken_as_it_is_named() -> None:
    assert podman_image.resolve("site/pbs:1") == "site/pbs:1"


def test_only_debian_packages_are_taken_in_order(tmp_path: Path) -> None:
    for name in ("b.deb", "a.deb", "notes.txt"):
        (tmp_path / name).write_bytes(b"!<arch>\ndebian-binary")
    assert [path.name for path in podman_image.list_packages(tmp_path)] == ["a.deb", "b.deb"]


def test_an_rpm_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "pbs.deb").touch()
    (tmp_path / "pbs.rpm").touch()
    with pytest.raises(TestbedError, match=r"pbs\.rpm: .*another distribution.*give a \.deb"):
        podman_image.list_packages(tmp_path)


@pytest.mark.parametrize("content", [b"", b"<html>404</html>"])
def test_a_file_that_is_no_package_is_refused_before_anything_is_built(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "pbs.deb").write_bytes(content)
    with pytest.raises(TestbedError, match=r"pbs\.deb is no Debian package"):
        podman_image.list_packages(tmp_path)


@pytest.mark.parametrize("name", ["BAD NAME", "-x", ""])
def test_what_can_be_no_image_is_refused_before_anything_is_built(name: str) -> None:
    with pytest.raises(TestbedError, match="not a name that podman takes"):
        podman_image.build(name, base=None, packages=None, say=lambda _: None)


def noting(said: Path, cases: str) -> str:
    """A podman that notes its arguments, a call a line, and does what the cases of a shell say."""
    return f'#!/bin/sh\necho "$*" >> {said}\ncase "$*" in {cases} esac\n'


def test_a_build_waits_for_another_one_that_keeps_its_images_there(podman_program: Path, tmp_path: Path) -> None:
    """What the other has made so far would go with what this one leaves."""
    said, waits = tmp_path / "said", threading.Event()
    podman_program.write_text(noting(said, f'*" info "*) echo {tmp_path};;'))
    other = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    heard: list[str] = []

    def hear(sentence: str) -> None:
        heard.append(sentence)
        if "another image is being built" in sentence:
            waits.set()

    building = threading.Thread(
        target=podman_image.build, args=("t",), kwargs={"base": "b", "packages": None, "say": hear}
    )
    building.start()
    try:
        assert waits.wait(60.0)
        assert not any(" build " in line or " prune " in line for line in said.read_text().splitlines())
    finally:
        os.close(other)
        building.join(60.0)
    assert [line.split()[1] for line in said.read_text().splitlines()] == ["info", "build", "image"]
    assert heard[-1].startswith("built the image t")


@pytest.mark.parametrize("store", ["", "/no/such/folder"])
def test_a_store_of_images_that_is_not_there_is_named(podman_program: Path, tmp_path: Path, store: str) -> None:
    said = tmp_path / "said"
    podman_program.write_text(noting(said, f'*" info "*) echo {store};;'))
    with pytest.raises(TestbedError, match=f"cannot lock '{store}', where podman keeps its images: No such file"):
        podman_image.build("t", base="b", packages=None, say=lambda _: None)
    assert " build " not in said.read_text()


def test_what_a_build_that_fails_has_left_is_removed(podman_program: Path, tmp_path: Path) -> None:
    said = tmp_path / "said"
    podman_program.write_text(noting(said, f'*" info "*) echo {tmp_path};; *" build "*) exit 125;;'))
    with pytest.raises(TestbedError, match="podman build"):
        podman_image.build("t", base="b", packages=None, say=lambda _: None)
    assert said.read_text().splitlines()[-1].endswith("image prune --force --filter label=pbsteer.host")
    recipe = (Path(podman_image.__file__).parents[1] / "Containerfile").read_text()
    assert "LABEL pbsteer.host=" in recipe


def test_the_image_has_all_that_a_host_runs(podman_program: Path, tmp_path: Path) -> None:
    """The build copies the recipe's files, and the Containerfile's COPY lines take them into the image."""
    calls, context = tmp_path / "calls", tmp_path / "context"
    podman_program.write_text(
        noting(calls, f'*" info "*) echo {tmp_path};; *" build "*) for x; do :; done; cp -r "$x" {context};;')
    )
    podman_image.build("t", base="b", packages=None, say=lambda _: None)
    image = tmp_path / "image"
    for line in (context / "Containerfile").read_text().splitlines():
        if line.startswith("COPY ") and line.split()[1].endswith(".py"):
            target = image / line.split()[2].lstrip("/")
            target.mkdir(parents=True)
            for file in context.glob(line.split()[1]):
                shutil.copy(file, target)
    argv = [sys.executable, "-c", "import container.container_entry as entry; print(entry.__file__)"]
    where = image / "usr/local/lib/pbsteer"
    printed = subprocess.run(argv, cwd=where, env={}, capture_output=True, text=True, check=True).stdout
    assert printed.strip() == str(where / "container/container_entry.py")


def test_a_folder_without_packages_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TestbedError, match=f"no .deb file in {tmp_path}"):
        podman_image.list_packages(tmp_path)


def test_without_registry_and_debootstrap_there_is_no_base_and_both_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(argv: list[str], *, timeout_s: float = 0.0) -> Finished:
        return Finished(tuple(argv), 125, "", f"no such host ({timeout_s:g} s)")

    monkeypatch.setattr("container.engines.podman_image.try_podman", refuse)
    monkeypatch.setattr("shutil.which", lambda name, path: None)
    with pytest.raises(TestbedError, match=r"no such host.*package debootstrap.*--base"):
        podman_image.build("localhost/t", base=None, packages=None, say=lambda _: None)
