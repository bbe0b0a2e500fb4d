"""The pages without a script, and the JSON API."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from sugartag.engine import LocalEngine
from sugartag.errors import SettingsError
from sugartag.pipeline.model import save_model
from sugartag.web.accounts import Accounts
from sugartag.web.learning import Learned
from sugartag.web.serving import (
    Address,
    Opened,
    address_line,
    check_reachable,
    listening,
    make_site,
    open_for_review,
)


def hidden_fields(page: str, action: str) -> list[dict[str, str]]:
    """Return the hidden fields of the forms of a page that lead to an action."""
    forms = re.findall(rf'<form[^>]*action="{action}".*?</form>', page, re.DOTALL)
    pair = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)"')
    return [dict(pair.findall(form)) for form in forms]


def sent(client, page: str, action: str, **more: str):
    """Send the first form of a page that leads to an action, as a browser without a script."""
    fields = {**hidden_fields(page, action)[0], **more}
    return client.post(action, data=fields, headers={"X-CSRF-Token": ""})


def test_the_tags_come_with_their_most_certain_picture(client):
    page = client.get("/").text

    assert "Tags to add" in page
    assert 'href="/tag?tag=sea"' in page
    assert re.search(r'<img src="/pictures/1/grid"[^>]*>\s*<span class="name">sea<', page)


def test_a_tag_to_check_is_never_shown_as_removed(client):
    page = client.get("/tag?tag=boat&action=doubt").text

    assert "Please check" in page
    assert "<del" not in page
    assert "line-through" not in client.get("/static/style.css").text


def test_the_pictures_of_a_tag_come_by_falling_probability(client):
    page = client.get("/tag?tag=sea").text

    shares = [float(value) for value in re.findall(r'data-p="([\d.]+)"', page)]
    assert len(shares) == 10
    assert shares == sorted(shares, reverse=True)


def test_a_decision_by_a_form_leads_back_and_is_kept(client, site):
    page = client.get("/tag?tag=sea").text

    answer = sent(client, page, "/decide", verdict="accept")

    assert answer.status_code == 303
    assert answer.headers["location"] == "/tag?tag=sea"
    assert site.catalogue.standing("p0", "sea")[0] == "accept"
    assert len(re.findall("data-p=", client.get("/tag?tag=sea").text)) == 9


def test_all_above_the_line_are_accepted_as_one_batch_and_undone_as_one(client, site):
    page = client.get("/tag?tag=sea&line=0.75").text

    sent(client, page, "/decide-above")
    accepted = list(site.catalogue.pending())
    sent(client, client.get("/").text, "/undo")

    assert sorted(one.image_id for one in accepted) == ["p0", "p12", "p3", "p6", "p9"]
    assert list(site.catalogue.pending()) == []


def test_a_skipped_picture_is_not_accepted_with_the_others(client, site, decide):
    decide("p0", "sea", "skip")

    answer = client.post("/api/decisions/above", json={"tag": "sea", "line": 0.9})

    assert answer.json()["n"] == 1
    assert site.catalogue.standing("p0", "sea")[0] == "skip"


def test_a_decision_that_somebody_else_made_meanwhile_is_not_lost(client, site, decide):
    site.catalogue.decide("p0", "sea", "reject", reviewer="ben")

    answer = decide("p0", "sea", "accept", expected=0)

    assert answer.status_code == 409
    assert "ben" in answer.json()["error"]
    assert site.catalogue.standing("p0", "sea")[0] == "reject"


def test_counts_follow_the_line(client, decide):
    decide("p0", "sea", "accept")

    counts = client.get("/api/counts?tag=sea&line=0.8").json()

    assert counts == {"above": 4, "above_open": 3, "below": 6, "below_open": 6}


def test_a_picture_has_its_tags_kept_proposed_and_to_check(client):
    first, second = client.get("/picture/1").text, client.get("/picture/5").text

    assert re.search(r'class="chip add"[^>]*aria-label="sea, proposed, 95 %"', first)
    assert re.search(r'class="chip doubt"[^>]*aria-label="boat, please check, 10 %"', second)
    assert 'aria-label="wood, given by the owner, 97 %"' in client.get("/picture/2").text


def test_next_leads_to_the_next_picture_with_something_to_decide(client, decide):
    assert client.get("/next").headers["location"] == "/picture/1"
    decide("p0", "sea", "reject")

    assert client.get("/next").headers["location"] == "/picture/4"
    assert client.get("/next?after=4&back=1").headers["location"] == "/picture/32"


def test_why_cites_pictures_and_links_them(client):
    page = client.get("/picture/1/why?tag=sea").text

    assert "95 %" in page
    assert "Pictures that have" not in page  # the run keeps no picture of the sea
    assert "Of all pictures" in page
    shares = [float(value) for value in re.findall(r'<meter [^>]*value="([\d.]+)"', page)]
    assert sum(shares) == pytest.approx(1, abs=0.01)


def test_search_ranks_by_probability_with_the_original_place_beside_it(client):
    page = client.get("/search", params={"q": "sea score>0.9"}).text

    assert "not found by given tags" in page
    assert re.search(r"by given tags no\. \d", page)
    assert client.get("/search", params={"q": "sea AND"}).status_code == 400


def test_a_tag_of_ones_own_can_be_added(client, site):
    fields = hidden_fields(client.get("/picture/1").text, "/decide")[-1]
    client.post("/decide", data={**fields, "tag": "sunset"}, headers={"X-CSRF-Token": ""})

    assert site.catalogue.standing("p0", "sunset")[0] == "accept"


def test_applying_shows_the_difference_first_and_can_be_undone(client, site, decide):
    decide("p0", "sea", "accept")
    decide("p4", "boat", "reject")
    page = client.get("/apply").text
    assert "<ins>+ sea</ins>" in page
    assert "<del>− boat</del>" in page
    before = {one.name for one in site.pictures.root.iterdir()}

    done = sent(client, page, "/apply", sidecars="1").text
    sidecars = {one.name for one in site.pictures.root.iterdir()} - before
    undone = sent(client, done, "/apply/undo").text

    assert "1 tag added and 1 removed" in done
    assert sidecars == {"0.png.xmp"}  # nothing has to be taken out of a file that is not there
    assert "2 tags and 1 sidecar undone" in undone
    assert {one.name for one in site.pictures.root.iterdir()} == before


def test_every_filter_of_a_link_is_in_its_address_and_narrows(client):
    whole = client.get("/api/proposals?tag=sea").json()["proposals"]
    some = client.get("/api/proposals?tag=sea&owner=owner 0&least=0.6").json()["proposals"]
    group = client.get("/api/proposals?tag=sea&group=divers").json()["proposals"]

    assert len(whole) == 10
    assert [one["image_id"] for one in some] == ["p0", "p15"]
    assert {one["image_id"] for one in group} == {"p6", "p12", "p21", "p27"}


def test_the_api_is_described_and_says_what_is_wrong_in_a_line(client):
    described = client.get("/api/openapi.json").json()

    assert described["openapi"].startswith("3.")
    assert "/api/decisions" in described["paths"]
    assert client.get("/api").status_code == 200
    assert client.get("/api/proposals?least=2").status_code == 422
    assert client.get("/api/images/9999").json()["error"]
    answer = client.get("/api/proposals?run=nothing")
    assert answer.status_code == 400
    assert "nothing" in answer.json()["error"]


def test_learning_from_decisions_makes_a_new_run_and_says_what_changed(client, site, decide):
    decide("p0", "sea", "accept")
    decide("p3", "sea", "accept")
    assert client.post("/api/learn").status_code == 202

    learned = site.learner.wait(60)

    assert (learned.state, learned.n_decisions) == ("done", 2)
    assert learned.before == "run-1"
    assert site.catalogue.latest_run() == learned.after
    page = client.get("/learn").text
    assert "Learned from 2 decisions" in page
    assert ">sea</a>" in page


def test_learning_from_nothing_says_so(client, site):
    client.post("/api/learn")

    assert site.learner.wait(60).state == "failed"
    assert "Nothing has been decided yet" in client.get("/learn").text


def test_what_was_learned_is_there_when_the_server_is_started_again(client, site, decide, tmp_path):
    given = site.learner.explainer("").model
    folder = tmp_path / "photos.model"
    save_model(given, folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    decide("p0", "sea", "accept")
    decide("p3", "sea", "accept")
    site.learner.start()
    learned = site.learner.wait(60)

    opened, said = again(site, model=folder)

    assert said[-1].startswith("learned from 2 decisions, at ")
    assert opened.learned[0] == learned
    assert opened.catalogue.latest_run() == opened.learned[1].run_id == learned.after
    anew = make_site(opened, name="x", engine=LocalEngine(), address=Address(), accounts=Accounts())
    assert anew.explainer(learned.after).model.run_id == learned.after
    assert anew.explainer(given.run_id).model.run_id == given.run_id
    after = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert after == before


def test_what_another_model_learned_or_is_damaged_is_named_and_not_used(
    client, site, decide, tmp_path
):
    given = site.learner.explainer("").model
    decide("p0", "sea", "accept")
    site.learner.start()
    site.learner.wait(60)
    save_model(replace(given, run_id="sugar-plus-other"), tmp_path / "other.model")
    save_model(given, tmp_path / "photos.model")

    opened, said = again(site, model=tmp_path / "other.model")
    assert opened.learned == (Learned(), None)
    assert "learned with another model" in said[0]

    (site.learner.folder / "manifest.json").write_text("{}")
    opened, said = again(site, model=tmp_path / "photos.model")
    assert opened.learned == (Learned(), None)
    assert "what was learned is not used" in said[0]


def test_the_folder_of_what_was_learned_is_no_model_to_start_with(site, decide):
    decide("p0", "sea", "accept")
    site.learner.start()
    site.learner.wait(60)

    with pytest.raises(SettingsError, match="name the model that it came from"):
        again(site, model=site.learner.folder)


def again(site, *, model: Path) -> tuple[Opened, list[str]]:
    """Open what a site shows as a server does that is started again."""
    said: list[str] = []
    folder = site.catalogue.path.with_name("photos")
    opened = open_for_review(folder, model=model, engine=LocalEngine(), say=said.append)
    opened.catalogue.close()
    return opened, said


def test_another_address_is_refused_while_nobody_has_a_password():
    everywhere = Address(host="0.0.0.0")

    with pytest.raises(SettingsError, match="nobody has a password"):
        check_reachable(everywhere, Accounts())
    check_reachable(everywhere, Accounts().with_password("anna", "admin", "long enough 1"))
    check_reachable(Address(), Accounts())


def test_a_port_that_is_taken_is_named_in_one_line():
    with listening(Address(port=0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(SettingsError, match=f"port {port}"):
            listening(Address(port=port))
    assert address_line(Address(host="::1"), 80) == "http://[::1]:80/"
