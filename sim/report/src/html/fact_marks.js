// Both facts of a violation in the diagram: what the protocol predicts, where it was due, and what was
// seen in its place. The marks differ in shape and in words, not in colour alone.

const FACTS = { predicted: ['◇', 'Predicted'], seen: ['✗', 'Seen'] };

function factMarks(diagram, place) {
  const half = Math.max(150, place.lane * 0.9);
  return (diagram.marks || []).map((mark, i) => {
    const x = place.x(mark.lane), y = round(place.y(mark.at_us));
    const [sign, name] = FACTS[mark.fact];
    const together = diagram.marks.every((one) => one.at_us === mark.at_us);
    const beside = x < place.width / 2 ? 1 : -1;
    const text = short(`${sign} ${name.toLowerCase()}: ${mark.words}`, Math.floor((half + 60) / 5.7));
    return s('g', { class: `fact ${mark.fact}`, role: 'img', 'aria-label': `${name}: ${mark.words}` }, s('title', {}, `${name}: ${mark.words}`),
      mark.fact === 'predicted' ? s('path', { class: 'fact-shape', d: `M${x},${y - 11}L${x + 11},${y}L${x},${y + 11}L${x - 11},${y}Z` }) : s('circle', { class: 'fact-shape', cx: x, cy: y, r: 8 }),
      s('text', { x: x + beside * 16, y: y + (together ? (i === 0 ? -16 : 24) : -12), 'text-anchor': beside > 0 ? 'start' : 'end' }, text));
  });
}

function factList(diagram) {
  if (!diagram.marks || diagram.marks.length === 0) return null;
  return h('dl', { class: 'facts-of-violation' }, diagram.marks.map((mark) => h('div', {}, h('dt', {}, `${FACTS[mark.fact][0]} ${FACTS[mark.fact][1]}`), h('dd', {}, mark.words, h('span', { class: 'muted' }, ` at ${instant(mark.at_us)}`)))));
}
