/* All optional: the page reads the same without it. Only the chosen theme is stored. */
(() => {
  const root = document.documentElement, THEME = "soundings-theme";
  const put = (store, name, value) => value ? store[name] = value : delete store[name];
  let kept = {};
  try { kept = localStorage ?? kept } catch { /* a file: page may have no storage */ }
  const all = (selector, node = document) => [...node.querySelectorAll(selector)];
  const make = (name, text = "") => { const node = document.createElement(name); node.textContent = text; return node };
  put(root.dataset, "theme", kept[THEME]);
  root.classList.add("js");

  addEventListener("DOMContentLoaded", () => {
    for (const button of all(".needs-js")) button.hidden = button.id === "sources-switch" && !document.body.dataset.cards;
    theme(); language(); contents(); tables(); readings(); motion(); copy(); cards();
  });

  function theme() {
    document.getElementById("theme-switch").onclick = () => {
      const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
      const next = (root.dataset.theme || system) === "dark" ? "light" : "dark", value = next === system ? null : next;
      put(root.dataset, "theme", value);
      try { put(kept, THEME, value); } catch { /* a page in a file may have no storage */ }
    };
  }

  function language() {
    const link = document.querySelector("a.language"), href = link.getAttribute("href");
    const keep = () => link.setAttribute("href", href + location.hash);
    onhashchange = keep; keep();
  }

  function contents() {
    const rail = document.querySelector(".rail"), links = new Map();
    if (!rail) return;
    const wide = matchMedia("(min-width: 67.5rem)"), details = rail.querySelector("details");
    const fold = () => { details.open = wide.matches };
    wide.onchange = fold; fold();
    for (const link of all("a", rail)) links.set(link.hash.slice(1), link);
    const heads = all("main h2[id]").filter((head) => links.has(head.id));
    const mark = () => {
      let current = heads[0];
      for (const head of heads) if (head.getBoundingClientRect().top < innerHeight * .35) current = head;
      for (const [id, link] of links) link.ariaCurrent = id === current.id || null;
    };
    addEventListener("scroll", mark, { passive: true }); // at most once a frame
    mark();
  }

  /* A column head sorts its table, by value where its cells have one; again turns the order round. A folded table gets its buttons when it is unfolded. */
  function tables() {
    for (const table of all("main table")) {
      const fold = table.closest("details"), rows = table.tBodies[0];
      if (rows.rows.length < 3 || rows.querySelector("[colspan], [rowspan]")) continue;
      fold ? fold.ontoggle = () => { fold.ontoggle = null; sortable(table, rows) } : sortable(table, rows);
    }
  }

  function sortable(table, body) {
    for (const head of all("thead th", table)) {
      if (!head.textContent) continue;
      const at = head.cellIndex, button = make("button"), worth = (row) => {
        const cell = row.cells[at], said = cell.dataset.value ?? cell.querySelector("data")?.value ?? cell.textContent, number = parseFloat(said.replace(/,/g, ""));
        return isNaN(number) ? said : number;
      };
      button.append(...head.childNodes);
      head.append(button);
      button.onclick = () => {
        const turn = head.ariaSort === "ascending" ? -1 : 1;
        for (const other of head.parentNode.cells) other.ariaSort = null;
        head.ariaSort = turn > 0 ? "ascending" : "descending";
        const order = (a, b) => typeof a === typeof b ? (a > b) - (a < b) : typeof a === "number" ? -1 : 1;
        body.append(...[...body.rows].sort((one, two) => turn * order(worth(one), worth(two))));
      };
    }
  }

  /* The data of the cards and of long tables: a script, because a page opened as a file may read nothing else. */
  let wanting;
  const ready = () => wanting ??= new Promise((done) => {
    const script = make("script");
    script.src = document.body.dataset.cards;
    script.onload = done;
    script.onerror = () => { wanting = null }; // whoever waits goes without; the next one asks anew
    document.head.append(script);
  });

  /* A line across a drawing, by pointer or by slider, and the rows of its table that belong there; of a long table, which stands in the index of numbers, too. */
  function readings() {
    for (const art of all(".plate-art:has([data-stops])")) {
      const figure = art.parentNode, table = figure.querySelector("table"), slider = make("input"), said = make("output");
      const drawings = all("[data-stops]", art).map((svg) => [svg, svg.dataset.stops.split(" ").map((stop) => stop.split(":")), document.createElementNS(svg.namespaceURI, "path")]);
      const [[first, places, hair]] = drawings;
      let rows = table && all("thead, tbody tr", table).map((row) => row.outerHTML);
      const hide = () => { said.textContent = ""; for (const [, , line] of drawings) line.remove() };
      const read = async () => {
        for (const [svg, stops, line] of drawings) {
          line.setAttribute("d", `M${stops[slider.value][0]} 0V999`);
          line.classList.add("hair");
          svg.append(line);
        }
        rows ??= await ready() && soundings.tables[first.dataset.plate];
        if (hair.parentNode) said.innerHTML = "<table>" + [-1, ...places[slider.value][1].split(",")].map((row) => rows[+row + 1]).join("");
      };
      slider.type = "range";
      slider.max = places.length - 1;
      slider.ariaLabel = first.querySelector("title").textContent;
      for (const [svg, stops] of drawings) svg.onpointermove = (event) => {
        const box = svg.getBoundingClientRect(), x = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
        slider.value = stops.reduce((best, stop, at) => Math.abs(stop[0] - x) < Math.abs(stops[best][0] - x) ? at : best, 0);
        read();
      };
      art.onpointerleave = slider.onblur = hide;
      slider.oninput = slider.onfocus = read;
      art.append(slider);
      figure.append(said);
    }
  }

  /* The logged round on its own clock, slowed down; it rests a moment behind each phase. */
  function motion() {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    for (const figure of all(".moving")) {
      const steps = all(".frames li", figure), [back, play, on] = all(".motion button", figure), seen = new Set(), moves = [];
      const times = steps.map((step) => +step.querySelector("data[data-key$=_ms]")?.value || 0), whole = times.reduce((sum, time) => sum + time);
      let end = 0;
      const ends = steps.map((step, at) => {
        const start = end, long = times[at] / whole * 8000;
        for (const drawing of all("svg", step)) {
          const fresh = all("use", drawing).map((use) => use.getAttribute("href")).filter((id) => !seen.has(id) && seen.add(id));
          const parts = fresh.filter((id) => !id.includes("-time")), count = parts.length;
          for (const id of fresh) {
            const bar = id.includes("-time-"), part = document.querySelector(id);
            moves.push(part.animate(bar ? { transform: ["scaleX(0)", "none"] } : { opacity: [0, 1] },
              bar ? { delay: start, duration: long, fill: "both" } : { delay: start + Math.max(parts.indexOf(id), 0) / count * (long || 300), duration: 200, fill: "both" }));
          }
        }
        return end += long + 700;
      });
      const clock = figure.animate([], end), now = () => clock.currentTime ?? end;
      moves.push(clock);
      const running = () => clock.playState === "running";
      const mark = () => {
        const current = ends.findIndex((time) => now() < time);
        steps.forEach((step, at) => step.ariaCurrent = at === current ? "step" : null);
        figure.classList.toggle("playing", running());
        if (running()) requestAnimationFrame(mark);
        else if (current < 0) rest();
      };
      const seek = (time) => { for (const move of moves) { move.pause(); move.currentTime = time } mark() };
      const rest = () => { for (const move of moves) move.cancel() };
      const start = () => { if (now() >= end) seek(0); for (const move of moves) move.play(); mark() };
      play.onclick = () => running() ? seek(now()) : start();
      back.onclick = () => seek((ends.findLast((time) => time <= now() - 1) ?? 1) - 1);
      on.onclick = () => seek((ends.find((time) => time > (now() >= end ? 0 : now() + 1)) ?? end) - 1);
      onbeforeprint = rest;
      rest();
      const watch = new IntersectionObserver(([entry]) => { if (entry.isIntersecting) { watch.disconnect(); start() } }, { threshold: .6 });
      watch.observe(figure.querySelector(".plate-art"));
    }
  }

  /* Where the clipboard is closed to the page, the text is at least selected. */
  function copy() {
    const button = document.querySelector(".copy");
    if (button) button.onclick = () => {
      const text = button.closest("section").querySelector("pre");
      getSelection().selectAllChildren(text);
      navigator.clipboard?.writeText(text.textContent).then(() => { button.nextElementSibling.textContent = button.dataset.said }, () => {});
    };
  }

  function cards() {
    const { cards, index } = document.body.dataset, NUMBERS = ":is(data, td, th)[data-key]";
    if (!cards) return;
    const card = make("div");
    let anchor = null, pinned = false, timer = 0;
    card.id = "card";
    card.popover = "manual";
    card.role = "dialog";
    document.body.append(card);
    const code = (text) => make("code", text);
    const link = (key, ...parts) => { const node = make("a"); node.href = index + "#" + key; node.append(...parts); return node };

    function fill(key, fact) {
      const { runs, words } = soundings, list = make("dl");
      const row = (name, ...parts) => { if (!parts.some(Boolean)) return; const dd = make("dd"); dd.append(...parts); list.append(make("dt", name), dd) };
      const close = make("button", "×");
      close.ariaLabel = words.close;
      close.onclick = hide;
      const head = make("h2", key), value = make("p", fact.t);
      value.className = "card-value";
      row(words.unrounded, code(fact.v + (fact.u ? " " + fact.u : "")), words[fact.s] ? " · " + words[fact.s] : "");
      if (fact.i) row(words.interval, code(fact.i.join(" … ")), fact.r ? " · " + fact.r : "");
      else if (fact.n) row(words.boots, code(fact.n));
      if (fact.f) row(words.formula, code(fact.f));
      if (fact.p) row(words.inputs, ...fact.p.flatMap((parent) => [parent === "…" ? parent : link(parent, code(parent)), " "]));
      for (const [file, lines, column, where] of fact.c ?? []) row(file, code(column), ` · ${words.rows} `, code(lines), where ? " · " : "", where ? code(where) : "");
      const run = runs[fact.c?.[0]?.[0]];
      if (run) { row(words.command, code(run.q)); row(words.commit, code(run.g)); row(words.machine, run.m); row("sha256", code(run.h.slice(0, 16))) }
      card.replaceChildren(close, head, value, list, link(key, words.index));
    }
    function place() {
      const box = anchor.getBoundingClientRect(), size = card.getBoundingClientRect();
      const below = box.bottom + 8 + size.height < innerHeight || box.top < size.height + 8;
      card.style.left = Math.max(12, Math.min(box.left, document.documentElement.clientWidth - size.width - 12)) + "px";
      card.style.top = Math.max(8, below ? box.bottom + 8 : box.top - size.height - 8) + "px";
    }
    async function open(node, pin) {
      const { key } = node.dataset, fact = await ready() && soundings.facts[key];
      if (!fact) return;
      anchor?.classList.remove("open");
      anchor = node; pinned = pin;
      anchor.classList.add("open");
      fill(key, fact);
      card.showPopover?.();
      place();
    }
    function hide() {
      const back = card.contains(document.activeElement) ? anchor : null;
      anchor?.classList.remove("open");
      card.hidePopover?.();
      anchor = null; pinned = false;
      back?.focus?.();
    }
    const number = (event) => event.target.closest?.("[data-key]");
    const later = (action, wait) => { clearTimeout(timer); timer = setTimeout(action, wait) };
    document.onpointerover = (event) => {
      if (event.pointerType === "touch" || pinned) return;
      const node = number(event);
      if (node) later(() => open(node, false), 300);
      else if (card.contains(event.target)) clearTimeout(timer);
      else if (anchor) later(hide, 300);
      else clearTimeout(timer);
    };
    document.onclick = (event) => {
      const node = number(event);
      if (node && !node.closest("a, label, summary")) { clearTimeout(timer); anchor === node && pinned ? hide() : open(node, true) }
      else if (anchor && !card.contains(event.target)) hide();
    };
    document.onkeydown = (event) => {
      if (event.key === "Escape" && anchor) hide();
      if ((event.key === "Enter" || event.key === " ") && event.target.matches?.("[data-key][tabindex]")) { event.preventDefault(); open(event.target, true).then(() => card.querySelector("button")?.focus()) }
    };
    addEventListener("scroll", () => { if (anchor) pinned ? place() : hide() }, { passive: true });

    const toggle = document.getElementById("sources-switch");
    toggle.onclick = async () => {
      await ready();
      const on = root.classList.toggle("sources");
      toggle.ariaPressed = on;
      for (const node of all("main " + NUMBERS)) if (soundings.facts[node.dataset.key]) {
        on ? node.tabIndex = 0 : node.removeAttribute("tabindex");
        if (node.value) node.role = on ? "button" : null; // a cell stays a cell
      }
    };
    const wanted = /^#k=(.+)/.exec(decodeURIComponent(location.hash));
    const places = wanted ? all(NUMBERS).filter((one) => one.dataset.key === wanted[1]) : [];
    const node = places.find((one) => one.checkVisibility()) ?? places[0];
    if (node) {
      for (const fold of all("details")) fold.open ||= fold.contains(node);
      node.scrollIntoView({ block: "center", behavior: "instant" });
      open(node, true);
    }
  }
})();
