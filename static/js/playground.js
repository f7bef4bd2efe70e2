// Sends one request to the inference API and shows answer and turn as they arrive.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const $ = (id) => document.getElementById(id);
  let running = null;

  const body = () => ({
    model: $("model").value,
    messages: [{ role: "user", content: $("message").value }],
    max_tokens: Number($("most").value) || 128,
    ...($("stream").checked ? { stream: true } : {}),
  });

  // JSON is Python too, but for three words outside of texts.
  const WORDS = { true: "True", false: "False", null: "None" };
  const literal = (value) => JSON.stringify(value)
    .replace(/"(?:[^"\\]|\\.)*"|true|false|null|[,:]/g, (part) => WORDS[part] ?? (part === "," || part === ":" ? `${part} ` : part));

  function asPython() {
    const read = $("stream").checked
      ? "    for line in answer:\n        print(line.decode(), end=\"\")"
      : "    print(json.load(answer)[\"choices\"][0][\"message\"][\"content\"])";
    return [
      "import json, os, urllib.request",
      "",
      `body = ${literal(body())}`,
      "request = urllib.request.Request(",
      `    "${location.origin}/v1/chat/completions",`,
      "    json.dumps(body).encode(),",
      "    {\"Authorization\": f\"Bearer {os.environ['KEY']}\", \"Content-Type\": \"application/json\"},",
      ")",
      "with urllib.request.urlopen(request) as answer:",
      read,
    ].join("\n");
  }

  function showCurl() {
    const given = JSON.stringify(body()).replaceAll("'", "'\\''");
    $("as-curl").textContent = 'curl -H "Authorization: Bearer $KEY" -H "x-routeradmin-trace: 1" \\\n'
      + `  --json '${given}' \\\n  "${location.origin}/v1/chat/completions"`;
    $("as-python").textContent = asPython();
  }

  function item(...parts) {
    const li = document.createElement("li");
    for (const [tag, text, name] of parts) {
      const node = document.createElement(tag);
      node.textContent = text;
      if (name) node.className = name;
      li.append(node, " ");
    }
    return li;
  }

  const ms = (value) => (value === null || value === undefined ? "–" : `${Math.round(value)} ms`);

  // The attempt's place on the turn's line of time: what it waited, then what it took.
  const SVG = "http://www.w3.org/2000/svg";
  function bar(start, length, whole, failed) {
    const svg = document.createElementNS(SVG, "svg");
    for (const [name, value] of Object.entries({
      class: "span", viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true",
    })) svg.setAttribute(name, value);
    const part = (name, x, width) => {
      const rect = document.createElementNS(SVG, "rect");
      for (const [key, value] of Object.entries({ class: name, x, width, height: 6 })) rect.setAttribute(key, value);
      svg.append(rect);
    };
    part("track", 0, 100);
    part(failed ? "wrong" : "right", (100 * start) / whole, Math.max(0.5, (100 * length) / whole));
    return svg;
  }

  function drawBars(turn) {
    const whole = Math.max(1, ...[turn.attempts.reduce((sum, one) => sum + (one.waited_ms ?? 0) + (one.duration_ms ?? 0), 0)]);
    let at = 0;
    turn.attempts.forEach((one, n) => {
      const start = at + (one.waited_ms ?? 0);
      at = start + (one.duration_ms ?? 0);
      $("attempts").children[n].querySelector(".sub").before(bar(start, at - start, whole, one.class));
    });
  }

  function showRouting(routing) {
    const said = routingWords(routing);
    $("routing").replaceChildren(...said.flatMap(([title, lines]) => {
      const term = document.createElement("dt");
      const words = document.createElement("dd");
      term.textContent = title;
      words.textContent = lines.join("; ");
      return [term, words];
    }));
    $("routing-card").hidden = !said.length;
  }

  function showTurn(turn) {
    showRouting(turn.routing);
    $("attempts").replaceChildren(...turn.attempts.map((one) => item(
      ["b", `${one.n}. ${one.deployment}`],
      ["span", one.credential, "muted"],
      ["span", `${one.class ?? "succeeded"}${one.status ? ` ${one.status}` : ""}`, one.class ? "tag bad" : "tag"],
      ["div", `waited ${ms(one.waited_ms)}, took ${ms(one.duration_ms)}, first token ${ms(one.ttft_ms)}`, "sub"],
      ["div", one.message || "", "sub"],
    )));
    drawBars(turn);
    if (!turn.attempts.length) $("attempts").append(item(["span", "No attempt was made.", "muted"]));
    $("attempts").append(item(["b", `halt: ${turn.halt}`], ["span", `${ms(turn.duration_ms)} in all`, "muted"]));
    $("turn-link").href = `/turns/${encodeURIComponent(turn.id)}`;
    $("turn-link").hidden = false;
  }

  // Apart from the answer, whose beginning may stand above it.
  function showFault(words) {
    $("fault").textContent = words;
    $("fault").hidden = false;
    $("answer").hidden = !$("answer").textContent;
  }

  function take(document_) {
    if (document_.routeradmin) showTurn(document_.routeradmin);
    if (document_.error) showFault(document_.error.message ?? "error");
    for (const choice of document_.choices ?? []) {
      $("answer").textContent += choice.delta?.content ?? choice.message?.content ?? choice.text ?? "";
    }
  }

  async function readStream(answer) {
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ""; ;) {
      const { value, done } = await reader.read();
      if (done) return;
      const events = (rest + value).split(/\r?\n\r?\n/);
      rest = events.pop();
      for (const event of events) {
        const data = event.split(/\r?\n/).filter((line) => line.startsWith("data:"))
          .map((line) => line.slice(5).trim()).join("\n");
        if (data && data !== "[DONE]") take(JSON.parse(data));
      }
    }
  }

  async function send() {
    const answer = await fetch("/v1/chat/completions", {
      method: "POST",
      signal: running.signal,
      headers: {
        "Authorization": `Bearer ${$("key").value}`,
        "Content-Type": "application/json",
        "x-routeradmin-trace": "1",
      },
      body: JSON.stringify(body()),
    });
    $("status").textContent = `HTTP ${answer.status}`;
    if (answer.headers.get("content-type")?.startsWith("text/event-stream")) await readStream(answer);
    else take(await answer.json());
  }

  $("try").addEventListener("input", showCurl);
  $("stop").addEventListener("click", () => running?.abort());
  $("try").addEventListener("submit", async (event) => {
    event.preventDefault();
    running?.abort();
    running = new AbortController();
    const started = performance.now();
    $("answer").textContent = "";
    $("answer").hidden = false;
    $("fault").hidden = true;
    $("attempts").replaceChildren();
    $("turn-link").hidden = true;
    $("routing-card").hidden = true;
    $("status").textContent = "sent";
    $("stop").hidden = false;
    try {
      await send();
      $("status").textContent += `, ${Math.round(performance.now() - started)} ms`;
    } catch (problem) {
      $("status").textContent = problem.name === "AbortError" ? "stopped" : `failed: ${problem.message}`;
    } finally {
      $("stop").hidden = true;
    }
  });
  showCurl();
});
