import json
import math

import pytest

from sugartag.reproduce.cache import Cache, Job, code_version, plain_values

JOB = Job("measure", "trvsc measured 1", {"method": "trvsc", "settings": {"fidelity": 0.1}})
FOUND = {"f": 0.25, "points": [1, 2], "none": None}


@pytest.fixture
def cache(tmp_path) -> Cache:
    return Cache(tmp_path, data="abc", code="1")


def test_a_result_is_found_again(cache):
    kept = cache.keep(JOB, FOUND)

    assert kept == FOUND
    assert cache.found(JOB) == FOUND


@pytest.mark.parametrize(
    ("job", "data", "code"),
    [
        (Job("measure", JOB.label, {**JOB.asks, "settings": {"fidelity": 1.0}}), "abc", "1"),
        (Job("trial", JOB.label, JOB.asks), "abc", "1"),
        (JOB, "abd", "1"),
        (JOB, "abc", "2"),
    ],
)
def test_other_settings_data_or_code_are_another_result(cache, job, data, code):
    cache.keep(JOB, FOUND)

    assert Cache(cache.folder, data, code).found(job) is None


def test_the_same_job_under_another_label_is_the_same_result(cache):
    cache.keep(JOB, FOUND)

    assert cache.found(Job(JOB.kind, "called otherwise", JOB.asks)) == FOUND


def damaged(text: str) -> list[str]:
    document = json.loads(text)
    changed = {**document, "found": {**document["found"], "f": 0.99}}
    return [
        "",
        text[: len(text) // 2],
        "[]",
        json.dumps(changed),
        json.dumps({**document, "key": "0"}),
        json.dumps({**document, "found": 3}),
        "\x00" * 100,
    ]


def test_a_damaged_result_counts_as_none_and_is_replaced(cache):
    cache.keep(JOB, FOUND)
    file = cache.file_of(JOB)

    for text in damaged(file.read_text(encoding="utf-8")):
        file.write_text(text, encoding="utf-8")
        assert cache.found(JOB) is None
        cache.keep(JOB, FOUND)
        assert cache.found(JOB) == FOUND


def test_bytes_that_are_no_text_count_as_none(cache):
    cache.keep(JOB, FOUND)
    cache.file_of(JOB).write_bytes(b"\xff\xfe\xfa")

    assert cache.found(JOB) is None


def test_what_is_no_number_is_kept_as_nothing(cache):
    kept = cache.keep(JOB, {"a": math.nan, "b": [math.inf, 1 / 3], "c": (1, "x")})

    assert kept == {"a": None, "b": [None, 0.3333333], "c": [1, "x"]}
    assert cache.found(JOB) == kept


def test_a_file_is_named_by_what_it_holds(cache):
    cache.keep(JOB, FOUND)

    (file,) = cache.folder.iterdir()
    assert file.name.startswith("measure-trvsc-")
    assert file.suffix == ".json"


def test_the_version_names_the_code_that_computes():
    assert code_version() == code_version()
    assert "+" in code_version()


def test_plain_values_are_what_json_reads_back():
    value = {"a": (1, 2.5, None, True, "ä"), 3: {"b": []}}

    assert json.loads(json.dumps(plain_values(value))) == plain_values(value)
