// SPDX-License-Identifier: Apache-2.0
// The page of the demo. It draws what the service reports: decisions and totals come from /events,
// raw answers from the calls. Texts from outside are only ever set as textContent.

const SVG = 'http://www.w3.org/2000/svg';
const MAX_MARKS = 200; // of a card
const MAX_ROWS = 12; // of a table
const MAX_LOG = 30;
const MAX_STRIP = 60;
const RETRIES = 5; // of a countdown whose call was denied after all
const NOW = 0.8; // where on a timeline the present is
const LONG = 150000; // ms: rules of a longer time are drawn beyond a break of the axis
const BEYOND = 68; // px for them
const ROOM = 7; // px between a call's time and the end of a box: half of its mark, and some
const NEAR = 300; // ms in which calls may be reported in another order than decided
const OUTCOMES = ['admitted', 'waited', 'denied', 'duplicate', 'banned'];
const MARK_WIDTH = 10;
const MARK_HEIGHT = 11;
const LANE = 15;

const $ = (query, root = document) => root.querySelector(query);
const $$ = (query, root = document) => [...root.querySelectorAll(query)];
const slow = matchMedia('(prefers-reduced-motion: reduce)');
const phone = matchMedia('(max-width: 760px)');
const pageId = [...crypto.getRandomValues(new Uint8Array(12))].map(b => b.toString(16).padStart(2, '0')).join('');

const json = (method, path, body) => ({ method, path, body: body && JSON.stringify(body) });
const basic = (user, password) => 'Basic ' + btoa(`${user}:${password}`);
let number = 0;

// The cards of the first group are shown, the others if they are asked for.
const GROUPS = [
  { id: 'rules', title: 'Rules', what: 'stacked limits, bursts, bans, a key of your own' },
  { id: 'kinds', title: 'Other kinds of rules', what: 'waiting turns, windows of the clock, calls in flight' },
  { id: 'duplicates', title: 'Duplicates', what: 'the same form twice, the same answer twice' },
  { id: 'callers', title: 'Callers', what: 'a limit for each user, for those with a key, for everybody' },
  { id: 'outcomes', title: 'Outcomes', what: 'only wrong passwords count' },
  { id: 'costs', title: 'Costs and results', what: 'calls of many units, asynchronous results, streams' },
];

// What the buttons send. once() makes the request of one call; more are those that follow from the last one of once().
const CARDS = [
  { id: 'articles', group: 'rules', title: 'Read articles', big: true, burst: 12,
    what: 'Two limits at once: 10 calls a minute, and 100 an hour. The eleventh is denied, and learns when the next may pass.',
    once: () => json('GET', '/articles') },
  { id: 'search', group: 'rules', title: 'Search', burst: 30,
    what: 'A token bucket: bursts of 20 pass, then 5 a second. A client that continues while denied is banned for half a minute.',
    once: () => json('GET', '/search') },
  { id: 'sms', group: 'rules', title: 'Send a code', burst: 3, twice: true, twiceLabel: 'Same phone twice',
    what: 'One a minute for each phone number, whatever client asks. While Redis is away none is sent.',
    once: () => json('POST', '/sms/code?phone=555-1234') },
  { id: 'export', group: 'kinds', title: 'Start an export', burst: 5,
    what: 'A leaky bucket: two a second begin; others wait for their turn, without a thread.',
    once: () => json('POST', '/export') },
  { id: 'quota', group: 'kinds', title: 'Quota', burst: 32,
    what: 'Thirty in each minute of the clock.',
    once: () => json('GET', '/quota') },
  { id: 'slow', group: 'kinds', title: 'Slow', burst: 5,
    what: 'Takes two seconds. At most three calls of a client run at once, over all instances.',
    once: () => json('GET', '/slow') },
  { id: 'orders', group: 'duplicates', title: 'Place an order', burst: 7, twice: true,
    what: 'The same order is not taken twice. A duplicate takes nothing from the limit.',
    once: () => json('POST', '/orders', { item: 'tea', number: `${pageId}-${++number}` }) },
  { id: 'checkout', group: 'duplicates', title: 'Check out', burst: 3, twice: true,
    what: 'One checkout of a client in five seconds, whatever is in the cart.',
    once: () => json('POST', '/checkout', { cart: ++number }) },
  { id: 'payment', group: 'duplicates', title: 'Pay', burst: 7, label: 'Pay once',
    what: 'Paid once for each Idempotency-Key: a repetition receives the first answer and costs nothing, and another amount under its key is a 422.',
    once: () => ({ ...json('POST', '/checkout/payment', { amount: 20 }), idempotencyKey: `${pageId}-${++number}` }),
    more: [
      { action: 'repeat', label: 'Repeat it', of: payment => payment },
      { action: 'change', label: 'Same key, other amount', of: payment => ({ ...payment, body: JSON.stringify({ amount: 30 }) }) },
    ] },
  { id: 'me', group: 'callers', title: 'Me', burst: 5,
    what: 'A limit for each user, from any address. These calls are ann’s.',
    once: () => ({ ...json('GET', '/me'), user: ['ann', 'ann'] }) },
  { id: 'partners', group: 'callers', title: 'Partners', burst: 7,
    what: 'Five in ten seconds with an API key; two for those without.',
    once: () => ({ ...json('GET', '/partners'), key: 'tea' }) },
  { id: 'global', group: 'callers', title: 'For everybody', burst: 8,
    what: 'Five in a second for you, and twenty for all clients together, in one decision.',
    once: () => json('GET', '/global') },
  { id: 'login', group: 'outcomes', title: 'Log in', burst: 5, label: 'Guess once',
    what: 'Three wrong passwords a minute for each user. After that the code itself answers, with a captcha.',
    once: () => json('POST', '/login?user=ann&password=guess') },
  { id: 'account', group: 'outcomes', title: 'Account', burst: 5, label: 'Guess once',
    what: 'Wrong passwords are counted before they are checked; right ones are not counted.',
    once: () => ({ ...json('GET', '/account'), user: ['ann', 'guess'] }) },
  { id: 'items', group: 'costs', title: 'Items', burst: 6, label: 'Ask for 30 items',
    what: 'A call costs as many units as it asks for items: thirty of a hundred.',
    once: () => json('GET', '/items?n=30') },
  { id: 'reports', group: 'costs', title: 'Reports', burst: 7,
    what: 'An asynchronous result is limited like any other.',
    once: () => json('GET', '/reports') },
  { id: 'feed', group: 'costs', title: 'Feed', burst: 7,
    what: 'So is a stream.',
    once: () => json('GET', '/feed') },
  { id: 'llm', group: 'costs', title: 'Ask a model', burst: 4,
    what: 'A stream pays for each token it sends, by the minute, by the month, and for its model. The last ones of a burst are cut: the tokens of this minute are used up.',
    once: () => ({ ...json('POST', '/llm?model=SMALL&tokens=60'), key: pageId, stream: true }) },
  { id: 'free', group: 'costs', title: 'No limit', burst: 12,
    what: 'For comparison: no annotation, so no decision, and nothing to draw.',
    once: () => json('GET', '/health-free') },
];

const ALGORITHMS = [
  { id: 'log', title: 'Log', what: 'Exact: a call is free again ten seconds after it was made.' },
  { id: 'window', title: 'Window', what: 'All five are free again together, when the window ends.' },
  { id: 'bucket', title: 'Token bucket', what: 'Five at once, then one each two seconds.' },
  { id: 'leaky', title: 'Leaky bucket', what: 'Evenly: one each two seconds; three more wait for their turn.' },
];

const settings = { format: 'application', language: 'en' };
const views = new Map(); // by the card's name
let here = false;
let you = '';
let skew = 0; // the service's clock less this one's
const serverNow = () => Date.now() + skew;

// ---------------------------------------------------------------- small helpers

function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === 'text') node.textContent = value;
    else if (key === 'class') node.className = value;
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

function svg(name, attributes) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

function setText(node, text) {
  const value = String(text);
  if (node && node.textContent !== value) node.textContent = value;
}

let saying = 0;
function say(text) {
  clearTimeout(saying);
  saying = setTimeout(() => setText($('#spoken'), text), 700);
}

const seconds = ms => ms >= 9950 ? `${Math.round(ms / 1000)} s` : `${(ms / 1000).toFixed(1)} s`;
const figure = number => number.toLocaleString('en-GB');
const short = policy => policy.replace(/^(?:[a-z]\w*\.)+(?=[A-Z])/, '').replace(/\(.*\)$/, '').replace('Controller.', '.');

/** Puts a call behind those that were decided before it; they may have been reported later. */
function insert(calls, call) {
  let i = calls.length;
  while (i > 0 && isAfter(calls[i - 1], call)) i--;
  calls.splice(i, 0, call);
}

/** Memory has a clock of its own. */
function isAfter(one, other) {
  const comparable = Math.abs(one.at - other.at) < NEAR && (one.by === 'FALLBACK') === (other.by === 'FALLBACK');
  return !comparable ? one.at > other.at
    : one.order !== other.order ? one.order > other.order
      : rest(one) < rest(other); // calls in one command are decided at one time
}

const rest = call => call.wouldDeny || !['admitted', 'waited'].includes(call.outcome) ? -1 : call.rules?.[0]?.left ?? 0;

function windowText(ms) {
  return ms >= 3600000 ? `${ms / 3600000} h` : ms >= 1000 ? `${ms / 1000} s` : `${ms} ms`;
}

// ---------------------------------------------------------------- calls

function headersOf(request) {
  const headers = { 'X-Page': pageId, 'Accept-Language': settings.language };
  headers.Accept = settings.format === 'html' ? 'text/html, */*;q=0.1' : 'application/json, application/problem+json';
  if (request.stream) headers.Accept = `text/event-stream, ${headers.Accept}`;
  if (request.body) headers['Content-Type'] = 'application/json';
  if (request.user) headers.Authorization = basic(...request.user);
  if (request.key) headers['X-Api-Key'] = request.key;
  if (request.idempotencyKey) headers['Idempotency-Key'] = request.idempotencyKey;
  return headers;
}

async function send(view, request) {
  view.lastRequest = request;
  const via = settings.format === 'problem' || settings.format === 'template' ? `/via/${settings.format}` : '';
  try {
    const answer = await fetch(via + request.path, {
      method: request.method, body: request.body, headers: headersOf(request),
      credentials: 'omit', cache: 'no-store',
    });
    const body = await answer.text();
    view.raw = { request, answer, body };
    dirty(view);
    return answer.status;
  } catch (failure) {
    view.raw = { request, failure: 'No answer: the service does not run, or the connection was lost' };
    dirty(view);
    return 0;
  }
}

function burst(view, requests) {
  return Promise.all(requests.map(request => send(view, request)));
}

async function burstOf(view, whose = 'Your', size = view.spec.burst) {
  const statuses = await burst(view, Array.from({ length: size }, () => view.spec.once()));
  const passed = statuses.filter(status => status >= 200 && status < 300).length;
  const denied = statuses.filter(status => status === 429).length;
  setText($('.played', view.root), `${whose} ${statuses.length} call${size > 1 ? 's' : ''}: ${passed} passed, ${denied} denied.${
    denied ? ' Until the countdown ends, the next ones are denied, too.' : ''}`);
}

/**
 * One burst before the first click, on the first card; real calls of this visitor. Within an hour a page that is loaded again makes
 * one call: more bursts would use up the limit of the hour.
 */
const HOUR = 3600000;
let played = false;
function play() {
  if (played || slow.matches || document.hidden || document.body.dataset.ready !== 'true') return;
  played = true;
  let again = false;
  try {
    const [of, at] = (localStorage.getItem('played') ?? '').split(' ');
    again = of === boot && Date.now() - at < HOUR;
    if (!again) localStorage.setItem('played', `${boot} ${Date.now()}`);
  } catch { /* the browser stores nothing */ }
  const view = views.get(CARDS[0].id);
  burstOf(view, 'This page has made', again ? 1 : view.spec.burst);
}

function rawText({ request, answer, body, failure }) {
  const key = request.idempotencyKey ? `Idempotency-Key: ${request.idempotencyKey}\n` : '';
  const head = `${request.method} ${request.path}\n${key}`;
  if (failure) return head + '\n' + failure;
  const names = new Map([['ratelimit', 'RateLimit'], ['ratelimit-policy', 'RateLimit-Policy']]);
  const fields = [...answer.headers].map(([name, value]) =>
    `${names.get(name) ?? name.replace(/(^|-)(\w)/g, (all, dash, letter) => dash + letter.toUpperCase())}: ${value}`);
  let text = body;
  try {
    text = JSON.stringify(JSON.parse(body), null, 2);
  } catch { /* not JSON */ }
  return `${head}\n${answer.status} ${answer.statusText}\n${fields.join('\n')}\n\n${text}`;
}

// ---------------------------------------------------------------- cards and timelines

class Timeline {
  constructor(root) {
    this.root = root;
    this.marks = []; // calls with column and node, the oldest first
    this.windows = $('.windows', root);
    this.axis = $('.axis', root);
    this.group = $('.marks', root);
    this.epoch = serverNow();
    this.rules = [];
    this.span = 15000;
    this.next = 0;
    this.latest = 0;
    this.drawn = 0;
    this.visible = true;
    this.width = 0;
    new ResizeObserver(() => this.resize()).observe(root);
    new IntersectionObserver(entries => { this.visible = entries.at(-1).isIntersecting; wake(); }).observe(root);
  }

  /** The rules of the card, as far as they are known. */
  setRules(rules) {
    const known = rules.filter(rule => rule.kind !== 'ConcurrencyLimitRule');
    const longest = Math.max(8000, ...known.filter(rule => rule.kind !== 'Ban').map(rule => rule.windowMs).filter(ms => ms <= LONG));
    const span = longest * 1.5;
    const text = known.map(rule => rule.name + (rule.kind === 'Ban' ? '' : rule.windowMs) + rule.kind).join();
    if (text === this.rulesText && span === this.span) {
      this.rules = known;
      return;
    }
    this.rulesText = text;
    this.rules = known;
    this.span = span;
    this.resize();
  }

  resize() {
    const width = this.root.clientWidth;
    if (!width) return;
    this.width = width;
    this.height = (this.tall ? 162 : 92) + this.rules.length * LANE;
    this.root.setAttribute('viewBox', `0 0 ${width} ${this.height}`);
    this.root.setAttribute('height', this.height);
    // Marks that have left the view are kept until they have left all windows.
    this.longest = Math.max(0, ...this.rules.map(rule => rule.kind.endsWith('BucketRule') || rule.kind === 'Ban' ? 8000 : rule.windowMs));
    this.present = width * NOW - ROOM;
    this.edge = this.longest > LONG ? BEYOND : 0;
    this.scale = this.edge ? (this.present - this.edge) / (this.span * NOW) : width / this.span;
    this.epoch = serverNow();
    this.windows.replaceChildren();
    this.bands = this.rules.map((rule, lane) => {
      const band = svg('rect', { class: `window w${lane % 3}`, y: lane * LANE + 2, height: this.height - lane * LANE - 18, rx: 5 });
      const label = svg('text', { class: 'window-label', y: lane * LANE + 13 });
      label.textContent = labelOf(rule);
      this.windows.append(band, label);
      return { band, label };
    });
    this.drawAxis();
    this.arranged = false;
    this.draw();
  }

  /** Where a time is that has passed for so many ms. */
  place(age) {
    const x = this.present - age * this.scale;
    if (x >= this.edge) return x;
    const shown = (this.present - this.edge) / this.scale;
    return this.edge ? Math.max(ROOM + 2, this.edge - (this.edge - ROOM - 2) * (age - shown) / (this.longest - shown)) : x;
  }

  drawAxis() {
    const y = this.height - 14;
    const write = (x, text, anchor = 'middle', attributes = {}) => {
      const node = svg('text', { class: 'tick', x, y: this.height - 2, 'text-anchor': anchor, ...attributes });
      node.textContent = text;
      this.axis.append(node);
      return node;
    };
    const x = this.present + ROOM;
    this.axis.replaceChildren(svg('path', { class: 'base', d: `M0 ${y + .5}H${this.width}` }), svg('path', { class: 'now', d: `M${x} 4V${y + 4}` }));
    write(x, 'now');
    const step = [1, 2, 5, 10, 20, 30, 60].find(s => s * 1000 * this.scale > 46) ?? 60;
    for (let s = step; s * 1000 * this.scale < this.present - this.edge - 20; s += step) {
      const at = this.place(s * 1000);
      this.axis.append(svg('path', { class: 'base', d: `M${at} ${y}v4` }));
      write(at, `−${s} s`);
    }
    this.earlier = null;
    if (this.edge) {
      const teeth = Math.ceil((y + 6) / 16);
      for (const [part, shift] of [['gap', 0], ['break', -3.5], ['break', 3.5]]) {
        this.axis.append(svg('path', { class: part, d: `M${this.edge + shift} 0${'l3 4l-6 8l3 4'.repeat(teeth)}` }));
      }
      write(ROOM + 2, `−${windowText(this.longest)}`, 'start');
      this.earlier = write(this.edge / 2 - 2, '', 'middle', { y: y - 8 });
    }
    this.nextMark = svg('path', { class: 'next-mark' });
    this.axis.append(this.nextMark);
  }

  add(call) {
    const waits = call.waitMs ?? 0;
    const outcome = call.wouldDeny ? 'observed' : call.outcome;
    const node = svg('use', { href: `#m-${outcome}`, class: `mark ${outcome}` });
    insert(this.marks, { ...call, at: call.at + waits, order: call.order + 1000 * waits, node });
    this.arranged = false;
    this.latest = Math.max(this.latest, call.at);
    if (this.marks.length > MAX_MARKS) this.marks.shift().node.remove();
    for (const rule of call.rules ?? []) {
      if (rule.kind === 'FixedWindowRule' || rule.kind.endsWith('BucketRule')) {
        const known = this.rules.find(one => one.name === rule.name);
        const until = call.at + rule.resetMs;
        // Calls of one window are reported some ms late: the first one has the least.
        const same = rule.kind === 'FixedWindowRule' && Math.abs(until - known?.until) < rule.windowMs / 2;
        if (known) known.until = same ? Math.min(until, known.until) : until;
      }
    }
  }

  /** Later calls stand further right, in one column further up. A full column pushes the older ones to the left. */
  arrange() {
    this.arranged = true;
    const rows = Math.floor((this.height - 22 - this.rules.length * LANE) / MARK_HEIGHT);
    let column = Infinity;
    let used = 0;
    for (const mark of this.marks.toReversed()) {
      const wanted = Math.floor((mark.at - this.epoch) * this.scale / MARK_WIDTH);
      const next = Math.min(wanted, used < rows ? column : Math.max(column - 1, wanted - 12));
      used = next === column ? used + 1 : 1;
      column = next;
      mark.column = column;
    }
    let row = 0;
    this.marks.forEach((mark, i) => {
      row = mark.column === this.marks[i - 1]?.column ? row + 1 : 0;
      mark.node.setAttribute('x', mark.column * MARK_WIDTH);
      mark.node.setAttribute('y', this.height - 23 - Math.min(row, rows - 1) * MARK_HEIGHT);
      if (!mark.node.isConnected) this.group.append(mark.node);
    });
  }

  /** Moves all to the present; what is out of sight, twice a second. */
  draw() {
    const now = Math.max(serverNow(), this.latest); // reports come late: no call is in the future
    if (!this.width || (!this.visible && Math.abs(now - this.drawn) < 500)) return;
    this.drawn = now;
    if (!this.arranged) this.arrange();
    const shift = this.present - (now - this.epoch) * this.scale;
    this.group.setAttribute('transform', `translate(${shift.toFixed(1)} 0)`);
    const placeOf = mark => mark.column * MARK_WIDTH + shift;
    this.rules.forEach((rule, lane) => {
      const { band, label } = this.bands[lane] ?? {};
      if (!band) return;
      const ahead = rule.kind.endsWith('BucketRule') || rule.kind === 'Ban'; // from the present on
      const window = rule.kind === 'FixedWindowRule';
      const begin = ahead ? now : window ? rule.until - rule.windowMs : now - rule.windowMs;
      const shown = !(ahead || window) || rule.until > now;
      // The first calls of a full column stand further left than they were made: they are in the box, too.
      const first = this.marks.find(mark => mark.at >= begin);
      let left = this.place(now - begin) - (ahead ? -ROOM : ROOM);
      if (first && !ahead && left > this.edge) left = Math.min(left, placeOf(first) - ROOM);
      left = Math.max(0, left);
      const right = Math.min(this.width, this.place(now - (ahead || window ? rule.until : now)) + ROOM);
      band.setAttribute('x', left);
      band.setAttribute('width', shown ? Math.max(0, right - left) : 0);
      const atEnd = shown && left > this.width * .7;
      label.setAttribute('x', atEnd ? this.width - 6 : shown && left >= this.edge ? left + 6 : this.edge ? this.edge + 10 : 6);
      label.setAttribute('text-anchor', atEnd ? 'end' : 'start');
      label.classList.toggle('idle', !shown);
    });
    const at = this.place(now - this.next);
    const shown = this.next > now && at < this.width - 4;
    this.nextMark?.setAttribute('d', shown ? `M${at.toFixed(1)} ${this.height - 26}v12m-4-5l4 5 4-5` : '');
    while (this.marks.length && now - this.marks[0].at > this.longest && placeOf(this.marks[0]) < -150) this.marks.shift().node.remove();
    let earlier = 0;
    for (const mark of this.marks) {
      const x = placeOf(mark);
      const before = x < this.edge + ROOM;
      mark.node.classList.toggle('away', before || x > this.width - ROOM); // a mark is seen whole or not at all
      mark.node.classList.toggle('out', now - mark.at > this.longest);
      if (before) earlier++;
    }
    setText(this.earlier, earlier ? `${earlier}${this.marks.length < MAX_MARKS ? '' : '+'} earlier` : '');
    if (now - this.epoch > 3600000) this.resize(); // no large numbers
  }
}

function labelOf(rule) {
  const what = rule.kind === 'TokenBucketRule' ? 'refills' : rule.kind === 'LeakyBucketRule' ? 'empties' : `${rule.of} in ${windowText(rule.windowMs)}`;
  return rule.kind === 'Ban' ? 'banned' : rule.guard ? `same form: ${windowText(rule.windowMs)}` : what;
}

function newView(id, root) {
  const view = {
    id, root, rules: [], extras: new Map(), remaining: new Map(), counts: {}, rows: [], countdown: null,
    timeline: new Timeline($('.time', root)),
  };
  views.set(id, view);
  return view;
}

function countBadges(parent) {
  for (const outcome of OUTCOMES) {
    const badge = el('span', { class: `count ${outcome}` });
    const icon = svg('svg', { class: `mark ${outcome}`, viewBox: '-8 -8 16 16', 'aria-hidden': 'true' });
    icon.append(svg('use', { href: `#m-${outcome}` }));
    badge.append(icon, el('b', { 'data-count': outcome, text: '0' }), ' ', el('span', { text: outcome }));
    parent.append(badge);
  }
}

function buildGroup({ id, title, what }, i) {
  const group = el('details', { class: 'group', ...(i === 0 ? { open: '' } : {}) },
    el('summary', {}, el('h2', { text: title }), ' ', el('span', { text: what })),
    el('div', { class: 'cards', id: `cards-${id}` }));
  $('#cards').append(group);
}

function buildCard(spec) {
  const card = $('#card').content.cloneNode(true).firstElementChild;
  card.dataset.endpoint = spec.id;
  if (spec.big) card.classList.add('big');
  const title = $('h3', card);
  title.textContent = spec.title;
  title.id = `title-${spec.id}`;
  card.setAttribute('aria-labelledby', title.id);
  $('.what', card).textContent = spec.what;
  const request = spec.once();
  $('.route', card).textContent = `${request.method} ${request.path.split('?')[0]}`;
  $('.source', card).setAttribute('aria-label', `Source of ${spec.title}`);
  $('[data-raw]', card).setAttribute('aria-label', `Last answer of ${spec.title}`);
  countBadges($('.counts', card));
  $(`#cards-${spec.group}`).append(card);
  const view = newView(spec.id, card);
  view.spec = spec;
  view.timeline.tall = spec.big;
  const add = (action, text, listener) => {
    const button = el('button', { type: 'button', 'data-action': action, text });
    if (action === 'burst') button.className = 'primary';
    button.addEventListener('click', listener);
    $('.buttons', card).append(button);
  };
  add('burst', `Burst of ${spec.burst}`, () => burstOf(view));
  add('once', spec.label ?? 'Call once', () => send(view, view.first = spec.once()));
  if (spec.twice) {
    add('twice', spec.twiceLabel ?? 'Same form twice', () => {
      const same = spec.once();
      return burst(view, [same, same]);
    });
  }
  for (const { action, label, of } of spec.more ?? []) {
    add(action, label, async () => {
      if (!view.first) await send(view, view.first = spec.once());
      await send(view, of(view.first));
    });
  }
  if (spec.big) $('.buttons', card).append(el('p', { class: 'played' }));
  $('.answer', card).open = !phone.matches;
  $('.last', card).open = !!spec.big && !phone.matches;
  $('.last', card).addEventListener('toggle', () => renderRows(view));
  if (spec.id === 'free') card.classList.add('unlimited');
  describe(view);
  return view;
}

function buildAlgorithm(spec) {
  const box = el('section', { class: 'algorithm', 'data-algorithm': spec.id, 'aria-label': spec.title });
  const time = $('.time', $('#card').content).cloneNode(true);
  const counts = el('div', { class: 'counts' });
  countBadges(counts);
  box.append(el('h3', { text: spec.title }), el('p', { class: 'what', text: spec.what }),
    el('pre', { class: 'source', tabindex: '0', role: 'group', 'aria-label': `Source of ${spec.title}` }, el('code')), counts,
    el('div', { class: 'stage' }, time), el('div', { class: 'bars' }));
  $('#four').append(box);
  const view = newView(spec.id, box);
  view.spec = { ...spec, once: () => json('GET', `/algorithms/${spec.id}`) };
  describe(view);
}

function barsOf(view) {
  const bars = $('.bars', view.root);
  const names = view.rules.filter(rule => !rule.guard).map(rule => rule.name);
  if (view.barNames === names.join()) return;
  view.barNames = names.join();
  bars.replaceChildren(...names.map(name => {
    const fill = el('i');
    const value = el('b', { 'data-remaining': name, text: '–' });
    const of = el('span', { class: 'of' });
    return el('div', { class: 'bar' }, el('span', { class: 'name', text: name }), el('span', { class: 'track', 'aria-hidden': 'true' }, fill),
      el('span', { class: 'left' }, value, ' ', of));
  }));
  view.bars = names.map((name, i) => ({ name, fill: $$('i', bars)[i], value: $$('b', bars)[i], of: $$('.of', bars)[i] }));
}

/** What is drawn like a rule: the duplicate guard, and a ban. */
function setExtras(view, call) {
  if (call.guard) view.extras.set('guard', { ...call.guard, guard: true });
  if (call.banMs) view.extras.set('ban', { name: 'ban', kind: 'Ban', guard: true, of: 0, windowMs: call.banMs, until: call.at + call.banMs });
}

function setRules(view, rules) {
  const until = new Map(view.rules.map(rule => [rule.name, rule.until]));
  view.rules = [...rules, ...view.extras.values()].map(rule => ({ ...rule, until: rule.until ?? until.get(rule.name) ?? 0 }));
  view.timeline.setRules(view.rules);
  barsOf(view);
}

/** The text alternative of a timeline. */
function describe(view) {
  const counts = OUTCOMES.filter(outcome => view.counts[outcome]).map(outcome => `${view.counts[outcome]} ${outcome}`).join(', ');
  setText($('.time title', view.root), `Timeline of ${view.spec.title}: ${counts || 'no calls yet'}`);
}

// ---------------------------------------------------------------- what the service reports

const dirtyViews = new Set();
function dirty(view) {
  dirtyViews.add(view);
  wake();
}

let base = {};
let carried = {};
let totals = {};
let boot = '';
const countOf = what => (totals[what] ?? 0) - (base[what] ?? 0) + (carried[what] ?? 0);

function onHello(message) {
  skew = message.now - Date.now();
  you = message.you.address;
  if (you.includes(':')) you = new URL(`http://[${you}]`).hostname.slice(1, -1); // in its short form
  here = message.you.here;
  if (boot !== message.boot) { // the first time, or the service was started again
    const now = {};
    for (const what of Object.keys(totals)) now[what] = countOf(what);
    carried = now;
    base = message.totals ?? {};
    boot = message.boot;
  }
  totals = message.totals ?? {};
  onTotals();
  onState(message.state);
  setText($('#link'), 'live');
  document.body.dataset.ready = 'true';
  document.body.dataset.here = here;
  play();
}

function onFrame(message) {
  skew += (message.now - Date.now() - skew) / 8; // the way here takes some time
  if (message.totals) {
    totals = message.totals;
    onTotals();
  }
  if (message.state) onState(message.state);
  for (const call of message.calls ?? []) onCall(call);
  if (message.left) {
    for (const view of views.values()) view.looked = message.left[view.id];
    wake();
  }
  for (const event of message.events ?? []) report(event);
  if (message.dropped) report(`${message.dropped} decisions came too fast to be drawn. The numbers include them`);
}

function onTotals() {
  for (const view of views.values()) {
    let changed = false;
    for (const outcome of OUTCOMES) {
      const count = countOf(`${view.id}.${outcome}`);
      changed ||= view.counts[outcome] !== count;
      view.counts[outcome] = count;
    }
    if (changed) dirty(view);
  }
  for (const node of $$('[data-decided]')) setText(node, countOf(`by.${node.dataset.decided}`));
  showFlood();
}

function onCall(call) {
  const view = views.get(call.card);
  if (!view) return;
  const rules = call.rules ?? [];
  insert(view.rows, call);
  if (view.rows.length > MAX_ROWS) view.rows.shift();
  if (rules.length || call.guard) {
    setExtras(view, call);
    setRules(view, rules);
    if (view.rows.at(-1) === call) {
      for (const rule of rules) setRemaining(view, rule, call.at);
    }
  }
  view.timeline.add(call);
  strip(call);
  if (call.own) countDown(view, call);
  dirty(view);
}

/** What remained after a call, and for a log which units were taken when. */
function setRemaining(view, rule, at) {
  let taken = (view.remaining.get(rule.name)?.taken ?? []).filter(one => one.at > at - rule.windowMs);
  const more = rule.of - rule.left - taken.reduce((sum, { units }) => sum + units, 0);
  if (more < 0) taken = [{ at, units: rule.of - rule.left }];
  else if (more) taken.push({ at, units: more });
  view.remaining.set(rule.name, { ...rule, at, full: at + rule.resetMs, taken });
}

/** As the service has looked it up; where it does not, as while Redis is away, by the rule's arithmetic. */
function remains(view, name, now) {
  const looked = view.looked?.[name];
  const { kind, of, left, at, full, windowMs, taken } = view.remaining.get(name);
  if (looked !== undefined || now >= full) return looked ?? of;
  if (kind.endsWith('BucketRule')) return Math.max(left, of - Math.ceil((of - left) * (full - now) / (full - at)));
  if (kind === 'SlidingWindowLogRule') return of - taken.reduce((sum, one) => sum + (one.at > now - windowMs ? one.units : 0), 0);
  return left;
}

function countDown(view, call) {
  if (!view.spec || !$('[data-countdown]', view.root)) return;
  const denied = ['denied', 'duplicate', 'banned', 'unavailable'].includes(call.outcome) && !call.wouldDeny;
  const running = view.countdown;
  if (denied && call.retryMs) {
    const ends = call.at + call.retryMs;
    const again = running?.state === 'asked' ? running.again + 1 : running?.again ?? 0;
    view.countdown = { state: again > RETRIES ? 'none' : 'running', ends, whole: Math.max(call.retryMs, running?.whole ?? 0), request: view.lastRequest, again };
    view.timeline.next = ends;
  } else if (!denied && running && (running.state === 'asked' || running.ends <= serverNow())) {
    view.countdown = { ...running, state: 'done' };
    view.timeline.next = 0;
    say(`${view.spec.title}: the next call was admitted`);
  }
}

function tickCountdown(view) {
  const countdown = view.countdown;
  const node = $('[data-countdown]', view.root);
  if (!node || !countdown) return false;
  const left = countdown.ends - serverNow();
  const shown = countdown.state === 'asked' ? 'running' : countdown.state;
  if (node.dataset.countdown !== shown) {
    node.dataset.countdown = shown;
    node.closest('.next').dataset.state = shown;
    setText($('.next-text', view.root), shown === 'done' ? 'The next call was admitted' : shown === 'running' ? 'Next admitted call in' : 'next admitted call');
  }
  setText(node, shown === 'running' ? Math.max(0, left / 1000).toFixed(left < 10000 ? 1 : 0) : shown === 'done' ? '0' : '');
  const ring = $('.fg', node.closest('.next'));
  ring.style.strokeDashoffset = shown === 'running' ? (100 * Math.max(0, left) / countdown.whole).toFixed(1) : shown === 'done' ? '0' : '100';
  if (countdown.state === 'running' && left < -40) {
    countdown.state = 'asked';
    send(view, countdown.request ?? view.spec.once());
  }
  return shown === 'running';
}

const STRIP = { STORE: ['store', 'R'], FALLBACK: ['fallback', 'M'], DENY_CACHE: ['cache', 'D'], LEASE: ['store', 'L'] };
const decisions = [];
function strip(call) {
  if (!STRIP[call.by]) return;
  insert(decisions, call);
  if (decisions.length > MAX_STRIP) decisions.shift();
  stripDirty = true;
  wake();
}
let stripDirty = false;

function renderStrip() {
  stripDirty = false;
  $('#strip').replaceChildren(...decisions.map(({ by }) => el('i', { class: STRIP[by][0], text: STRIP[by][1] })));
  const sums = Object.keys(STRIP).map(by => `${decisions.filter(one => one.by === by).length} ${by}`).join(', ');
  $('#strip').setAttribute('aria-label', `The last ${decisions.length} decisions: ${sums}`);
}

function report(text) {
  const item = el('li', {}, el('time', { text: new Date().toLocaleTimeString('en-GB') }), ` ${text}`);
  const log = $('#log');
  log.prepend(item);
  while (log.children.length > MAX_LOG) log.lastChild.remove();
  refreshDesk();
}

let admittedByBoth = 0;
function onState(state) {
  const redis = $('#redis');
  setText($('[data-redis-state]', redis), state.redis);
  setText($('[data-breaker]', redis), state.breaker);
  redis.dataset.state = state.redis;
  redis.dataset.open = state.breaker === 'open';
  const able = { stop: state.redis === 'running', continue: state.redis === 'stopped', kill: state.redis === 'running' || state.redis === 'stopped', start: state.redis === 'down' };
  for (const [action, can] of Object.entries(able)) disable($(`[data-action=${action}]`, redis), !can || !here);
  const panel = $('#instances');
  const counts = state.instances ?? [0, 0, 0, 0];
  admittedByBoth = counts[0] + counts[2];
  $$('[data-instance]', panel).forEach((box, i) => {
    setText($('[data-count=admitted]', box), counts[2 * i]);
    setText($('[data-count=denied]', box), counts[2 * i + 1]);
  });
  $('[data-instance="2"]', panel).classList.toggle('off', !state.second);
  disable($('[data-action=start]', panel), state.second || !here);
  disable($('[data-action=stop]', panel), !state.second || !here);
  disable($('[data-action=burst]', panel), !state.second || !here);
  disable($('#hot button'), !here);
  disable($('#database button'), !here);
  $('[name=observe]').checked = state.observe;
  disable($('[name=observe]'), !here);
  document.body.dataset.observe = state.observe;
  for (const option of $$('[name=format] option')) option.disabled = !here && ['problem', 'template'].includes(option.value);
}

/** A button that has the focus keeps it. */
function disable(node, off) {
  if (node.disabled === off) return;
  const focused = document.activeElement === node;
  node.disabled = off;
  if (off && focused) $(`#${node.closest('[id]').id} button:not(:disabled)`)?.focus();
}

// ---------------------------------------------------------------- drawing

let frame = 0;
function wake() {
  if (!frame && !document.hidden) frame = slow.matches ? setTimeout(draw, 250) : requestAnimationFrame(draw);
}

function draw() {
  frame = 0;
  for (const view of dirtyViews) render(view);
  dirtyViews.clear();
  if (stripDirty) renderStrip();
  let moves = false;
  for (const view of views.values()) {
    if (view.timeline.marks.length) {
      view.timeline.draw();
      moves = true;
    }
    moves = tickCountdown(view) || moves;
    moves = renderBars(view) || moves;
  }
  if (moves) wake();
}

function render(view) {
  for (const outcome of OUTCOMES) {
    const node = $(`[data-count=${outcome}]`, view.root);
    setText(node, view.counts[outcome] ?? 0);
    node.parentNode.classList.toggle('zero', !view.counts[outcome]);
  }
  describe(view);
  if (view.raw && view.raw !== view.shownRaw) {
    view.shownRaw = view.raw;
    const raw = $('[data-raw]', view.root);
    if (raw) {
      raw.textContent = rawText(view.raw);
      const status = view.raw.answer?.status ?? 0;
      const code = $('.code', view.root);
      code.textContent = status || 'none';
      code.dataset.kind = status >= 400 || !status ? 'no' : 'yes';
    }
    const parts = OUTCOMES.filter(outcome => view.counts[outcome]).map(outcome => `${view.counts[outcome]} ${outcome}`);
    if (parts.length) say(`${view.spec.title}: ${parts.join(', ')}`);
  }
  renderRows(view);
}

function renderRows(view) {
  const last = $('.last', view.root);
  if (!last?.open) return;
  $('tbody', last).replaceChildren(...view.rows.toReversed().map(call => el('tr', {},
    el('td', { text: new Date(call.at).toLocaleTimeString('en-GB') }),
    el('td', { text: call.wouldDeny ? 'admitted, would be denied' : call.outcome }),
    el('td', { text: call.reason ? `${call.by} (${call.reason})` : call.by }),
    el('td', { text: (call.rules ?? []).map(rule => `${rule.left}/${rule.of}`).join(', ') }))));
}

function renderBars(view) {
  let waits = false;
  const now = serverNow();
  for (const bar of view.bars ?? []) {
    const known = view.remaining.get(bar.name);
    if (!known) continue;
    waits ||= now < known.full;
    const left = remains(view, bar.name, now);
    setText(bar.value, left);
    setText(bar.of, `of ${known.of}`);
    const width = `${Math.max(0, Math.min(100, 100 * left / known.of))}%`;
    if (bar.fill.style.width !== width) bar.fill.style.width = width;
    bar.fill.classList.toggle('empty', left === 0);
  }
  return waits && view.timeline.visible;
}

// ---------------------------------------------------------------- the stream

let source = null;
let reopen = 0;

function open() {
  clearTimeout(reopen);
  if (source) return;
  source = new EventSource(`/events?page=${pageId}`);
  source.addEventListener('hello', event => onHello(JSON.parse(event.data)));
  source.addEventListener('frame', event => onFrame(JSON.parse(event.data)));
  source.addEventListener('error', () => {
    document.body.dataset.ready = 'false';
    setText($('#link'), 'no connection, trying again');
    if (source?.readyState === EventSource.CLOSED) {
      close();
      reopen = setTimeout(open, 3000);
    }
  });
}

function close() {
  clearTimeout(reopen);
  source?.close();
  source = null;
  document.body.dataset.ready = 'false';
}

addEventListener('pagehide', close);
addEventListener('pageshow', event => { if (event.persisted) open(); });
let hidden = 0;
document.addEventListener('visibilitychange', () => {
  clearTimeout(hidden);
  if (document.hidden) hidden = setTimeout(close, 30000); // a browser has six connections to a site
  else {
    frame = 0;
    open();
    wake();
    play();
  }
});

// ---------------------------------------------------------------- switches and panels

async function command(path, status) {
  const answer = await fetch(path, { method: 'POST', headers: { 'X-Page': pageId }, credentials: 'omit' });
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) setText(status, body?._embedded?.errors?.[0]?.message ?? `${answer.status} ${answer.statusText}`);
  return answer.ok ? body : null;
}

function wireSwitches() {
  const form = $('#switches');
  form.addEventListener('submit', event => event.preventDefault());
  form.elements.format.addEventListener('change', event => {
    settings.format = event.target.value;
    const other = ['problem', 'template'].includes(settings.format);
    setText($('#switched'), other ? `Calls now go to an instance with limiter.denial.body: ${settings.format}. Its first start takes some seconds` : '');
  });
  form.elements.language.addEventListener('change', event => { settings.language = event.target.value; });
  form.elements.observe.addEventListener('change', async event => {
    const on = event.target.checked;
    setText($('#switched'), '…');
    const done = await command(`/page/observe/${on}`, $('#switched'));
    if (done) setText($('#switched'), on ? 'All policies only observe: nothing is denied, and what would be is marked' : 'All policies deny again');
    else event.target.checked = !on;
    refreshDesk();
  });
  form.elements.format.value = settings.format;
  form.elements.language.value = settings.language;
}

function wirePanels() {
  $('#algorithms [data-action=burst]').addEventListener('click', () => {
    for (let i = 0; i < 8; i++) {
      for (const { id } of ALGORITHMS) {
        const view = views.get(id);
        send(view, view.spec.once());
      }
    }
  });
  for (const button of $$('#redis button')) {
    button.addEventListener('click', async () => {
      const action = button.dataset.action;
      if (action === 'calls') {
        const quota = views.get('quota');
        for (let i = 0; i < 12; i++) await send(quota, quota.spec.once());
        return;
      }
      report(`Redis: ${action}`);
      await command(`/redis/${action}`, $('#spoken'));
    });
  }
  $('#hot button').addEventListener('click', flood);
  $('#database button').addEventListener('click', slowDatabase);
  for (const button of $$('#instances button')) {
    button.addEventListener('click', async () => {
      const action = button.dataset.action;
      const before = admittedByBoth;
      setText($('#sum'), action === 'start' ? 'Starting…' : '');
      const done = await command(`/page/instances/${action}`, $('#sum'));
      if (!done) return;
      if (action === 'burst') setText($('#sum'), `Of these twelve calls ${done.instances[0] + done.instances[2] - before} were admitted, by both instances together.`);
      else setText($('#sum'), action === 'start' ? 'The second instance runs, and counts in the same Redis.' : 'The second instance has stopped.');
    });
  }
}

let flooding = null; // the decisions before it
const decidedHot = () => OUTCOMES.reduce((sum, outcome) => sum + countOf(`hot.${outcome}`), 0);
function showFlood() {
  if (flooding === null) return;
  const bar = $('#flooding progress');
  bar.value = Math.min(bar.max, decidedHot() - flooding);
  setText($('#flooding span'), bar.value ? `${figure(bar.value)} of ${figure(bar.max)} calls` : 'starting');
}

async function flood() {
  if (flooding !== null) return;
  flooding = decidedHot();
  showFlood();
  $('#flooding').hidden = false;
  setText($('#flooded'), 'Calling…');
  const begun = Date.now();
  const done = await command('/page/flood', $('#flooded'));
  flooding = null;
  $('#flooding').hidden = true;
  if (!done) return;
  const sums = {};
  done.instances.forEach(({ units, ...calls }, i) => {
    const box = $(`[data-flooded="${i + 1}"]`);
    for (const node of $$('[data-calls]', box)) setText(node, calls[node.dataset.calls] ?? 0);
    const { granted, spent, returned, expired } = units;
    setText($('[data-units]', box), `Leases since the start: ${granted} units granted, ${spent} spent, ${returned} returned, ${expired} expired`);
    for (const [by, count] of Object.entries(calls)) sums[by] = (sums[by] ?? 0) + count;
  });
  const { denied = 0, lease = 0, store = 0, ...others } = sums;
  const memory = Object.values(others).reduce((sum, count) => sum + count, 0);
  setText($('#flooded'), `${figure(lease + store + memory)} calls were admitted within ${seconds(Date.now() - begun)}, by both instances together: `
    + `${figure(lease)} by leases, ${figure(store)} by Redis${memory ? `, ${figure(memory)} by memory` : ''}. ${figure(denied)} were denied.`);
}

let slowing = false;
async function slowDatabase() {
  if (slowing) return;
  slowing = true;
  setText($('#slowed'), 'Calling for fifteen seconds…');
  const phases = await command('/page/database/slow', $('#slowed'));
  slowing = false;
  if (!phases) return;
  $('#phases').replaceChildren(...phases.map(({ name, answered, rejected, p50, p99, limit }) =>
    el('tr', {}, el('th', { scope: 'row', text: name }), ...[answered, rejected, `${p50} ms`, `${p99} ms`, limit].map(text => el('td', { text })))));
  setText($('#slowed'), `While the database was slow, ${phases[1].rejected} calls were rejected at once.`);
}

// ---------------------------------------------------------------- the operator's panel

let credentials = ''; // in memory only
let desk = null;
let refreshing = 0;

async function limits(path, body) {
  const answer = await fetch(`/limits${path}`, {
    method: body ? 'POST' : 'GET', body: body && JSON.stringify(body), credentials: 'omit', cache: 'no-store',
    headers: { Authorization: credentials, ...(body ? { 'Content-Type': 'application/json' } : {}) },
  });
  const read = await answer.json().catch(() => ({}));
  if (!answer.ok) {
    throw new Error(answer.status === 401 ? 'Wrong user or password' : answer.status === 403 ? 'Only for operators, and from this machine only'
      : read?._embedded?.errors?.[0]?.message ?? read?.message ?? `${answer.status} ${answer.statusText}`);
  }
  return read;
}

function refreshDesk() {
  if (!credentials || refreshing) return;
  refreshing = setTimeout(async () => {
    refreshing = 0;
    if (document.hidden) return;
    try {
      renderDesk(await limits(''));
    } catch (failure) {
      setText($('#operator-status'), failure.message);
    }
  }, 300);
}

const policyPath = name => `/${encodeURIComponent(name)}`;

function renderDesk(read) {
  desk = read;
  const body = $('#policies');
  const select = $('#subject').elements.policy;
  const policies = read.policies ?? [];
  if (select.options.length !== policies.length) {
    select.replaceChildren(...policies.map(({ policy }) => el('option', { value: policy, text: short(policy) })));
    const articles = policies.find(({ methods }) => methods?.some(method => method.includes('ArticleController')));
    if (articles) select.value = articles.policy;
    choosePolicy();
  }
  for (const policy of policies) {
    let row = $$('tr', body).find(one => one.dataset.policy === policy.policy);
    if (!row) {
      const check = el('input', { type: 'checkbox', 'aria-label': `Only observe ${short(policy.policy)}` });
      check.addEventListener('change', () => operate(async () => {
        await limits(policyPath(policy.policy), { observe: check.checked });
        return `${short(policy.policy)} ${check.checked ? 'only observes now' : 'denies again'}`;
      }));
      row = el('tr', { 'data-policy': policy.policy }, el('th', { scope: 'row' }), el('td'), el('td'), el('td'), el('td', {}, check));
      body.append(row);
    }
    const cells = row.children;
    setText(cells[0], short(policy.policy));
    cells[0].title = policy.policy;
    const rules = (policy.limits ?? []).flatMap(limit => (limit.rules ?? []).map(rule =>
      `${rule.rule} · ${rule.algorithm.toLowerCase().replaceAll('_', ' ')} · by\u00a0${limit.countedBy.replace('limitType = ', '')}`));
    setText(cells[1], rules.join('\n') || 'duplicates only');
    const from = (policy.configured ?? []).map(one => `${one.key.replace(`limiter.policies.${policy.policy}.`, '')} = ${one.value} (${one.source})`);
    setText(cells[2], from.join('\n') || 'annotation');
    const d = policy.decisions ?? {};
    setText(cells[3], [`${d.allowed ?? 0} allowed`, ...['limited', 'banned', 'duplicate', 'unavailable', 'wouldDeny'].filter(key => d[key]).map(key => `${d[key]} ${key === 'wouldDeny' ? 'would be denied' : key}`)].join('\n'));
    $('input', cells[4]).checked = !!policy.observed;
  }
  const talkers = read.topTalkers?.subjects ?? [];
  const most = Math.max(1, ...talkers.map(one => one.denied));
  $('#talkers').replaceChildren(...talkers.slice(0, 8).map(one => {
    const fill = el('i');
    fill.style.width = `${100 * one.denied / most}%`;
    return el('li', {}, el('span', { class: 'who', text: one.clear ?? one.subject }), el('span', { class: 'track', 'aria-hidden': 'true' }, fill),
      el('b', { text: `${one.denied} denied` }), el('small', { text: one.policy ? short(one.policy) : '' }));
  }));
  if (!talkers.length) $('#talkers').append(el('li', { text: 'No one was denied yet.' }));
  const overrides = read.overrides ?? [];
  if (overrides.length) {
    $('#talkers').append(...overrides.map(one => el('li', { class: 'override', text:
      `Override of ${short(one.policy)}: ${one.unlimited ? 'unlimited' : Object.entries(one.counts ?? {}).map(([rule, count]) => `${rule} → ${count}`).join(', ')}, for ${one.left.replace('PT', '').replace(/\.\d+S/, 'S').toLowerCase()}` })));
  }
}

function chosen() {
  return desk?.policies?.find(({ policy }) => policy === $('#subject').elements.policy.value);
}

function choosePolicy() {
  const { kind, value } = $('#subject').elements;
  const by = chosen()?.limits?.[0]?.countedBy ?? '';
  kind.value = by.includes('USER') ? 'user' : /phone/.test(by) ? 'subject' : /user/.test(by) ? 'subject' : /header|Key/i.test(by) ? 'subject' : 'address';
  value.value = kind.value === 'address' ? you : /phone/.test(by) ? '555-1234' : /Key/i.test(by) ? 'tea' : 'ann';
}

function subjectBody() {
  const { kind, value } = $('#subject').elements;
  return kind.value === 'everyone' ? { everyone: true } : { [kind.value]: value.value };
}

async function operate(action) {
  const status = $('#operator-status');
  status.classList.remove('wrong');
  try {
    setText(status, await action());
  } catch (failure) {
    status.classList.add('wrong');
    setText(status, failure.message);
  }
  refreshDesk();
}

function renderSeen(view, title) {
  const list = (view.rules ?? []).map(rule => {
    const fill = el('i', rule.remaining ? {} : { class: 'empty' });
    fill.style.width = `${Math.min(100, 100 * rule.remaining / rule.of)}%`;
    return el('div', { class: 'bar' }, el('span', { class: 'name', text: rule.rule }), el('span', { class: 'track', 'aria-hidden': 'true' }, fill),
      el('span', { class: 'left', text: `${rule.remaining} of ${rule.of}` }));
  });
  $('#seen').replaceChildren(el('p', { text: `${title}: the next call would be ${view.passes ? 'admitted' : `denied (${view.outcome})`}, decided by ${view.decidedBy}` }), ...list);
}

function wireOperator() {
  $('#login').addEventListener('submit', event => {
    event.preventDefault();
    const { user, password } = event.target.elements;
    credentials = basic(user.value, password.value);
    operate(async () => {
      try {
        renderDesk(await limits(''));
      } catch (failure) {
        credentials = '';
        throw failure;
      }
      password.value = '';
      $('#login').hidden = true;
      $('#desk').hidden = false;
      $('#subject').elements.policy.focus({ preventScroll: true });
      return 'Logged in. The page forgets the password when it is closed.';
    });
  });
  const form = $('#subject');
  form.addEventListener('submit', event => event.preventDefault());
  form.elements.policy.addEventListener('change', choosePolicy);
  for (const button of $$('button', form)) {
    button.addEventListener('click', () => operate(async () => {
      const policy = form.elements.policy.value;
      const name = short(policy);
      switch (button.dataset.action) {
        case 'inspect': {
          renderSeen(await limits(`${policyPath(policy)}/look`, subjectBody()), name);
          return 'Looked at: nothing was counted';
        }
        case 'override': {
          const rule = chosen().limits[0].rules[0].rule;
          await limits(`${policyPath(policy)}/override`, { ...subjectBody(), counts: { [rule]: Number(form.elements.count.value) }, time: '10m' });
          renderSeen(await limits(`${policyPath(policy)}/look`, subjectBody()), name);
          return `${name}: ${rule} counts to ${form.elements.count.value} for this subject, for ten minutes`;
        }
        default: {
          const read = await limits(`${policyPath(policy)}/${button.dataset.action}`, subjectBody());
          renderSeen(read.after ?? await limits(`${policyPath(policy)}/look`, subjectBody()), name);
          return `${name}: done`;
        }
      }
    }));
  }
  setInterval(() => { if (credentials) refreshDesk(); }, 2000);
}

// ---------------------------------------------------------------- start

async function start() {
  GROUPS.forEach(buildGroup);
  CARDS.forEach(buildCard);
  ALGORITHMS.forEach(buildAlgorithm);
  wireSwitches();
  wirePanels();
  wireOperator();
  for (const panel of $$('.panel > details')) panel.open = !phone.matches || location.hash === `#${panel.parentNode.id}`;
  for (const link of $$('nav a')) {
    link.addEventListener('click', () => {
      const panel = $(`${link.hash} > details`);
      if (panel) panel.open = true;
    });
  }
  const cards = await (await fetch('/page/cards', { credentials: 'omit' })).json();
  for (const view of views.values()) {
    const card = cards[view.id];
    $('.source code', view.root).textContent = card.source;
    if (card.rules) setRules(view, card.rules);
    $('.source', view.root).title = card.file;
  }
  for (const panel of ['hot', 'database']) $(`#${panel} .source code`).textContent = cards[panel].source;
  open();
}

start().catch(() => setText($('#link'), 'the service does not answer: load the page again'));
