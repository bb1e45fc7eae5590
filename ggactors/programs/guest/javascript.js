// The JavaScript arm's guest side: it runs inside QuickJS, before there is a program.
//
// It is handed one function, `host(text)`, and gives back the functions the host calls: `start`, `tick` and `describe`. What it needs
// of the language is taken before a program can change it; a program that changes the rest deceives only itself.
(host) => {
  "use strict";
  const { parse, stringify } = JSON;
  const { freeze, keys, defineProperty, getPrototypeOf, hasOwn, fromEntries, entries } = Object;
  const { isArray } = Array;
  const { deleteProperty } = Reflect;
  const resolved = Promise.resolve.bind(Promise);
  const then = Function.prototype.call.bind(Promise.prototype.then);
  const Plain = Object.prototype;
  const MOST_TEXT = 4000;

  // -------------------------------------------------------------- errors

  class GGError extends Error {
    constructor(message, code, operation) {
      super(message);
      this.code = code ?? new.target.code ?? "error";
      this.operation = operation;
    }
    get name() {
      return this.constructor.name;
    }
  }
  class NotFound extends GGError { static code = "not-found"; }
  class InvalidArgument extends GGError { static code = "invalid-argument"; }
  class Conflict extends GGError { static code = "conflict"; }
  class Refused extends GGError { static code = "refused"; }
  class Unavailable extends GGError { static code = "unavailable"; }
  class LimitExceeded extends GGError { static code = "limit-exceeded"; }
  class IOFailure extends GGError { static code = "io-error"; }
  const kinds = [NotFound, InvalidArgument, Conflict, Refused, Unavailable, LimitExceeded, IOFailure];
  // As a builtin would be: a program may declare one of the same name.
  for (const kind of [GGError, ...kinds]) defineProperty(globalThis, kind.name, { value: kind, writable: true, configurable: true });
  const byCode = new Map(kinds.map((kind) => [kind.code, kind]));

  // -------------------------------------------------------------- names

  const camel = (name) => name.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());
  const flat = (name) => name.replace(/_/g, "").toLowerCase();

  function distance(a, b) {
    let row = Array.from({ length: b.length + 1 }, (_, index) => index);
    for (let i = 1; i <= a.length; i++) {
      const next = [i];
      for (let j = 1; j <= b.length; j++)
        next[j] = Math.min(next[j - 1] + 1, row[j] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
      row = next;
    }
    return row[b.length];
  }

  function close(name, known) {
    const said = name.slice(0, 60);
    const same = known.find((one) => flat(one) === flat(said));
    if (same) return `\`${said}\`; in JavaScript it is spelled \`${same}\``;
    const [best] = known
      .map((one) => [distance(flat(said), flat(one)), one])
      .sort(([a], [b]) => a - b);
    if (best && best[0] <= Math.max(2, said.length / 3)) return `\`${said}\`; did you mean \`${best[1]}\`?`;
    return `\`${said}\`; there is ${known.slice(0, 40).join(", ") || "nothing in it"}`;
  }

  // Names the language itself asks every object for.
  const silent = new Set(["then", "toJSON", "constructor", "prototype", "name", "length", "default", "inspect", "valueOf", "toString", "__esModule", "__proto__"]);

  function guarded(owner, target, elsewhere) {
    return new Proxy(freeze(target), {
      get(all, key) {
        if (typeof key !== "string" || key in all || silent.has(key)) return all[key];
        throw new TypeError(`${owner} has no ${elsewhere?.(key) ?? close(key, keys(all))}`);
      },
    });
  }

  // -------------------------------------------------------------- calls

  const plainObject = (value) =>
    typeof value === "object" && value !== null && (getPrototypeOf(value) === Plain || getPrototypeOf(value) === null);

  const pass = (_, value) => {
    if (typeof value === "bigint") return Number(value);
    if (value instanceof Set) return [...value];
    if (value instanceof Map) return fromEntries(value);
    if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError(`${value} is no number that can be passed`);
    return value;
  };

  function record(value) {
    if (typeof value !== "object" || value === null) return value;
    if (isArray(value)) return value.map(record);
    const made = {};
    for (const [key, one] of entries(value)) {
      const name = camel(key);
      const inner = record(one);
      made[name] = inner;
      if (name !== key) defineProperty(made, key, { value: inner });
    }
    return made;
  }

  function shape(id, params) {
    const needed = params.filter(([, required]) => required || params.length === 1).map(([name, required]) => (required ? name : `${name}?`));
    const optional = params.filter(([, required]) => !required && params.length > 1).map(([name]) => name);
    if (optional.length) needed.push(`{ ${optional.join(", ")} }`);
    return `gg.${id}(${needed.join(", ")})`;
  }

  function bind(id, params, args) {
    const misused = (what) => new InvalidArgument(`${id} ${what}: ${shape(id, params)}`, undefined, id);
    const known = params.map(([name]) => name);
    const byPosition = params.filter(([, required]) => required || params.length === 1).map(([name]) => name);
    const given = [...args];
    while (given.length && given.at(-1) === undefined) given.pop();
    const sent = {};
    const take = (named) => {
      for (const [name, value] of entries(named)) {
        if (!known.includes(name)) throw misused(`has no argument ${close(name, known)}`);
        if (hasOwn(sent, name)) throw misused(`got \`${name}\` twice`);
        if (value !== undefined) sent[name] = value;
      }
    };
    if (given.length === 1 && plainObject(given[0])) {
      take(given[0]); // everything by name, which some prefer
    } else {
      given.slice(0, byPosition.length).forEach((value, index) => {
        if (value !== undefined) sent[byPosition[index]] = value;
      });
      const [options, ...more] = given.slice(byPosition.length);
      if (more.length || (options !== undefined && options !== null && (!plainObject(options) || byPosition.length === known.length)))
        throw misused(`takes ${byPosition.length} arguments${byPosition.length < known.length ? " and one object of options" : ""}, not ${given.length}`);
      if (options) take(options);
    }
    const missing = params.filter(([name, required]) => required && !hasOwn(sent, name)).map(([name]) => `\`${name}\``);
    if (missing.length) throw misused(`needs ${missing.join(" and ")}`);
    return sent;
  }

  function operation(id, params) {
    const name = id.slice(id.indexOf(".") + 1);
    const called = {
      [name](...args) {
        const sent = bind(id, params, args);
        let letter;
        try {
          letter = stringify({ call: id, args: sent }, pass);
        } catch (error) {
          throw new InvalidArgument(`${id}: ${error?.message}`, undefined, id);
        }
        const reply = parse(host("C" + letter));
        if (!hasOwn(reply, "error")) return record(reply.value);
        const { code, message } = reply.error;
        throw new (byCode.get(code) ?? GGError)(message, code, id);
      },
    }[name];
    defineProperty(called, "doc", { get: () => parse(host("D" + id)) });
    return called;
  }

  // -------------------------------------------------------------- what programs see

  function show(value) {
    if (typeof value === "string") return value;
    if (typeof value === "bigint") return `${value}n`;
    if (typeof value === "function") return `[Function ${value.name}]`;
    if (value instanceof Error) return value.stack ? `${value.name}: ${value.message}\n${value.stack}` : String(value);
    if (value instanceof Map) return `Map(${value.size}) ${show([...value])}`;
    if (value instanceof Set) return `Set(${value.size}) ${show([...value])}`;
    try {
      return stringify(value, (_, one) => (typeof one === "bigint" ? `${one}n` : one), value && keys(value).length > 3 ? 1 : 0) ?? String(value);
    } catch {
      try {
        return String(value);
      } catch {
        return "[object]";
      }
    }
  }
  const whole = Function.prototype.call.bind(String.prototype.toWellFormed); // half of a surrogate pair cannot leave the guest
  const log = (...values) => void host("L" + whole(values.map(show).join(" ")) + "\n");
  const quiet = () => {};
  globalThis.console = freeze({
    log, info: log, debug: log, warn: log, error: log, dir: log, table: log, trace: log, group: log, groupEnd: quiet, time: quiet, timeEnd: quiet,
    assert: (condition, ...values) => void (condition || log("Assertion failed", ...values)),
  });

  const timers = new Map();
  let lastTimer = 0;
  let now = 0;
  const later = (repeat) => (call, delay = 0, ...args) => {
    const wait = Math.max(repeat ? 1 : 0, Number(delay) || 0);
    timers.set(++lastTimer, { at: now + wait, call, args, every: repeat ? wait : null });
    return lastTimer;
  };
  const forget = (id) => void timers.delete(id);
  globalThis.setTimeout = later(false);
  globalThis.setInterval = later(true);
  globalThis.clearTimeout = globalThis.clearInterval = forget;
  globalThis.queueMicrotask = (call) => {
    if (typeof call !== "function") throw new TypeError("queueMicrotask takes a function");
    then(resolved(), () => void call()); // the engine's own drops what is thrown
  };
  globalThis.structuredClone ??= (value) => parse(stringify(value));

  /** Run the timer that is due next, after sleeping until it is. False: there is none. */
  function tick() {
    let first = null;
    for (const [id, timer] of timers) if (first === null || timer.at < first[1].at) first = [id, timer];
    if (first === null) return false;
    const [id, timer] = first;
    if (timer.at > now) {
      host("S" + (timer.at - now));
      now = timer.at;
    }
    if (timer.every === null) timers.delete(id);
    else timer.at += timer.every;
    timer.call(...timer.args);
    return true;
  }

  /** Make `gg` of the operations an agent has. */
  function start(text) {
    const sdk = parse(text);
    const gg = {};
    for (const [module, functions] of entries(sdk)) {
      const made = {};
      for (const [name, params] of entries(functions)) made[name] = operation(`${module}.${name}`, params);
      gg[module] = guarded(`gg.${module}`, made);
    }
    gg.GGError = gg.Error = GGError;
    for (const kind of kinds) gg[kind.name] = kind;
    const homes = (key) => {
      const home = entries(sdk).flatMap(([module, functions]) => keys(functions).filter((one) => flat(one) === flat(key)).map((one) => `gg.${module}.${one}`));
      return home.length ? `\`${key.slice(0, 60)}\`; did you mean \`${home[0]}\`?` : close(key, keys(gg));
    };
    defineProperty(globalThis, "gg", { value: guarded("gg", gg, homes) });
    return true;
  }

  // -------------------------------------------------------------- how it ended

  const text = (value) => {
    try {
      return String(value).slice(0, MOST_TEXT);
    } catch {
      return "(its text could not be made)";
    }
  };
  function one(error) {
    if (!(error instanceof Error)) return { type: "Error", message: `the program threw ${text(show(error))}`, stack: "" };
    const said = { type: text(error.name), message: text(error.message), stack: text(error.stack ?? "") };
    return error instanceof GGError ? { ...said, code: text(error.code), operation: text(error.operation) } : said;
  }

  /** Describe what a program threw, as JSON. */
  function describe(error) {
    for (const kind of [Plain, Array.prototype]) deleteProperty(kind, "toJSON"); // what a program put there is over with it
    const said = one(error);
    said.causes = [];
    for (let under = error?.cause, depth = 0; under !== undefined && depth < 3; under = under?.cause, depth++) said.causes.push(one(under));
    if (isArray(error?.errors)) said.parts = error.errors.slice(0, 5).map(one);
    return stringify(said);
  }

  return { start, tick, describe };
}
