"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("report-data").textContent);
  const PAGE = 24;

  // Text goes into the page as text only: no name, file or label is ever read as markup.
  function make(tag, className, text) {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  }

  const shelf = {
    get(key) { try { return localStorage.getItem(key); } catch { return null; } },
    set(key, value) { try { localStorage.setItem(key, value); return true; } catch { return false; } },
  };

  // --- Light or dark -------------------------------------------------------------------------------------------
  const root = document.documentElement, themeButton = byId("theme");
  const wished = shelf.get("truelabel-theme");
  if (wished === "light" || wished === "dark") root.dataset.theme = wished;
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const nameTheme = () => { themeButton.textContent = isDark() ? "Light theme" : "Dark theme"; };
  themeButton.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    shelf.set("truelabel-theme", root.dataset.theme);
    nameTheme();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", nameTheme);
  nameTheme();

  const gallery = byId("gallery");
  if (!gallery) return;
  gallery.classList.toggle("masks", data.masks);
  gallery.classList.toggle("texts", data.suspects.some((item) => item.text !== undefined));

  // --- What was decided ----------------------------------------------------------------------------------------
  const items = data.suspects;
  items.forEach((item, i) => {
    item.order = i;
    item.key = JSON.stringify([item.example, item.annotator, item.label, item.region ?? ""]);
  });
  const shelfKey = "truelabel-review:" + data.fingerprint;
  let decisions = {}, history = [];
  try {
    const kept = JSON.parse(shelf.get(shelfKey) ?? "{}");
    const known = new Set(items.map((item) => item.key));
    for (const [key, value] of Object.entries(kept.decisions ?? {})) if (known.has(key)) decisions[key] = value;
    history = (kept.history ?? []).filter((step) => known.has(step.key));
  } catch { decisions = {}; history = []; }

  function keep() {
    byId("storage").hidden = shelf.set(shelfKey, JSON.stringify({ decisions, history }));
  }

  function decide(item, decision) {
    history.push({ key: item.key, before: decisions[item.key] ?? null });
    if (decision) decisions[item.key] = decision; else delete decisions[item.key];
    keep();
    refresh(item);
    progress();
  }

  const accept = (item) => item.suggested !== undefined && item.suggested !== item.label
    ? { decision: "accept", new_label: item.suggested } : null;
  const choice = (item, name) => name === item.label ? { decision: "keep", new_label: "" }
    : name === item.suggested ? { decision: "accept", new_label: name } : { decision: "choose", new_label: name };

  function undo() {
    const step = history.pop();
    if (!step) return;
    if (step.before) decisions[step.key] = step.before; else delete decisions[step.key];
    keep();
    const item = items.find((other) => other.key === step.key);
    refresh(item);
    progress();
    if (!view.includes(item)) filter();
    if (view.includes(item)) go(view.indexOf(item));
  }

  // --- Cards ---------------------------------------------------------------------------------------------------
  const percent = (share) => {
    const value = 100 * share;
    if (value < 1 && value > 0) return value < 0.1 ? "<0.1%" : value.toFixed(1) + "%";
    if (value > 99 && value < 100) return value > 99.9 ? ">99.9%" : value.toFixed(1) + "%";
    return Math.round(value) + "%";
  };
  const said = (d) => d.decision === "keep" ? "Kept as it is" : d.decision === "remove" ? "To be removed" : "Now " + d.new_label;
  const nodes = new Map();

  function button(text, quiet, action, label) {
    const node = make("button", quiet ? "quiet" : "", text);
    node.type = "button";
    if (label) node.setAttribute("aria-label", label);
    node.addEventListener("click", action);
    return node;
  }

  function card(item) {
    if (nodes.has(item.key)) return nodes.get(item.key);
    const entry = make("li"), box = make("article", "suspect");
    box.tabIndex = -1;
    box.setAttribute("aria-label", `${item.example}, ${item.annotator} said ${item.label}`);
    if (item.picture !== undefined) {
      const picture = data.pictures[item.picture], image = make("img", picture.tiny ? "tiny" : "");
      image.src = picture.uri;
      image.alt = "Example " + item.example;
      image.loading = "lazy";
      box.append(image);
    }
    if (item.text !== undefined) {
      const quote = make("div", "quote", item.text);
      quote.tabIndex = 0;
      quote.setAttribute("role", "region");
      quote.setAttribute("aria-label", "Text of example " + item.example);
      box.append(quote);
    }
    if (item.row) {
      const list = make("dl", "features");
      for (const [name, value] of item.row) list.append(make("dt", "", name), make("dd", "", value));
      list.tabIndex = 0;
      box.append(list);
    }
    box.append(make("h3", "", item.example));
    if (item.place && item.place.pixels !== undefined)
      box.append(make("p", "others", `region ${item.region}: ${item.place.pixels.toLocaleString("en")} pixel${item.place.pixels === 1 ? "" : "s"}` + (item.place.slice !== undefined ? `, slice ${item.place.slice}` : "")));
    const line = (who, what, className, share) => {
      const row = make("p", "verdict"), words = make("span");
      words.append(make("span", "others", who + " "), make("span", className, what));
      row.append(words, make("span", "p", share === undefined ? "" : percent(share)));
      box.append(row);
    };
    line(item.annotator + " said", item.label, "given", item.probability);
    if (item.suggested !== undefined) line("suggested", item.suggested, "better", item.suggestedProbability);
    if (item.others.length) box.append(make("p", "others", "others: " + item.others.map(([who, what]) => `${who}: ${what}`).join(", ")));
    box.append(make("p", "state"));
    const actions = make("div", "actions");
    const then = (decision) => () => { current = view.indexOf(item); settle(item, decision); };
    if (accept(item)) actions.append(button("Accept " + item.suggested, false, then(accept(item)), `Accept ${item.suggested} for ${item.example}`));
    actions.append(button("Keep", true, then({ decision: "keep", new_label: "" }), `Keep ${item.label} for ${item.example}`));
    actions.append(button("Other…", true, () => { go(view.indexOf(item)); openChoose(item); }, `Other… class for ${item.example}`));
    actions.append(button("Remove", true, then({ decision: "remove", new_label: "" }), `Remove the label of ${item.example}`));
    const back = button("Undo", true, () => decide(item, null), `Undo the decision on ${item.example}`);
    back.dataset.undo = "";
    actions.append(back);
    box.append(actions);
    box.addEventListener("focusin", () => { const at = view.indexOf(item); if (at >= 0 && at !== current) { current = at; mark(); } });
    entry.append(box);
    nodes.set(item.key, entry);
    refresh(item);
    return entry;
  }

  function refresh(item) {
    const entry = nodes.get(item.key);
    if (!entry) return;
    const made = decisions[item.key], box = entry.firstChild, state = box.querySelector(".state");
    box.classList.toggle("decided", Boolean(made));
    state.textContent = made ? "✓ " + said(made) : "";
    state.hidden = !made;
    box.querySelector("[data-undo]").hidden = !made;
  }

  // --- Filters -------------------------------------------------------------------------------------------------
  const field = (name) => byId("f-" + name);
  let view = items.slice(), shown = PAGE, current = 0;

  const sorted = (values) => [...new Set(values)].sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
  function fill(select, names) {
    for (const name of names) {
      const option = make("option", "", name);
      option.value = "=" + name; // so that an empty name is not "any"
      select.append(option);
    }
  }
  fill(field("annotator"), sorted(items.map((item) => item.annotator)));
  fill(field("label"), sorted(items.map((item) => item.label)));
  fill(field("suggested"), sorted(items.filter((item) => item.suggested !== undefined).map((item) => item.suggested)));

  const ORDERS = {
    low: (a, b) => a.probability - b.probability,
    high: (a, b) => b.probability - a.probability,
    sure: (a, b) => (b.suggestedProbability ?? -1) - (a.suggestedProbability ?? -1),
    size: (a, b) => (b.place?.pixels ?? 0) - (a.place?.pixels ?? 0),
    example: (a, b) => a.example.localeCompare(b.example, undefined, { numeric: true }),
    annotator: (a, b) => a.annotator.localeCompare(b.annotator, undefined, { numeric: true }),
  };

  function filter() {
    const was = view[current];
    const is = (name, value) => !field(name).value || field(name).value === "=" + value;
    const bound = (name, otherwise) => field(name).value === "" ? otherwise : Number(field(name).value);
    // Division by 100 must not push a label over the end that it lies on.
    const low = bound("low", 0) / 100 - 1e-9, high = bound("high", 100) / 100 + 1e-9;
    const state = field("state").value, find = field("find").value.toLowerCase();
    view = items.filter((item) => is("annotator", item.annotator) && is("label", item.label) && is("suggested", item.suggested)
      && item.probability >= low && item.probability <= high
      && (!state || (state === "done") === Boolean(decisions[item.key]))
      && item.example.toLowerCase().includes(find));
    const order = ORDERS[field("sort").value];
    view.sort((a, b) => order(a, b) || a.order - b.order);
    current = Math.max(0, view.indexOf(was));
    shown = Math.max(PAGE, Math.ceil((current + 1) / PAGE) * PAGE);
    draw();
  }

  function draw() {
    gallery.replaceChildren(...view.slice(0, shown).map(card));
    byId("nothing").hidden = view.length > 0;
    byId("more").hidden = view.length <= shown;
    byId("count").textContent = view.length === items.length ? `${view.length} shown` : `${view.length} of ${items.length} shown`;
    mark();
  }

  function mark() {
    for (const box of gallery.querySelectorAll(".current")) { box.classList.remove("current"); box.removeAttribute("aria-current"); }
    const item = view[current];
    if (item && nodes.has(item.key)) {
      const box = nodes.get(item.key).firstChild;
      box.classList.add("current");
      box.setAttribute("aria-current", "true");
    }
  }

  function progress() {
    const done = Object.keys(decisions).length;
    byId("progress").value = done;
    byId("progress-text").textContent = `${done} of ${items.length} decided`;
    byId("undo").disabled = !history.length;
    byId("export").disabled = !done;
  }

  // --- Moving and deciding -------------------------------------------------------------------------------------
  function go(to) {
    if (!view.length) return;
    current = Math.min(Math.max(to, 0), view.length - 1);
    if (current >= shown) { shown = Math.ceil((current + 1) / PAGE) * PAGE; draw(); }
    mark();
    const box = nodes.get(view[current].key).firstChild;
    box.focus({ preventScroll: true });
    box.scrollIntoView({ block: "nearest" });
  }

  function settle(item, decision) {
    if (!item || !decision) return;
    decide(item, decision);
    const state = field("state").value;
    if (state) {
      const at = current;
      filter();
      if (view.length) go(at); else gallery.focus();
    } else go(current + 1);
  }

  // --- Another class -------------------------------------------------------------------------------------------
  const chooser = byId("choose"), finder = byId("choose-find");
  let choosing = null;
  function openChoose(item) {
    choosing = item;
    finder.value = "";
    listClasses();
    chooser.showModal();
    finder.focus();
  }
  function listClasses() {
    const wanted = finder.value.toLowerCase();
    byId("choose-list").replaceChildren(...data.classes.filter((name) => name.toLowerCase().includes(wanted)).map((name) => {
      const entry = make("li"), place = data.classes.indexOf(name);
      entry.append(button(place < 9 ? `${place + 1}  ${name}` : name, true, () => pick(name)));
      return entry;
    }));
  }
  function pick(name) {
    const item = choosing;
    chooser.close();
    current = Math.max(0, view.indexOf(item));
    settle(item, choice(item, name));
  }
  finder.addEventListener("input", listClasses);
  finder.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    const first = byId("choose-list").querySelector("button");
    if (first) first.click();
  });

  // --- Export --------------------------------------------------------------------------------------------------
  const cell = (text) => /[",\r\n]|^\s|\s$/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  function csv() {
    const columns = ["example", "annotator", "label", "decision", "new_label"].concat(data.masks ? ["region"] : []);
    const rows = items.filter((item) => decisions[item.key]).map((item) => {
      const values = { ...item, ...decisions[item.key] };
      return columns.map((name) => cell(String(values[name] ?? ""))).join(",");
    });
    return [columns.join(","), ...rows].join("\n") + "\n";
  }
  function download() {
    if (byId("export").disabled) return;
    const link = make("a"), address = URL.createObjectURL(new Blob([csv()], { type: "text/csv" }));
    link.href = address;
    link.download = "decisions.csv";
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }

  // --- Keys ----------------------------------------------------------------------------------------------------
  const help = byId("help");
  const KEYS = {
    j: () => go(started() ? current + 1 : current), ArrowRight: () => go(started() ? current + 1 : current),
    k: () => go(current - 1), ArrowLeft: () => go(current - 1),
    a: () => settle(view[current], view[current] && accept(view[current])),
    x: () => settle(view[current], { decision: "keep", new_label: "" }),
    d: () => settle(view[current], { decision: "remove", new_label: "" }),
    c: () => view[current] && openChoose(view[current]),
    u: undo, e: download, "?": () => help.showModal(),
  };
  const started = () => gallery.contains(document.activeElement);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open || chooser.open) return;
    if (event.target.closest("input, select, textarea")) return;
    if (event.key.startsWith("Arrow") && !started()) return;
    const digit = /^[1-9]$/.test(event.key) ? data.classes[Number(event.key) - 1] : undefined;
    const action = digit !== undefined ? () => settle(view[current], view[current] && choice(view[current], digit)) : KEYS[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });

  byId("digits").textContent = data.classes.slice(0, 9).map((name, i) => `${i + 1} ${name}`).join(", ");
  for (const change of ["input", "change"]) byId("filters").addEventListener(change, filter);
  byId("filters").addEventListener("reset", () => setTimeout(filter));
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("more").addEventListener("click", () => { const from = shown; shown += PAGE; draw(); go(from); });
  byId("undo").addEventListener("click", undo);
  byId("export").addEventListener("click", download);
  byId("keys").addEventListener("click", () => help.showModal());
  draw();
  progress();
})();
