// The review page: keys, decisions without a reload, the line, reasons, and what others decide.
// Without this module every page still works: its forms and links do the same.

const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const meta = (name) => $(`meta[name=${name}]`)?.content ?? "";
const WORDS = { accept: "yes", reject: "no", skip: "skipped" };
const SAID = { accept: "Yes to", reject: "No to", skip: "Skipped" };
const POLL_MS = 4000;

const say = (text) => {
  const status = $("#status");
  if (status) status.textContent = text;
};

async function api(path, body) {
  const options = body === undefined ? {} : {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRF-Token": meta("csrf") },
    body: JSON.stringify(body),
  };
  const response = await fetch(`/api/${path}`, options);
  const answer = await response.json().catch(() => ({ error: response.statusText }));
  if (!response.ok) throw Object.assign(new Error(answer.error), { status: response.status });
  return answer;
}

async function parsed(address) {
  const response = await fetch(address);
  return new DOMParser().parseFromString(await response.text(), "text/html");
}

// What is asked: cards of a grid, or chips of a picture.
const items = () => $$("[data-tag][data-version]");
const asks = (item) => !item.classList.contains("keep");
const undecided = (item) => asks(item) && item.dataset.verdict === "";
const open = (item) => asks(item) && ["", "skip"].includes(item.dataset.verdict);
const movable = () => $$(".card[tabindex], .chip[data-version]");
const current = () => document.activeElement?.closest?.(".card[tabindex], .chip[data-version]") ?? null;

function go(item, { scroll = true } = {}) {
  if (!item) return;
  for (const other of movable()) other.tabIndex = other === item ? 0 : -1;
  item.focus({ preventScroll: true });
  if (scroll) item.scrollIntoView({ block: "nearest" });
  if (item.dataset.image && $("#cards")) inAddress({ at: item.dataset.image });
}

function inAddress(changes) {
  const address = new URL(location);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) address.searchParams.delete(name);
    else address.searchParams.set(name, value);
  }
  history.replaceState(null, "", address);
}

function show(item, verdict, version) {
  item.dataset.verdict = verdict ?? "";
  item.dataset.version = version;
  const field = $("input[name=expected]", item);
  if (field) field.value = version;
  for (const button of $$(".verdicts button", item)) {
    button.toggleAttribute("aria-pressed", false);
    if (button.value === verdict) button.setAttribute("aria-pressed", "true");
  }
  const label = item.getAttribute("aria-label").replace(/, (yes|no|skipped)$/, "");
  item.setAttribute("aria-label", verdict ? `${label}, ${WORDS[verdict]}` : label);
}

const left = () => {
  const n = items().filter(open).length;
  return !n && $("#next") ? "All answered; → leads to the next picture" : `${n} left here`;
};

function afterDecision(item) {
  const all = items();
  const rest = [...all.slice(all.indexOf(item) + 1), ...all.slice(0, all.indexOf(item))];
  const next = rest.find(undecided);
  if (next) go(next);
  else if ($("#more")) more().then((first) => go(first ?? item));
  else go(item);
}

// One after the other, in the order of the keys: an undo never overtakes a decision.
let queue = Promise.resolve();
const queued = (work) => (queue = queue.then(work, work));

function quietCounts() {
  // What was decided is announced; that the counts follow is not worth a second sentence.
  if ($("#counts")) $("#counts").ariaLive = "off";
}

function decide(item, verdict) {
  quietCounts();
  const before = [item.dataset.verdict, item.dataset.version];
  show(item, verdict, item.dataset.version);
  item.setAttribute("aria-busy", "true");
  afterDecision(item);
  const { id: image_id, tag } = item.dataset;
  return queued(async () => {
    try {
      const made = await api("decisions", { image_id, tag, verdict, expected: Number(before[1]) });
      show(item, made.standing, made.version);
      say(`${SAID[verdict]} “${tag}”. ${left()}.`);
    } catch (error) {
      show(item, ...before);
      await refreshed(item);
      say(error.status ? error.message : "Not saved: the server does not answer.");
      go(item);
    } finally {
      item.removeAttribute("aria-busy");
    }
    recount();
  });
}

async function refreshed(item) {
  const image = await api(`images/${item.dataset.image}`).catch(() => null);
  const tags = image ? [...image.proposals, ...image.others] : [];
  const found = tags.find((one) => one.tag === item.dataset.tag);
  if (found) show(item, found.verdict, found.version);
}

function undo() {
  quietCounts();
  return queued(async () => {
    try {
      const { undone } = await api("undo", {});
      const touched = undone.map(({ image_id, tag, standing, version }) => {
        const item = items().find((one) => one.dataset.id === image_id && one.dataset.tag === tag);
        if (item) show(item, standing, version);
        return item;
      });
      const what = undone.length === 1 ? `“${undone[0].tag}”` : `${undone.length} answers`;
      say(`Undone: ${what}. ${left()}.`);
      go(touched.filter(Boolean).at(-1));
    } catch (error) {
      say(error.message);
    }
    recount();
  });
}

function acceptAbove() {
  const form = $("#all");
  if (!form) return Promise.resolve();
  return queued(async () => {
    const fields = Object.fromEntries(new FormData(form));
    const { tag, line, owner, group, run, untagged } = fields;
    const body = { tag, line: Number(line) };
    for (const [name, value] of Object.entries({ owner, group, run })) if (value) body[name] = value;
    if (untagged) body.untagged = true;
    try {
      const { n } = await api("decisions/above", body);
      const page = await parsed(changedAddress({ state: "any", cursor: null }));
      for (const fresh of $$(".card[data-version]", page)) {
        const item = document.getElementById(fresh.id);
        if (item) show(item, fresh.dataset.verdict || null, fresh.dataset.version);
      }
      say(n ? `Yes to ${n} pictures. Undo takes all of them back.` : "Nothing is left above the line.");
      go(items().find(undecided) ?? items()[0]);
    } catch (error) {
      say(error.message);
    }
    recount();
  });
}

function changedAddress(changes) {
  const address = new URL(location);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) address.searchParams.delete(name);
    else address.searchParams.set(name, value);
  }
  return address;
}

// The line: cards above it, and counts that follow it.
const value = (name, number) => {
  const place = $(`[data-count=${name}]`);
  if (place) place.textContent = number.toLocaleString("en");
};

let counting = 0;
async function recount() {
  const head = $("#head");
  if (!head) return;
  const turn = ++counting;
  try {
    const counts = await api(`counts${location.search}`);
    if (turn !== counting) return;
    for (const [name, number] of Object.entries(counts)) value(name, number);
    const all = $("#all button");
    if (all) all.disabled = counts.above_open === 0;
  } catch {
    // The counts are a comfort; what matters has been said already.
  }
}

let waiting = 0;
function moveLine(line) {
  $("#counts").ariaLive = "polite";
  const text = `${Math.round(100 * line)} %`;
  $("#line-value").textContent = text;
  $("#at-line").ariaValueText = text;
  const field = $("#all input[name=line]");
  if (field) field.value = line;
  inAddress({ line });
  drawLine(line);
  clearTimeout(waiting);
  waiting = setTimeout(recount, 80);
}

function drawLine(line) {
  const cards = $$("#cards .card");
  $("#cards > .divider")?.remove();
  for (const card of cards) card.classList.toggle("above", Number(card.dataset.p) >= line);
  if ($("#head").dataset.action !== "add") return;
  const below = cards.find((card) => !card.classList.contains("above"));
  if (!below || below === cards[0]) return;
  const divider = document.createElement("li");
  divider.className = "divider";
  divider.setAttribute("aria-hidden", "true");
  divider.textContent = `${Math.round(100 * line)} %`;
  below.parentElement.before(divider);
}

async function more() {
  const link = $("#more");
  const list = $("#cards") ?? $("#hits");
  link.textContent = "Loading …";
  link.removeAttribute("id");
  const page = await parsed(link.href);
  const cards = $$(".card", page).filter((card) => !card.id || !document.getElementById(card.id));
  for (const card of cards) {
    card.tabIndex = -1;
    list.append(document.adoptNode(card.parentElement));
  }
  const next = $("#more", page);
  if (next) link.closest(".more").replaceChildren(document.adoptNode(next));
  else link.closest(".more").remove();
  if ($("#head")) drawLine(Number($("#at-line").value));
  return cards.find((card) => card.dataset.verdict === "") ?? cards[0];
}

function closing(act) {
  const button = document.createElement("button");
  button.className = "close";
  button.textContent = "Close";
  button.addEventListener("click", act);
  return button;
}

// Why? beside the pictures.
let returnTo = null;
async function why(link) {
  const panel = $("#panel");
  if (!panel) return;
  returnTo = current() ?? link;
  const page = await parsed(link.href);
  const close = closing(closePanel);
  const found = $("#why", page) ?? $("main", page);
  for (const image of $$("img", found)) image.loading = "eager";
  panel.replaceChildren(close, document.adoptNode(found));
  panel.hidden = false;
  panel.focus();
}

function closePanel() {
  const panel = $("#panel");
  if (!panel || panel.hidden) return false;
  panel.hidden = true;
  returnTo?.focus();
  return true;
}

async function help() {
  const page = await parsed("/help");
  const sheet = document.createElement("dialog");
  sheet.className = "sheet";
  sheet.setAttribute("aria-label", "Keys and help");
  sheet.append(closing(() => sheet.close()), document.adoptNode($("#help", page)));
  sheet.addEventListener("close", () => sheet.remove());
  sheet.addEventListener("click", (event) => event.target === sheet && sheet.close());
  document.body.append(sheet);
  sheet.showModal();
}

// Where an arrow leads in a grid: the card beside, or the one above or below.
function neighbour(item, key) {
  const all = movable();
  const place = all.indexOf(item);
  if (key === "ArrowRight") return all[place + 1];
  if (key === "ArrowLeft") return all[place - 1];
  const here = item.getBoundingClientRect();
  const down = key === "ArrowDown";
  const beyond = all.filter((other) => {
    const there = other.getBoundingClientRect();
    return down ? there.top > here.top + 4 : there.top < here.top - 4;
  });
  const far = (other) => {
    const there = other.getBoundingClientRect();
    return 4 * Math.abs(there.top - here.top) + Math.abs(there.left - here.left);
  };
  return beyond.sort((one, two) => far(one) - far(two))[0];
}

function move(key) {
  const item = current();
  if ($("#stage") && ["ArrowLeft", "ArrowRight"].includes(key)) {
    location.assign($(key === "ArrowLeft" ? "#previous" : "#next").href);
    return true;
  }
  if (!movable().length) return false;
  go(item ? neighbour(item, key) : movable().find((one) => one.tabIndex === 0) ?? movable()[0]);
  return true;
}

const KEYS = {
  a: (item) => item && decide(item, "accept"),
  r: (item) => item && decide(item, "reject"),
  s: (item) => item && decide(item, "skip"),
  w: (item) => item && $(".why", item) && why($(".why", item)),
  u: () => undo(),
  A: () => acceptAbove(),
  "/": () => $("#q")?.select() ?? $("#q")?.focus(),
  "?": () => help(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && closePanel()) return;
  if (event.target.matches("input, textarea, select") || $("dialog[open]")) return;
  const panel = $("#panel");
  if (panel && !panel.hidden && panel.contains(event.target)) return;
  if (event.key.startsWith("Arrow")) {
    if (move(event.key)) event.preventDefault();
    return;
  }
  if (event.key === "Enter" && event.target.matches(".card")) {
    location.assign($("a", event.target).href);
    return;
  }
  const act = KEYS[event.key];
  if (!act || (event.repeat && event.key !== "s")) return;
  const chosen = current();
  if (!act.length || (chosen?.dataset.version && $(".verdicts", chosen)) || event.key === "w") {
    event.preventDefault();
    act(chosen);
  }
});

document.addEventListener("submit", (event) => {
  const item = event.target.closest("[data-version]");
  if (event.target.matches(".verdicts") && item && event.submitter) {
    event.preventDefault();
    decide(item, event.submitter.value);
  } else if (event.target.matches(".undo") && (items().length || $("#cards"))) {
    event.preventDefault();
    undo();
  } else if (event.target.matches("#all")) {
    event.preventDefault();
    acceptAbove();
  } else if (event.target.matches("#line")) {
    event.preventDefault();
  }
});

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  if (link.matches(".why") && $("#panel")) {
    event.preventDefault();
    why(link);
  } else if (link.matches(".help")) {
    event.preventDefault();
    help();
  } else if (link.id === "more") {
    event.preventDefault();
    more().then(go);
  }
});

document.addEventListener("focusin", (event) => {
  const item = event.target.closest?.(".card[tabindex], .chip[data-version]");
  if (item) for (const other of movable()) other.tabIndex = other === item ? 0 : -1;
});

// What others decide is shown where it is looked at; one's own keys are not disturbed.
const seen = Number($("#head, #stage")?.dataset.last ?? -1);
async function follow(after) {
  let last = after;
  if (!document.hidden) {
    try {
      const answer = await api(`decisions?after=${after}`);
      for (const one of answer.decisions) {
        last = Math.max(last, one.decision);
        const item = items().find((it) => it.dataset.id === one.image_id && it.dataset.tag === one.tag);
        if (!item || item.hasAttribute("aria-busy") || Number(item.dataset.version) >= one.version) continue;
        show(item, one.standing, one.version);
        if (one.reviewer !== meta("reviewer")) say(`${one.reviewer} answered “${one.tag}”: ${WORDS[one.standing] ?? "undone"}.`);
      }
      if (answer.decisions.length) recount();
    } catch {
      // The server may be away for a moment; the next time tells.
    }
  }
  setTimeout(follow, POLL_MS, last);
}
if (seen >= 0 && items().length) setTimeout(follow, POLL_MS, seen);

// Learning goes on in the background; the page is read again when it is done.
const learned = $("#learned[data-state=running]");
async function watch() {
  const { state, message } = await api("learn").catch(() => ({ state: "running" }));
  if (state !== "running") return location.replace("/learn");
  if (message) $("p", learned).lastChild.textContent = ` ${message}`;
  return setTimeout(watch, 700);
}
if (learned) watch();

$("#new-tag")?.addEventListener("input", async (event) => {
  const beginning = encodeURIComponent(event.target.value);
  const { tags } = await api(`tags?beginning=${beginning}&limit=12`).catch(() => ({ tags: [] }));
  $("#known").replaceChildren(...tags.map(({ tag }) => new Option(tag)));
});

$("#at-line")?.addEventListener("input", (event) => moveLine(Number(event.target.value)));
if ($("#at-line")) drawLine(Number($("#at-line").value));
document.documentElement.dataset.ready = "1";

const at = new URL(location).searchParams.get("at");
const first = (at && document.getElementById(`c${at}`)) || items().find(open) || movable()[0];
if (first && (at || $("#cards") || $("#stage"))) go(first, { scroll: Boolean(at) });
