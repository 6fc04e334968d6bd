#!/usr/bin/env python3
"""Writes the list of what is in mpitrace (SBOM, CycloneDX 1.5, JSON) to stdout.

    packaging/sbom.py > mpitrace.cdx.json

It has each package of cargo's that the companion, the tracer and the Python part are linked from, with its version,
licence, checksum (those of Cargo.lock) and what it depends on. What is used for the build alone is left out. The same
sources give the same list.
"""

import json
import os
import pathlib
import subprocess
import tomllib

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
SHIPPED = [("Cargo.toml", ["mpitrace-interpose", "mpitrace-tools"]), ("python/Cargo.toml", ["mpitrace-python"])]


def metadata(manifest):
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--manifest-path", str(REPOSITORY / manifest)]
    command += ["--filter-platform", f"{os.uname().machine}-unknown-linux-gnu"]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def checksums(manifest):
    lock = tomllib.loads((REPOSITORY / manifest).with_name("Cargo.lock").read_text(encoding="utf-8"))
    return {(one["name"], one["version"]): one.get("checksum") for one in lock["package"]}


def linked(found, names):
    """The packages that these are linked from, each with those that it uses: by their id."""
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    macros = {one["id"] for one in found["packages"] if any("proc-macro" in part["kind"] for part in one["targets"])}
    todo = [one["id"] for one in found["packages"] if one["name"] in names]
    assert len(todo) == len(names), names
    uses = {}
    while todo:
        one = todo.pop()
        if one not in uses:
            normal = [dep["pkg"] for dep in nodes[one]["deps"] if None in {kind["kind"] for kind in dep["dep_kinds"]}]
            uses[one] = sorted(set(normal) - macros)
            todo += uses[one]
    return uses


def main():
    components, uses = {}, {}
    for manifest, names in SHIPPED:
        found, sums = metadata(manifest), checksums(manifest)
        packages = {one["id"]: one for one in found["packages"]}
        reference = {number: f"pkg:cargo/{one['name']}@{one['version']}" for number, one in packages.items()}
        for number, used in linked(found, names).items():
            one, purl = packages[number], reference[number]
            component = {"type": "library", "bom-ref": purl, "name": one["name"], "version": one["version"]}
            component["purl"] = purl
            if one["license"]:
                # Some still write the old form of OR.
                component["licenses"] = [{"expression": one["license"].replace("/", " OR ")}]
            checksum = sums.get((one["name"], one["version"]))
            if checksum:
                component["hashes"] = [{"alg": "SHA-256", "content": checksum}]
            components[purl] = component
            uses[purl] = sorted(set(uses.get(purl, [])) | {reference[other] for other in used})
    version = version_of(components)
    itself = {"type": "application", "bom-ref": "mpitrace", "name": "mpitrace", "version": version}
    itself["licenses"] = [{"expression": "MIT OR Apache-2.0"}]
    shipped = sorted(purl for purl, one in components.items() if any(one["name"] in names for _, names in SHIPPED))
    dependencies = [{"ref": "mpitrace", "dependsOn": shipped}]
    dependencies += [{"ref": purl, "dependsOn": uses[purl]} for purl in sorted(uses)]
    bill = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": itself}}
    bill |= {"components": [components[purl] for purl in sorted(components)], "dependencies": dependencies}
    print(json.dumps(bill, indent=1))


def version_of(components):
    (version,) = {one["version"] for one in components.values() if one["name"] == "mpitrace-tools"}
    return version


if __name__ == "__main__":
    main()
