// Updates the page in place with what the server sends. Without this script the page reloads itself every five seconds.
"use strict";
(() => {
  const live = document.getElementById("live");
  let source = null;
  let lost = 0; // timer that reports a lost connection. It waits, because each stream ends normally after a minute
  let silent = 0; // timer that reports that no update came
  let again = 0; // timer that opens the next stream after the server refused one

  // localize adds the browser's local time to each time that is shown in a zone with another one.
  const localize = (root) => {
    for (const shown of root.querySelectorAll("time[datetime]")) {
      const at = new Date(shown.dateTime);
      const text = shown.textContent;
      const ahead = -at.getTimezoneOffset();
      const local = new Date(at.getTime() + ahead * 60000).toISOString(); // read as UTC, it is the local time
      const [day, time] = [local.slice(0, 10), local.slice(11, /:\d\d:\d\d/.test(text) ? 19 : 16)];
      if (shown.querySelector(".local") || shown.dateTime.slice(0, 16) === local.slice(0, 16)) continue;
      const other = document.createElement("span");
      other.className = "local";
      other.textContent = ` ${day === shown.dateTime.slice(0, 10) ? "" : `${day} `}${time} local`;
      shown.append(other);
    }
  };

  // keyed makes the children of old those of next, which all have IDs. While somebody points at them or is among them,
  // they keep their order, so that nobody presses the wrong button.
  const keyed = (old, next) => {
    const has = new Map([...old.children].map((e, i) => [e.id, i]));
    const place = (e) => has.get(e.id) ?? has.size;
    const wanted = [...next.children];
    if (old.matches(":hover") || old.contains(document.activeElement)) wanted.sort((a, b) => place(a) - place(b));
    const ids = new Set(wanted.map((e) => e.id));
    for (const child of [...old.children]) if (!ids.has(child.id)) child.remove();
    wanted.forEach((child, i) => {
      const present = has.has(child.id) ? document.getElementById(child.id) : child;
      if (old.children[i] !== present) old.insertBefore(present, old.children[i] ?? null);
      patch(present, child);
    });
  };

  // patch replaces only what differs, so that selection, scrolling and open details stay.
  const patch = (old, next) => {
    if (old.isEqualNode(next)) return;
    const text = (node) => [...node.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.data.trim());
    const mixed = old.tagName !== next.tagName || old.id !== next.id || !next.children.length || text(old) || text(next);
    const named = !mixed && [...old.children, ...next.children].every((e) => e.id);
    if (mixed || !named && old.children.length !== next.children.length) {
      old.replaceWith(next);
      return;
    }
    for (const { name } of [...old.attributes]) {
      if (!next.hasAttribute(name) && name !== "open") old.removeAttribute(name);
    }
    for (const { name, value } of [...next.attributes]) {
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    if (named) return keyed(old, next);
    const children = [...next.children];
    [...old.children].forEach((child, i) => patch(child, children[i]));
  };

  // keepFocus calls change, and then focuses what is now in the place of what had the focus.
  const keepFocus = (change) => {
    const was = document.activeElement;
    const place = was.closest("tr[id], li[id], section[id]")?.id;
    change();
    if (was === document.body || was === document.activeElement) return;
    const key = (e) => [e.tagName, e.id, e.getAttribute("href"), e.getAttribute("aria-label")].join("\n");
    const within = document.getElementById(place) ?? document;
    const now = was.isConnected ? was : [...within.querySelectorAll(was.tagName)].find((e) => key(e) === key(was));
    (now ?? within.querySelector("a, button"))?.focus({ preventScroll: true });
  };

  const show = (html) => {
    const next = new DOMParser().parseFromString(html, "text/html");
    localize(next);
    for (const part of next.querySelectorAll("[data-live]")) {
      const old = document.getElementById(part.id);
      if (old && !(old.contains(document.activeElement) && document.activeElement.matches("input[type=search]"))) {
        keepFocus(() => patch(old, part));
      }
    }
  };

  // say shows how new the page is. A page without updates must not look up to date.
  const say = (text, stale = true) => {
    if (live.textContent !== text) live.textContent = text;
    document.documentElement.classList.toggle("stale", stale);
  };

  // received restarts the timeouts. The server sends an event every five seconds; a silent connection is as bad as none.
  const received = () => {
    clearTimeout(lost);
    clearTimeout(silent);
    lost = 0;
    silent = setTimeout(() => { say("no update for 15 s, retrying"); start(); }, 15000);
  };
  const start = () => {
    stop();
    received();
    source = new EventSource(live.dataset.events);
    source.onmessage = (event) => { received(); show(event.data); say("live", false); };
    source.onerror = () => {
      if (source?.readyState === EventSource.CLOSED) poll(); // the server refused the stream
      else lost ||= setTimeout(() => say("no connection, retrying"), 5000);
    };
  };
  const stop = () => {
    for (const timer of [lost, silent, again]) clearTimeout(timer);
    lost = 0;
    source?.close();
    source = null;
  };

  // poll fetches the whole page. It is used if the server has too many streams open, or no longer knows what the page
  // shows.
  const poll = async () => {
    stop();
    again = setTimeout(start, 10000);
    const round = again;
    try {
      const answer = await fetch(location.href);
      const text = await answer.text();
      if (round !== again || document.hidden) return;
      if (answer.ok) show(text);
      say(answer.ok ? "updated every 10 s" : `not updated: ${text.trim()}`, !answer.ok);
    } catch {
      if (round === again) say("no connection, retrying");
    }
  };

  localize(document);
  document.addEventListener("visibilitychange", () => { if (document.hidden) stop(); else start(); });
  if (!document.hidden) start();
})();
