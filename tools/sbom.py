"""Prints what the command is made of, as CycloneDX 1.5: the crates that its build for
x86_64 links, of Cargo.lock, with version, licence and checksum of the registry."""

import json
import re
import subprocess
import tomllib

TARGET = "x86_64-unknown-linux-musl"


def output(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


lock = tomllib.load(open("Cargo.lock", "rb"))["package"]
sums = {(p["name"], p["version"]): p.get("checksum") for p in lock}
about = json.loads(output("cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", TARGET))
licences = {(p["name"], p["version"]): p["license"] for p in about["packages"]}
tree = output("cargo", "tree", "--locked", "-p", "dormouse", "-e", "normal", "--target", TARGET, "--prefix", "none")
linked = sorted(set(re.findall(r"^(\S+) v(\S+)", tree, re.M)))
version = next(v for n, v in linked if n == "dormouse")


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
    "metadata": {"component": {"type": "application", "name": "dormouse", "version": version}},
    "components": [component(n, v) for n, v in linked if n != "dormouse"],
}, indent=1))
