'use strict';

// Creates elements from plain data. Text is always a text node, so that no data of a run becomes
// markup.

const SVG = 'http://www.w3.org/2000/svg';

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'on') {
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    } else {
      node.setAttribute(name, value === true ? '' : String(value));
    }
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

const h = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
const s = (name, attributes, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

let lastId = 0;
const freshId = (stem) => `${stem}-${++lastId}`;

const round = (n) => Math.round(n * 10) / 10;
const clamp = (n, low, high) => Math.min(Math.max(n, low), high);
const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
const grouped = (n) => String(n).replace(/\B(?=(\d{3})+(?!\d))/g, ',');

// A duration with three significant digits, as on the terminal.
function span(ms) {
  if (ms <= 0) return '0ms';
  const steps = [
    [1e-3, 0, 'us', 999.5], [1, 1, 'ms', 9.95], [1, 0, 'ms', 999.5], [1e3, 2, 's', 9.995],
    [1e3, 1, 's', 99.95], [1e3, 0, 's', 599.5], [6e4, 1, 'm', 99.95], [3.6e6, 1, 'h', 47.95],
  ];
  for (const [scale, decimals, unit, below] of steps) {
    if (ms / scale < below) return (ms / scale).toFixed(decimals) + unit;
  }
  return `${(ms / 8.64e7).toFixed(1)}d`;
}

// An instant of a run to the microsecond, without trailing zeros.
function instant(us) {
  const text = (us / 1e6).toFixed(6);
  return `${text.replace(/(\.\d{3}\d*?)0+$/, '$1')}s`;
}

// A box that redraws when its width changes, or when its `redraw` is called.
function drawn(draw, className) {
  const box = h('div', { class: className });
  box.redraw = () => box.replaceChildren(...[draw(box.drawnWidth)].flat());
  const resize = (width) => {
    const whole = Math.max(280, Math.floor(width));
    if (whole === box.drawnWidth) return;
    box.drawnWidth = whole;
    box.redraw();
  };
  new ResizeObserver((entries) => {
    for (const entry of entries) if (entry.contentRect.width > 0) resize(entry.contentRect.width);
  }).observe(box);
  resize(680);
  return box;
}

// A part of a page, with its heading.
function section(id, title, ...children) {
  const heading = freshId(id);
  return h('section', { class: id, 'aria-labelledby': heading }, h('h2', { id: heading }, title), children);
}

// Calls each second.
const callRate = (n) => (n < 99.95 ? n.toFixed(1) : grouped(Math.round(n)));

// A button of a toolbar, which is off while what it needs is not there.
const toolButton = (label, name, act, needs) => h('button', { type: 'button', 'aria-label': name, title: name, 'data-needs': needs, on: { click: act } }, label);

// The number of rows of a table that are shown at once; a button shows the others.
const SHOWN_ROWS = 10;

// A table of which the rows past the tenth are folded.
function foldedTable(caption, heads, rows, className) {
  const whole = table(caption, heads, rows, className);
  const folded = [...whole.querySelectorAll('tbody tr')].slice(SHOWN_ROWS);
  if (folded.length === 0) return whole;
  for (const row of folded) row.classList.add('folded');
  const unfold = h('button', { type: 'button', class: 'unfold', 'aria-expanded': 'false', on: { click: () => {
    const open = unfold.getAttribute('aria-expanded') === 'false';
    for (const row of folded) row.classList.toggle('folded', !open);
    unfold.setAttribute('aria-expanded', String(open));
    unfold.textContent = open ? `Show the first ${SHOWN_ROWS} only` : `Show ${grouped(folded.length)} more`;
  } } }, `Show ${grouped(folded.length)} more`);
  return h('div', { class: 'foldable' }, whole, unfold);
}

// A command, with a button that copies it.
function command(text) {
  const code = h('code', {}, text);
  const said = h('span', { class: 'copied', role: 'status' });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      said.textContent = '✓ copied';
    } catch {
      // A browser without access to the clipboard: the command is selected for its own copy.
      getSelection().selectAllChildren(code);
      said.textContent = 'selected: copy it with the keyboard';
    }
  };
  return h('span', { class: 'command' }, code, h('button', { type: 'button', class: 'copy', 'aria-label': `Copy: ${text}`, on: { click: copy } }, 'Copy'), said);
}

// A table in its own box, so that a wide one scrolls by itself. A column without a head is left out.
function table(caption, allHeads, allRows, className) {
  const kept = (cells) => cells.filter((_, i) => allHeads[i]);
  const heads = kept(allHeads), rows = allRows.map(kept);
  const head = heads.map((text) => h('th', { scope: 'col', class: text.startsWith('#') ? 'number' : null }, text.replace('#', '')));
  const body = rows.map((cells) => h('tr', {}, cells.map((cell, i) => {
    const number = heads[i].startsWith('#') ? 'number' : null;
    return i === 0 ? h('th', { scope: 'row' }, cell) : h('td', { class: number }, cell);
  })));
  return h('div', { class: 'scroll', role: 'region', tabindex: '0', 'aria-label': caption },
    h('table', { class: className }, h('caption', { class: 'unseen' }, caption),
      h('thead', {}, h('tr', {}, head)), h('tbody', {}, body)));
}
