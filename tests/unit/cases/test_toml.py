"""Hand-written TOML: every refusal names the file, the line and the key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases.package import CaseFile, LimitsTable
from cases.reconstruct.author import AuthorKit
from cases.source import Investigation
from cases.toml import decode, line_of, read_toml
from store.errors import InputError

CASE = """\
id = "bindery"
version = 1
track = "frozen-evidence/reconstruct"
title = "A page"
dimensions = ["global_visual", "policy"]

[limits]
seconds = 60
"""


def test_an_unknown_key_is_named_with_its_file_and_line():
    with pytest.raises(InputError) as caught:
        decode(CASE.replace("title", "minutes = 3\ntitle"), CaseFile, "case.toml")
    assert "`minutes`" in caught.value.what
    assert caught.value.where == "case.toml, line 4"
    assert "title" in caught.value.fix


def test_an_unknown_key_of_a_table_is_found_in_that_table():
    with pytest.raises(InputError) as caught:
        decode(CASE + "hours = 2\n", CaseFile, "case.toml")
    assert (caught.value.where, "`hours`" in caught.value.what) == ("case.toml, line 9", True)


def test_a_wrong_type_is_named_with_its_line():
    with pytest.raises(InputError) as caught:
        decode(CASE.replace("seconds = 60", 'seconds = "sixty"'), CaseFile, "case.toml")
    assert caught.value.where == "case.toml, line 8"
    assert caught.value.what.startswith("limits.seconds: ")


def test_a_bad_row_of_a_list_of_tables_is_found():
    text = (
        '[[regions]]\nname = "a"\nshot = "s"\nrect = [0, 0, 1, 1]\n\n[[regions]]\nname = "b"\nshot = "s"\nwieght = 2\n'
    )
    with pytest.raises(InputError) as caught:
        decode(text, AuthorKit, "kit.toml")
    assert (caught.value.where, "`wieght`" in caught.value.what) == ("kit.toml, line 9", True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id = [", "not TOML"),
        (CASE.replace('"bindery"', '"Bindery!"'), "not an id"),
        (CASE.replace("version = 1", "version = 0"), "version counts from 1"),
        (CASE.replace('"global_visual", "policy"', '"beauty"'), "beauty"),
        (CASE.replace("frozen-evidence/reconstruct", "else"), "else"),
        (CASE.replace("seconds = 60", "seconds = 0"), "seconds"),
        (CASE.replace("seconds = 60", "cpus = 1.23456"), "three decimals"),
        (CASE.replace('title = "A page"\n', ""), "title"),
    ],
)
def test_what_a_case_may_not_say_is_refused(text, said):
    with pytest.raises(InputError) as caught:
        decode(text, CaseFile, "case.toml")
    assert said in caught.value.what
    assert caught.value.where.startswith("case.toml")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError) as caught:
        read_toml(tmp_path / "case.toml", CaseFile)
    assert str(tmp_path) in caught.value.where


def test_a_key_that_is_missing_is_looked_for_in_its_table():
    assert line_of(CASE, ".limits.hours") == 7


TEXT = st.text(max_size=40)


@given(title=TEXT, notes=TEXT, lead=TEXT, differences=st.lists(TEXT, max_size=3), cpus=st.integers(1, 64_000))
def test_what_is_written_is_read_back_as_the_same(title, notes, lead, differences, cpus):
    title = " ".join(title.split()) or "x"
    case = CaseFile(
        id="a.b-c_1",
        version=3,
        track="frozen-evidence/extend",
        title=title,
        dimensions=("functional", "policy"),
        limits=LimitsTable(seconds=5, memory_mib=64, cpus=cpus / 1000, pids=9, workspace_mib=1),
        source=Investigation(lead, "here", "ours", tuple(differences)),
        notes=notes,
    )
    found = decode(case.format(), CaseFile, "case.toml")
    assert found == case
    assert found.limits.limits().cpus == cpus
    assert LimitsTable.of(found.limits.limits()) == found.limits
