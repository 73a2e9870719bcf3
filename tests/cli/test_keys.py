"""The commands of docs/keys.md, run as they stand there on two machines; and what they refuse."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rbl.cli.app import run
from store.digest import Digest
from tests.cli.conftest import Command, explained

PAGE = (Path(__file__).parents[2] / "docs/keys.md").read_text("utf-8")


class Machine(Command):
    """A person's own homes, and a folder: with the log, or a clone without it."""

    def __init__(self, place, folder):
        super().__init__(place)
        self.folder = folder

    def run(self, commands):
        done = subprocess.run(
            ["sh", "-e", "-c", commands],
            cwd=self.folder,
            env=self.environment | {"PATH": f"{Path(sys.executable).parent}:{self.environment['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def here(self, *words):
        return self("-C", self.folder, *words, cwd=self.folder)

    def pull(self, other, *files):
        """What git and the post bring: the trust roots, and a proposal."""
        shutil.copytree(other.folder / "trust", self.folder / "trust", dirs_exist_ok=True)
        for name in ("rbl.toml", *files):
            shutil.copy(other.folder / name, self.folder)


@pytest.fixture
def people(tmp_path):
    ann, ben, cem = (Machine(tmp_path / name, tmp_path / name / "bench") for name in ("ann", "ben", "cem"))
    ann.folder.parent.mkdir()
    assert ann("init", ann.folder, "--origin", "example.org/bench").code == 0
    for other in (ben, cem):
        other.folder.mkdir(parents=True)
        other.pull(ann)
    return ann, ben, cem


def blocks():
    return re.findall(r"```\n(.*?)```", PAGE, re.DOTALL)


def public(machine, role="root"):
    [key] = [key for key in machine.here("key", "list", "--json").document["keys"] if key["role"] == role]
    return key


def test_the_page_s_example_ends_with_two_of_three_a_rotation_and_a_leak_mended(people):
    ann, ben, cem = people
    make, propose, sign, publish, rotate, rotated, leak, mended = blocks()
    pin = str(Digest.of((ann.folder / "trust/1.root.json").read_bytes())).removeprefix("sha256:")
    printed = {}
    for name, machine in (("Ben", ben), ("Cem", cem)):
        said = machine.run(make.replace("<trust root 1>", pin))
        printed[f"<{name}'s key>"] = re.search(r"public (\S+)", said)[1]
    for text, key in printed.items():
        propose = propose.replace(text, key)
    said = ann.run(propose)
    assert "the role root asks for 2 of 3 keys instead of 1 of 1" in said
    assert "missing: 1 more of the root keys of version 2" in said
    explained(ann.here("trust", "publish", "two-of-three.json"), 1, "signatures are missing: 1 more")
    ben.pull(ann, "two-of-three.json")
    shown, signed = ben.run(sign).split("next: rbl trust sign two-of-three.json\n")
    assert "missing" in shown
    assert "next: rbl trust publish" in signed
    ann.pull(ben, "two-of-three.json")
    assert "trust root 2, record 1" in ann.run(publish)

    before = {role: public(ann, role)["keyid"] for role in ("log", "runner", "curator")}
    for file, ask, finish in (("rotation.json", rotate, rotated), ("leak.json", leak, mended)):
        ann.run(ask)
        ben.pull(ann, file)
        assert ben.here("trust", "sign", file).code == 0
        ann.pull(ben, file)
        assert "✓" in ann.run(finish)
    roles = ann.here("trust", "show", "--json").document
    for role, old in before.items():
        assert public(ann, role)["keyid"] == roles["roles"][role]["keys"][0] != old
    assert [key["keyid"] for key in roles["keys"] if key["distrusted_from"] == 1] == [before["curator"]]
    assert ann.here("ledger", "verify", "--json").document["size"] == 4


def test_of_two_proposals_one_is_published_and_the_other_is_told_so(people):
    ann, _, _ = people
    for name, role in (("a.json", "runner"), ("b.json", "curator")):
        assert ann.here("trust", "propose", "--rotate", role, "--out", name).code == 0
        assert ann.here("trust", "sign", name).code == 0
    done = ann.here("trust", "publish", "a.json", "--json").document
    assert (done["version"], done["index"], done["keys_in_place"]) == (2, 1, ["runner"])
    explained(ann.here("trust", "publish", "b.json"), 5, "meanwhile somebody published 2", "propose the change again")
    explained(ann.here("trust", "sign", "b.json"), 5, "meanwhile")
    explained(ann.here("trust", "sign", "a.json"), 5, "published already")
    assert ann.here("trust", "publish", "a.json", "--json").document == {**done, "keys_in_place": []}
    assert ann.here("ledger", "status", "--json").document["size"] == 2
    assert ann.here("trust", "propose", "--rotate", "curator", "--out", "c.json").code == 0, "the key waits still"


def test_another_machine_puts_its_next_key_in_place_when_it_is_listed(people):
    ann, ben, _ = people
    pin = Digest.of((ann.folder / "trust/1.root.json").read_bytes())
    assert ben.here("trust", "update", "--pin", pin).code == 0
    old = ben.here("key", "new", "rater", "--json").document
    new = ben.here("key", "new", "rater", "--next", "--json").document
    for version, change in ((2, ["--add", f"{old['public']}:rater"]), (3, ["--retire", "rater"])):
        more = ["--add", f"{new['public']}:rater"] if version == 3 else []
        asked = ann.here("trust", "propose", *change, *more, "--json").document
        assert asked["version"] == version
        assert asked["missing"][0]["number"] == 1
        signed = ann.here("trust", "sign", asked["file"], "--json").document
        assert (signed["missing"], len(signed["signed"])) == ([], 1)
        assert ann.here("trust", "publish", asked["file"]).code == 0
        ben.pull(ann)
        followed = ben.here("trust", "update", "--json").document["keys_in_place"]
        assert followed == (["rater"] if version == 3 else [])
    assert public(ben, "rater")["keyid"] == new["keyid"]


BAD = {
    "--add nothing": "KEY:ROLE",
    "--add ffff:root": "0 keys",
    "--add curator:king": "no role",
    "--distrust curator": "KEY@N",
    "--distrust curator@x": "not a number",
    "--distrust curator@0": "could give one",
    "--threshold root=2": "could give one",
    "--threshold root=0": "1 to 16",
    "--threshold curator=2": "one signature",
    "--grant splits=curator": "no kind",
    "--grant split": "KIND=ROLE",
    "--revoke split=runner": "already",
    "--rotate king": "no role",
    "--retire log": "no key",
    "--rotate witness": "not at hand",
    "": "changes nothing",
}


def test_what_cannot_be_proposed_is_refused_and_leaves_no_file(people, monkeypatch, capsys):
    ann, _, _ = people
    for name in ("RBL_CONFIG_HOME", "RBL_STATE_HOME"):
        monkeypatch.setenv(name, ann.environment[name])
    monkeypatch.chdir(ann.folder)
    for words, said in BAD.items():
        assert run(["trust", "propose", *words.split()]) == (3 if words == "--rotate witness" else 2), words
        assert said in capsys.readouterr().err
    assert not list(ann.folder.glob("trust-*.json"))


def test_who_holds_no_root_key_cannot_sign_and_an_edited_file_is_not_signed(people, tmp_path):
    ann, ben, _ = people
    pin = Digest.of((ann.folder / "trust/1.root.json").read_bytes())
    ben.here("trust", "update", "--pin", pin)
    ann.here("trust", "propose", "--rotate", "log", "--out", "p.json")
    ben.pull(ann, "p.json")
    explained(ben.here("trust", "sign", "p.json"), 3, "root", "not at hand")
    ben.here("key", "new", "root")
    explained(ben.here("trust", "sign", "p.json"), 2, "neither of version 1 nor of version 2")
    [key] = (ann.folder.parent / "config").rglob("root.pem")
    assert ben.here("trust", "sign", "p.json", "--key", key).code == 0
    document = json.loads((ben.folder / "p.json").read_text())
    document["root"]["roles"]["runner"]["threshold"] = 2
    (ben.folder / "q.json").write_text(json.dumps(document))
    explained(ben.here("trust", "sign", "q.json", "--key", key), 2, "shows another trust root", "do not sign")
    explained(ben.here("trust", "sign", "none.json"), 2, "none.json")
