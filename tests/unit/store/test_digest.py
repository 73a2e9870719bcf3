import pickle

import pytest

from store.digest import Digest
from store.errors import InputError

FOO = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"


def test_text_bytes_and_raw_name_the_same_object():
    digest = Digest.parse(FOO)
    assert str(digest) == FOO
    assert Digest.of(b"foo") == digest
    assert Digest.from_raw(digest.raw) == digest
    assert pickle.loads(pickle.dumps(digest)) == digest
    assert digest.short == "2c26b46b68ff"


@pytest.mark.parametrize(
    "text",
    ["", "sha256:", FOO.upper(), FOO[:-1], FOO + "0", FOO + "\n", " " + FOO, FOO.replace("sha256", "sha512"), FOO[7:]],
)
def test_parse_refuses_what_str_would_not_write(text):
    with pytest.raises(InputError):
        Digest.parse(text)


def test_a_digest_cannot_be_changed():
    with pytest.raises(AttributeError):
        Digest.parse(FOO).hex = "0" * 64


def test_raw_of_another_length_is_refused():
    with pytest.raises(InputError):
        Digest.from_raw(b"short")
