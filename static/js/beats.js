// Heartbeat strips: a frame brings one tick for each candidate that had one, and every strip moves on.
"use strict";

window.routeradminBeats = (() => {
  const NAMES = { o: "b-ok", e: "b-error", l: "b-limited", c: "b-cooling" };
  const SHAPES = { o: [[4, 6]], e: [[0, 10]], l: [[0, 4], [6, 4]], c: [[0, 5]] };
  const WORDS = { o: "with traffic", e: "with errors", l: "rate-limited", c: "cooling" };

  const bar = (letter, n) =>
    SHAPES[letter].map(([top, height]) => `M${4 * n} ${top}h3v${height}h-3z`).join("");

  function draw(strip, ticks) {
    strip.dataset.ticks = ticks;
    const counted = (letter) => [...ticks].filter((tick) => tick === letter).length;
    const told = Object.entries(WORDS).map(([letter, word]) => `${counted(letter)} ${word}`);
    strip.setAttribute("aria-label", `Last 15 minutes, of 60 ticks: ${told.join(", ")}`);
    for (const [letter, name] of Object.entries(NAMES)) {
      const bars = [...ticks].map((tick, n) => (tick === letter ? bar(letter, n) : ""));
      strip.querySelector(`.${name}`).setAttribute("d", bars.join(""));
    }
  }

  return (latest) => {
    for (const strip of document.querySelectorAll("[data-beats]")) {
      const ticks = strip.dataset.ticks.slice(1) + (latest[strip.dataset.beats] ?? ".");
      if (ticks !== strip.dataset.ticks) draw(strip, ticks);
    }
  };
})();
