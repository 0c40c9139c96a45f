// Shows what the server sends, in place. Without it the page loads itself anew every five seconds.
"use strict";
(() => {
  const live = document.getElementById("live");
  let source = null;
  let silent = 0; // until it is said that there is no connection: each stream ends after a minute, which is none of that

  const same = (a, b) => a.tagName === b.tagName && a.id === b.id && a.getAttribute("href") === b.getAttribute("href");

  // patch replaces no more than what differs: focus, selection and what is open stay.
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

  const say = (text) => { if (live.textContent !== text) live.textContent = text; };

  const start = () => {
    source = new EventSource(live.dataset.events);
    source.onmessage = (event) => { hear(); show(event.data); say("live"); };
    source.onerror = () => {
      silent ||= setTimeout(() => say("no connection, trying again"), 5000);
      if (source && source.readyState === EventSource.CLOSED) setTimeout(restart, 5000);
    };
  };
  const hear = () => { clearTimeout(silent); silent = 0; };
  const stop = () => { hear(); source?.close(); source = null; };
  const restart = () => { stop(); if (!document.hidden) start(); };

  document.addEventListener("visibilitychange", () => { if (document.hidden) stop(); else restart(); });
  if (!document.hidden) start();
})();
