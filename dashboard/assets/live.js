// Updates the page in place with what the server sends. Without this script the page reloads itself every five seconds.
"use strict";
(() => {
  const live = document.getElementById("live");
  let source = null;
  let lost = 0; // timer that reports a lost connection. It waits, because each stream ends normally after a minute
  let silent = 0; // timer that reports that no update came
  let again = 0; // timer that opens the next stream after the server refused one

  const same = (a, b) => a.tagName === b.tagName && a.id === b.id && a.getAttribute("href") === b.getAttribute("href");

  // patch replaces only what differs, so that focus, selection and open details stay.
  const patch = (old, next) => {
    if (old.isEqualNode(next)) return;
    const text = (node) => [...node.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.data.trim());
    if (old.tagName !== next.tagName || old.id !== next.id || !next.children.length || old.children.length !== next.children.length || text(old) || text(next)) {
      const was = old.contains(document.activeElement) ? document.activeElement : null;
      old.replaceWith(next);
      if (was) [next, ...next.querySelectorAll(was.tagName)].find((e) => same(e, was))?.focus();
      return;
    }
    for (const { name } of [...old.attributes]) {
      if (!next.hasAttribute(name) && name !== "open") old.removeAttribute(name);
    }
    for (const { name, value } of [...next.attributes]) {
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    const children = [...next.children];
    [...old.children].forEach((child, i) => patch(child, children[i]));
  };

  const show = (html) => {
    const next = new DOMParser().parseFromString(html, "text/html");
    for (const part of next.querySelectorAll("[data-live]")) {
      const old = document.getElementById(part.id);
      if (old && !(old.contains(document.activeElement) && document.activeElement.matches("input[type=search]"))) {
        patch(old, part);
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

  document.addEventListener("visibilitychange", () => { if (document.hidden) stop(); else start(); });
  if (!document.hidden) start();
})();
