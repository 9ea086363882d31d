// The operator's figures: rates, times and errors over time, counts and sizes.

import { h } from '/preact/preact.mjs';
import { Clock, span } from '/page/parts.js';

export function Figures({ data, it }) {
  const tiles = [['Participants', 'participants'], ['Waiting', 'waiting'], ['Rooms', 'rooms']];
  const rate = it.rates.at(-1);
  const each = (n) => (n === undefined ? '–' : n.toLocaleString([], { maximumFractionDigits: 1 }));
  return [
    h('dl', { class: 'tiles' },
      h(Tile, { label: 'Calls a second', value: each(rate?.calls), values: it.rates.map((one) => one.calls) }),
      h(Tile, { label: 'Refusals a second', value: each(rate?.refusals), values: it.rates.map((one) => one.refusals) }),
      h(Tile, { label: 'Half of the calls within', value: short(rate?.half), values: it.rates.map((one) => one.half ?? 0) }),
      h(Tile, { label: '99 of 100 calls within', value: short(rate?.most), values: it.rates.map((one) => one.most ?? 0) })),
    h(Latency, { rates: it.rates }),
    h(Errors, { errors: it.errors ?? [] }),
    h('dl', { class: 'tiles' }, tiles.map(([label, key]) => h(Tile, { key, label, value: data[key].toLocaleString(), values: it.looks.map((one) => one[key]) }))),
    h('div', { class: 'columns' },
      h(Counts, { title: 'The stick', counts: data.stick_moves }),
      h(Counts, { title: 'Timers that fired', counts: data.timers_fired }),
      h(Counts, { title: 'Breaks', counts: { ...data.breaks, 'noticed by a boss': data.boss_alerts, 'held back': data.breaks_held } }),
      h(Sizes, { sizes: data.sizes })),
  ];
}

const Tile = ({ label, value, values }) => h('div', { class: 'tile' }, h('dt', null, label), h('dd', null, value), h(Line, { values }));

// A span of seconds, short; without calls there is none.
function short(seconds) {
  if (seconds === null || seconds === undefined) return '–';
  const ms = seconds * 1_000;
  return ms < 1_000 ? `${ms.toLocaleString([], { maximumSignificantDigits: 2 })} ms` : span(seconds);
}

// How long calls took, over the time that this view is open.
function Latency({ rates }) {
  const measured = rates.filter((one) => one.most !== null);
  if (measured.length < 2) return h('p', { class: 'muted' }, 'How long calls take over time is shown after two updates with calls.');
  const highest = Math.max(...measured.map((one) => one.most));
  const first = measured[0].at;
  const width = Math.max(1, measured.at(-1).at - first);
  const points = (name) => measured.map((one) => `${((one.at - first) * 100) / width},${23 - (one[name] * 22) / highest}`).join(' ');
  return h('figure', { class: 'card chart' },
    h('figcaption', null, 'How long calls take'),
    h('p', { class: 'muted' }, `Solid: half of the calls. Dashed: 99 of 100. The highest is ${short(highest)}.`),
    h('svg', { class: 'line', viewBox: '0 0 100 24', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
      h('polyline', { points: points('most'), class: 'dashed', fill: 'none', 'vector-effect': 'non-scaling-stroke' }),
      h('polyline', { points: points('half'), fill: 'none', 'vector-effect': 'non-scaling-stroke' })),
    h('div', { class: 'ends muted' }, h(Clock, { at: new Date(first).toISOString() }), h('span', null, 'now')));
}

function Errors({ errors }) {
  const rows = errors.map(({ code, recent, all }) => ({ key: code, cells: [plain(code), recent.toLocaleString(), all.toLocaleString()] }));
  return h(Table, { title: 'Errors by code', heads: ['Code', 'Since this view opened', 'Since the server started'], rows, figures: true, none: 'No call was refused.' });
}

// The last updates as a line. The figure beside it shows the value in digits.
function Line({ values }) {
  if (values.length < 2) return h('svg', { class: 'line', viewBox: '0 0 100 24', 'aria-hidden': 'true' });
  const most = Math.max(1, ...values);
  const points = values.map((value, index) => `${(index * 100) / (values.length - 1)},${22 - (value * 20) / most}`).join(' ');
  return h('svg', { class: 'line', viewBox: '0 0 100 24', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    h('polyline', { points, fill: 'none', 'vector-effect': 'non-scaling-stroke' }));
}

const plain = (name) => name.replaceAll('_', ' ');

// What happened, the most frequent first. What never did is behind one press.
function Counts({ title, counts }) {
  const all = Object.entries(counts).sort(([, a], [, b]) => b - a);
  return h(Zeros, { title, heads: ['What', 'Times'], all: all.map(([name, times]) => ({ is: times, key: name, cells: [plain(name), times.toLocaleString()] })) });
}

function Zeros({ title, heads, all }) {
  const [some, none] = [all.filter(({ is }) => is > 0), all.filter(({ is }) => is === 0)];
  return h('div', null,
    some.length > 0 ? h(Table, { title, heads, rows: some, figures: true }) : h('p', { class: 'muted' }, `${title}: nothing so far.`),
    none.length > 0 && h('details', null,
      h('summary', { class: 'muted' }, `${none.length} more, all 0`),
      h('p', { class: 'muted' }, none.map(({ cells }) => cells[0]).join(', '))));
}

function Sizes({ sizes }) {
  const all = Object.entries(sizes).sort(([, a], [, b]) => b.size / b.limit - a.size / a.limit);
  return h(Zeros, { title: 'Sizes and their limits', heads: ['What', 'Most now', 'Limit'], all: all.map(([name, { size, limit }]) => ({ is: size, key: name, cells: [plain(name), size.toLocaleString(), limit.toLocaleString()] })) });
}

// A table with a caption. Wide content scrolls within it, also by keys. On a phone its rows are
// shown as cards; roles keep it a table for assistive technology.
export function Table({ title, heads, rows, figures = false, none = 'Nothing here.' }) {
  if (rows.length === 0) return h('p', { class: 'empty' }, none);
  return h('div', { class: 'table', tabindex: 0, role: 'region', 'aria-label': title },
    h('table', { role: 'table', class: figures ? 'figures' : 'listing' },
      h('caption', null, title),
      h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, heads.map((head) => h('th', { key: head, scope: 'col', role: 'columnheader' }, head)))),
      h('tbody', { role: 'rowgroup' }, rows.map(({ key, cells }) => h('tr', { key, role: 'row' }, cells.map((cell, index) => (index === 0
        ? h('th', { key: index, scope: 'row', role: 'rowheader' }, cell)
        : h('td', { key: index, role: 'cell', 'data-head': heads[index] }, cell))))))));
}
