"""Prints what the command is made of, as CycloneDX 1.5: the crates that its build for
x86_64 links, of Cargo.lock, with version, licence and checksum of the registry.
`sbom.py python` does the same for the package for Python, which is a workspace of its own."""

import json
import os
import re
import subprocess
import sys
import tomllib

TARGET = "x86_64-unknown-linux-musl"


PACKAGE = "dormouse"
if sys.argv[1:] == ["python"]:
    PACKAGE = "dormouse-python"
    os.chdir("python")


def output(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


lock = tomllib.load(open("Cargo.lock", "rb"))["package"]
sums = {(p["name"], p["version"]): p.get("checksum") for p in lock}
about = json.loads(output("cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", TARGET))
licences = {(p["name"], p["version"]): p["license"] for p in about["packages"]}
tree = output("cargo", "tree", "--locked", "-p", PACKAGE, "-e", "normal", "--target", TARGET, "--prefix", "none")
linked = sorted(set(re.findall(r"^(\S+) v(\S+)", tree, re.M)))
version = next(v for n, v in linked if n == PACKAGE)


def component(name, number):
    one = {"type": "library", "name": name, "version": number, "purl": f"pkg:cargo/{name}@{number}"}
    if licences.get((name, number)):
        one["licenses"] = [{"expression": licences[name, number]}]
    if sums.get((name, number)):
        one["hashes"] = [{"alg": "SHA-256", "content": sums[name, number]}]
    return one


print(json.dumps({
    "bomFormat": "CycloneDX",
    "specVersion": "1.5",
    "version": 1,
    "metadata": {"component": {"type": "application", "name": PACKAGE, "version": version}},
    "components": [component(n, v) for n, v in linked if n != PACKAGE],
}, indent=1))
