// Shows what the server sends, in place. Without it the page loads itself again every five seconds.
"use strict";
(() => {
  const live = document.getElementById("live");
  let source = null;
  let lost = 0; // until it is said that there is no connection: each stream ends after a minute, which is none of that
  let silent = 0; // until it is said that nothing was heard
  let again = 0; // until the next stream, after the server had none

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

  // say tells how new the page is. One that is not kept up to date must not look as if it were.
  const say = (text, stale = true) => {
    if (live.textContent !== text) live.textContent = text;
    document.documentElement.classList.toggle("stale", stale);
  };

  // The server sends something every five seconds. A connection that is open and says nothing is worth no more than none.
  const hear = () => {
    clearTimeout(lost);
    clearTimeout(silent);
    lost = 0;
    silent = setTimeout(() => { say("nothing heard for 15 s, trying again"); start(); }, 15000);
  };
  const start = () => {
    stop();
    hear();
    source = new EventSource(live.dataset.events);
    source.onmessage = (event) => { hear(); show(event.data); say("live", false); };
    source.onerror = () => {
      if (source?.readyState === EventSource.CLOSED) poll(); // the answer was none of events
      else lost ||= setTimeout(() => say("no connection, trying again"), 5000);
    };
  };
  const stop = () => {
    for (const timer of [lost, silent, again]) clearTimeout(timer);
    lost = 0;
    source?.close();
    source = null;
  };

  // poll reads the page itself: the server has too many streams open, or does not know any more what the page shows.
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
      if (round === again) say("no connection, trying again");
    }
  };

  document.addEventListener("visibilitychange", () => { if (document.hidden) stop(); else start(); });
  if (!document.hidden) start();
})();
