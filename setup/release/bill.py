"""The bill of materials, as CycloneDX: what a user of the wheel runs that is not Reap's own."""

import json
import re
import subprocess
import sys
from pathlib import Path

from commands import run
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL
from versions import ROOT, NotReadyError
from wheel import bundled

VENDORED = ROOT / "lab" / "reap" / "draw" / "vendor" / "README.md"
ROW = re.compile(
    r"^\| `([^`]+)` \| .*npm package `([^`]+)` \| ([0-9.]+) \| ([A-Za-z0-9.-]+) .*\| `([0-9a-f]{64})` \|$",
    re.MULTILINE,
)
STATIC = {"libc6-dev": "glibc", "libstdc++-12-dev|libstdc++-14-dev": "libstdc++"}
"""Debian's packages whose archives are linked into programs and the preloads."""


def write(out: Path, wheels: list[Path]) -> None:
    """Write the bill of the wheels: their Python dependencies as locked, and what they bring along."""
    lock, project = ROOT / "setup" / "python" / "runtime.lock", ROOT / "pyproject.toml"
    text = run(
        sys.executable,
        "-m",
        "cyclonedx_py",
        "requirements",
        "--pyproject",
        project,
        "--output-reproducible",
        lock,
    )
    bom = Bom.from_json(json.loads(text))  # type: ignore[attr-defined]
    for component in [*_vendored(), *_linked(), *(each for wheel in wheels for each in _bundled(wheel))]:
        bom.components.add(component)
        bom.register_dependency(bom.metadata.component, [component])
    made = make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string(indent=2)
    if (error := JsonStrictValidator(SchemaVersion.V1_6).validate_str(made)) is not None:
        raise NotReadyError(f"the bill of materials is no CycloneDX: {error}")
    out.write_text(made + "\n")


def _vendored() -> list[Component]:
    """The scripts of others in the pages, as their README lists them."""
    return [
        Component(
            name=name,
            version=version,
            type=ComponentType.LIBRARY,
            bom_ref=f"npm-{name}",
            purl=PackageURL("npm", None, name, version),
            licenses=[LicenseExpression(licence)],
            hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest)],
            description=f"lab/reap/draw/vendor/{file}",
        )
        for file, name, version, licence, digest in ROW.findall(VENDORED.read_text())
    ]


def _linked() -> list[Component]:
    """What is linked statically."""
    found = []
    for packages, name in STATIC.items():
        for package in packages.split("|"):
            command = ["dpkg-query", "--show", "--showformat=${Version}", package]
            asked = subprocess.run(command, capture_output=True, text=True, check=False)
            if asked.returncode == 0 and asked.stdout:
                found.append(
                    Component(
                        name=name,
                        version=asked.stdout,
                        type=ComponentType.LIBRARY,
                        bom_ref=f"deb-{package}",
                        purl=PackageURL("deb", "debian", package, asked.stdout),
                        description="linked statically into programs and preloads",
                    )
                )
    return found


def _bundled(wheel: Path) -> list[Component]:
    """The libraries in a wheel's module."""
    return [
        Component(
            name=package,
            version=version,
            type=ComponentType.LIBRARY,
            bom_ref=f"{wheel.name}-{package}",
            purl=PackageURL("deb", "debian", package, version),
            description=f"linked into {wheel.name}",
        )
        for package, version in bundled(wheel)
    ]
