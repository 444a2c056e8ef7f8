"""The wheel in clean environments: `python tests/install.py [PYTHON …]`.

For each interpreter, by default all that flowsim is for and that this machine has, the wheel is installed into an
environment of its own with what it needs and nothing else. There, without rights to write where it is installed, from a
folder elsewhere, the quickstart runs and is shown. A second wheel is built as if the project had an address
(packaging/addresses.toml), and its metadata has to say so.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
#: An address as the project might have one.
EXAMPLE = "https://example.org/flowsim"
#: What has no rights but those of the files' owner, whoever it is.
POWERLESS = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
WRITE = "import flowsim, pathlib; pathlib.Path(flowsim.__file__).with_name('mine.txt').write_text('')"


def main() -> int:
    pythons = {name: name for name in sys.argv[1:]} or dict(interpreters())
    failed = []
    with TemporaryDirectory() as folder:
        wheel = built(ROOT, Path(folder))
        if said := published(Path(folder)):
            print(f"with addresses: {said}")
            failed.append("addresses")
        for version, python in pythons.items():
            said = tried(python, wheel, Path(folder) / version.replace("/", "_"))
            print(f"{version}: {said or 'the quickstart runs'}", flush=True)
            failed += [version] if said else []
    if len(sys.argv) == 1 and (absent := [version for version in VERSIONS if version not in pythons]):
        print(f"not on this machine: {', '.join(absent)}")
    return 1 if failed or not pythons else 0


def interpreters() -> Iterator[tuple[str, str]]:
    """version -> interpreter: on the path, or beside the one that runs this, where pyenv keeps them."""
    versions = Path(sys.base_prefix).parent
    for version in VERSIONS:
        places = [
            shutil.which(f"python{version}"),
            *map(str, sorted(versions.glob(f"{version}.*/bin/python{version}"))),
        ]
        for place in places:
            if place and answered(place):
                yield version, place
                break


def answered(python: str) -> bool:
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0


def built(root: Path, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(root)]
    subprocess.run(command, check=True)
    (wheel,) = folder.glob("flowsim-*.whl")
    return wheel


def published(folder: Path) -> str:
    """What is wrong with a wheel that is built once the project has an address, "" if nothing is."""
    copy = folder / "copy"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", ".venv", "build", "docs", "tests"))
    example = {"repository": "", "page": "/blob/v{version}/{path}", "file": "/raw/v{version}/{path}"}
    lines = [f"{key} = '{EXAMPLE}{rest}'\n" for key, rest in example.items()]
    (copy / "packaging" / "addresses.toml").write_text("".join(lines))
    wheel = built(copy, folder / "published")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        text = archive.read(name).decode()
    wanted = (f"Project-URL: Repository, {EXAMPLE}\n", f"]({EXAMPLE}/raw/v", f"]({EXAMPLE}/blob/v")
    return ", ".join(f"no {word.strip()}" for word in wanted if word not in text)


def tried(python: str, wheel: Path, folder: Path) -> str:
    """What went wrong, "" if nothing did."""
    environment, home = folder / "environment", folder / "home"
    home.mkdir(parents=True)
    subprocess.run([python, "-m", "venv", str(environment)], check=True)
    programs = environment / "bin"
    install = [programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    found = subprocess.run(
        [*install, "-c", ROOT / "constraints.txt", wheel], capture_output=True, text=True, check=False
    )
    if found.returncode:
        return f"cannot be installed: {found.stderr.strip()[-500:]}"
    set_writable(environment, False)
    try:
        return smoke(programs, home)
    finally:
        set_writable(environment, True)


def smoke(programs: Path, home: Path) -> str:
    powerless = [*POWERLESS] if os.name == "posix" and os.geteuid() == 0 else []
    clean = {"HOME": str(home), "PATH": f"{programs}:/usr/bin:/bin", "LANG": "C.UTF-8"}

    def asked(*words: object) -> subprocess.CompletedProcess[str]:
        command = [*powerless, *map(str, words)]
        return subprocess.run(command, cwd=home, env=clean, capture_output=True, text=True, check=False)

    if asked(programs / "python", "-c", WRITE).returncode == 0:
        return "is written to by who has no right to"
    for words in (
        ["new", "quickstart"],
        ["check", "quickstart.toml"],
        ["run", "quickstart.toml"],
        ["show", "quickstart.nc"],
    ):
        found = asked(programs / "flowsim", *words)
        if found.returncode:
            return f"flowsim {' '.join(words)}: {found.returncode}: {found.stderr.strip()[-500:]}"
    status = json.loads(asked(programs / "flowsim", "show", "quickstart.nc", "--json").stdout)["status"]
    return "" if status == "done" else f"the quickstart ends as {status}"


def set_writable(folder: Path, writable: bool) -> None:
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            mode = stat.S_IMODE(path.stat().st_mode)
            path.chmod(mode | stat.S_IWUSR if writable else mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))


if __name__ == "__main__":
    sys.exit(main())
