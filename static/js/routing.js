// What had a say in a turn beside its route, in words, from the turn's `routing`.
"use strict";

const routingWords = (() => {
  const list = (names) => (names ?? []).join(", ");

  function intent(found) {
    const near = (found.similar ?? []).map((one) => `${one.intent} ${one.similarity}`);
    return [
      `${found.intent ?? "none"}, decided by ${found.tier}`
        + (found.confidence === null || found.confidence === undefined ? "" : `, confidence ${found.confidence}`),
      found.route_id && `goes to route ${found.route_id}`,
      found.signs?.length && `reflexes saw ${list(found.signs)}`,
      found.keyword && `keyword “${found.keyword}”`,
      near.length && `nearest examples: ${list(near)} (threshold ${found.threshold})`,
      found.cache && found.cache !== "off" && `cache: ${found.cache}`,
      found.classifier && `classifier: ${found.classifier}`,
      found.problem && `embedder: ${found.problem}`,
      found.local_only && "held to deployments tagged local",
    ];
  }

  const rule = (found) => [`${found.id}: left only ${list(found.only)}`];

  function preferences({ asked = {}, dropped = [] }) {
    return [
      asked.order && `first ${list(asked.order)}`,
      asked.only && `only ${list(asked.only)}`,
      asked.ignore && `never ${list(asked.ignore)}`,
      asked.allow_fallbacks === false && "nothing beyond those",
      asked.sort && `the best by ${asked.sort}`,
      ...dropped.map((one) => `dropped: ${one.word} ${one.name ?? ""} ${one.why}`),
    ];
  }

  function affinity(found) {
    if (!found.bound_to) return ["bound to nothing yet: the strategy chose"];
    if (found.kept) return [`stayed with ${found.bound_to}`];
    return [
      `was bound to ${found.bound_to}, not used: ${list(found.why) || "another was chosen"}`,
      found.returned && `returned to ${found.before}`,
    ];
  }

  const selector = (found) => [`${found.strategy} made no choice: ${found.note}; the default strategy chose`];

  const SAYINGS = [
    ["Intent", "intent", intent],
    ["Rule", "rule", rule],
    ["Preferences", "preferences", preferences],
    ["Session", "affinity", affinity],
    ["Selector", "selector", selector],
  ];

  return (routing) => SAYINGS.filter(([, name]) => routing?.[name])
    .map(([title, name, say]) => [title, say(routing[name]).filter(Boolean)]);
})();
