// The page: the result of the run, with the verdict first.

const STANDINGS = { held: '✓', violated: '✗', 'not judged': '?', 'not exercised': '–' };
const CLASSES = [['safety', 'Safety', 'nothing bad happens'], ['liveness', 'Liveness', 'something good happens in time, once the faults are healed'], ['threshold', 'Thresholds', 'figures keep to their bounds']];
const VERDICTS = { pass: 'passed', safety: 'a safety property was violated', liveness: 'a liveness property was violated', unjudged: 'could not be judged', threshold: 'a threshold was crossed' };

const passed = (run) => run.verdict === 'pass';

function section(id, title, ...children) {
  const heading = freshId(id);
  return h('section', { class: id, 'aria-labelledby': heading }, h('h2', { id: heading }, title), children);
}

function verdictHeader(run) {
  const good = passed(run);
  const [first, ...rest] = run.sentences.length > 0 ? run.sentences : [`${run.what} did not hold.`];
  return h('header', { class: `verdict ${good ? 'good' : 'bad'}` },
    h('p', { class: 'badge-line' }, h('strong', { class: 'badge' }, good ? '✓ PASS' : '✗ FAIL'), good ? null : h('strong', { class: 'property' }, run.what),
      h('span', { class: 'muted' }, `${run.name} · ${run.seeds} · ${VERDICTS[run.verdict]} · exit ${run.exit_code}`)),
    h('h1', {}, first), rest.map((sentence) => h('p', { class: 'sentence' }, sentence)),
    run.repeat ? h('p', { class: 'repeat' }, h('span', { class: 'muted' }, good ? 'Repeat ' : 'See it again '), h('code', {}, run.repeat)) : null,
    run.rerun ? h('p', { class: 'muted' }, run.rerun) : null);
}

function facts(run) {
  const personas = run.personas.map(([name, n]) => (n === '' ? name : `${n} ${name}`)).join(', ');
  const agents = ['Agents', `${run.users}${personas ? `: ${personas}` : ''}`];
  const all = run.live ? [['Scenario', run.file], agents, ...run.live, ['Real time', run.wall]] : [
    ['Scenario', run.file], agents, ['Server', run.server.join(' ')],
    ['Network', run.network.length > 0 ? run.network.join(' · ') : 'loses and doubles nothing'],
    ['Virtual time', `${run.virtual_time}, ${run.steps} steps`], ['Real time', run.wall], ['Trace hash', h('code', {}, run.trace_hash)],
  ];
  return h('div', { class: 'about' }, run.about.trim() ? h('p', {}, run.about) : null,
    h('dl', { class: 'facts' }, all.filter((fact) => fact[1] !== '').map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value)))));
}

function violationsSection(run) {
  if (run.violations.length === 0) return null;
  const heads = ['Property', 'Virtual time', 'What happened', 'Users'];
  if (run.several_seeds) heads.push('#Seed');
  const rows = run.violations.map((violation) => {
    const cells = [violation.property, instant(violation.at_ms * 1000), violation.detail, violation.users.join(', ')];
    if (run.several_seeds) cells.push(violation.seed);
    return cells;
  });
  const more = run.violations_in_all - run.violations.length;
  return section('violations', `Violations (${grouped(run.violations_in_all)})`,
    run.several_seeds && run.failing_seeds.length > 0 ? h('p', {}, `Seeds that showed one: ${run.failing_seeds.join(', ')}.`) : null,
    table('Violations', heads, rows), more > 0 ? h('p', { class: 'muted' }, `${grouped(more)} more are not listed.`) : null);
}

function diagramSections(run) {
  return run.diagrams.map((diagram) => {
    const shrunk = diagram.of === 'shrunk';
    return section('space-time', shrunk ? 'Shrunk: the least that still violates it' : 'What happened',
      h('p', { class: 'lead' }, shrunk ? `The smallest run found that violates ${diagram.property}.` : `Seed ${diagram.seed}, ${stretch(diagram)} of virtual time. Time goes downward; long pauses are drawn short.`),
      diagramView(diagram));
  });
}

function propertiesSection(run) {
  const groups = CLASSES.map(([name, title, words]) => {
    const all = run.properties.filter((property) => property.class === name);
    if (all.length === 0) return null;
    const order = { violated: 0, 'not judged': 1, held: 2, 'not exercised': 3 };
    all.sort((a, b) => order[a.standing] - order[b.standing]);
    return h('div', { class: 'property-class' }, h('h3', {}, title, h('span', { class: 'muted' }, ` ${words}`)),
      h('ul', { class: 'properties' }, all.map((property) => h('li', { class: property.standing.replace(' ', '-'), 'data-property': property.name },
        h('span', { class: 'mark', 'aria-hidden': 'true' }, STANDINGS[property.standing]),
        h('span', { class: 'name' }, h('strong', {}, property.name), h('span', { class: 'muted' }, property.meaning)),
        h('span', { class: 'standing' }, property.standing === 'held' ? `${property.checks} checks` : property.standing === 'violated' ? `violated, ${property.checks} checks` : property.standing)))));
  });
  return section('property-list', 'Properties', groups);
}

function thresholdsSection(run) {
  if (run.thresholds.length === 0) return null;
  const rows = run.thresholds.map((threshold) => [h('code', {}, `${threshold.metric} ${threshold.expression}`), threshold.measured + (threshold.seed ? ` (seed ${threshold.seed})` : ''),
    h('span', { class: threshold.met === true ? 'met' : threshold.met === false ? 'crossed' : 'muted' }, threshold.met === true ? '✓ met' : threshold.met === false ? '✗ crossed' : '? not measured')]);
  return section('thresholds', 'Thresholds', table('Thresholds', ['Threshold', '#Measured', 'Result'], rows, 'tight'));
}

function latencySection(run) {
  const rows = run.metrics.map((metric) => [metric.title, metric.count, ...metric.figures, metric.unfinished > 0 ? grouped(metric.unfinished) : '–']);
  return section('latency', 'Latency',
    h('p', { class: 'lead' }, 'Virtual time, from the moment an action was meant to start.', run.several_seeds ? ' Over all seeds.' : null),
    percentilePlot(run), table('Figures', ['Metric', '#Count', '#p50', '#p90', '#p95', '#p99', '#p99.9', '#Max', '#Mean', '#Open at the end'], rows));
}

function waitsSection(run) {
  const plots = [waitPlot('In line for a match', run.charts.queue, run.several_seeds), waitPlot('For the stick', run.charts.stick, run.several_seeds)].filter(Boolean);
  const shares = run.shares.map((share) => [share.title, share.jain, share.max, share.mean, share.overtaken ?? '–']);
  return section('fairness', 'Waits and fairness', plots.length > 0 ? h('div', { class: 'pair' }, plots) : h('p', { class: 'nothing' }, 'Nobody waited in line or for a stick.'),
    table('How evenly it was shared', ['Share', '#Jain’s index', '#Max', '#Mean', '#Overtaken at most'], shares, 'tight'));
}

function messagesSection(run) {
  const rows = run.counts.map(([name, n, words]) => [name, n, words]);
  const refusals = run.refusals.map(([code, n]) => [h('code', {}, code), n]);
  return section('messages', 'Messages and refusals', h('div', { class: 'pair' },
    h('div', {}, h('h3', {}, 'Messages'), table('Messages', ['Messages', '#Count', 'Meaning'], rows, 'tight')),
    h('div', {}, h('h3', {}, 'Refusals of all calls, by code'), refusals.length > 0 ? table('Refusals by code', ['Code', '#Count'], refusals, 'tight') : h('p', { class: 'nothing' }, 'Nothing was refused.'))));
}

function reachedSection(run) {
  const chip = (point) => h('li', { class: `${point.times > 0 ? 'yes' : 'no'}${point.expected ? ' expected' : ''}` }, h('span', { 'aria-hidden': 'true' }, point.times > 0 ? '✓ ' : '– '), point.name, point.times > 0 ? h('span', { class: 'times' }, ` ${grouped(point.times)}`) : null, point.expected ? h('span', { class: 'wanted' }, ' expected') : null);
  const by = (want) => run.reached.filter(want).sort((a, b) => b.expected - a.expected);
  const yes = by((point) => point.times > 0), no = by((point) => point.times === 0);
  return section('reached', 'Points reached', h('p', { class: 'lead' }, `${yes.length} of ${run.reached.length} points that a run should reach now and then. The scenario is after those marked as expected.`),
    h('ul', { class: 'chips' }, yes.map(chip)), no.length > 0 ? h('h3', {}, 'Never reached') : null, h('ul', { class: 'chips' }, no.map(chip)));
}

function stuckSection(run) {
  if (run.stuck_in_all === 0) return null;
  const heads = ['User', 'At', 'Waits for', '#Since'];
  if (run.several_seeds) heads.push('#Seed');
  const rows = run.stuck.map((stuck) => {
    const cells = [stuck.user, stuck.at, stuck.waiting_for, span(stuck.since_ms)];
    if (run.several_seeds) cells.push(stuck.seed);
    return cells;
  });
  const more = run.stuck_in_all - run.stuck.length;
  return section('stuck', `Stuck users (${grouped(run.stuck_in_all)})`, h('p', { class: 'lead' }, run.rest), table('Stuck users', heads, rows, 'tight'), more > 0 ? h('p', { class: 'muted' }, `${grouped(more)} more are not listed.`) : null);
}

function runPage(run, id) {
  return h('main', { class: 'run', id }, verdictHeader(run), diagramSections(run), violationsSection(run), facts(run),
    propertiesSection(run), thresholdsSection(run), section('when', 'When what happened', timelinePlot(run)), latencySection(run), waitsSection(run),
    messagesSection(run), reachedSection(run), stuckSection(run));
}

// A single run fills the page. With several, a list links to each, and one is shown at a time;
// printing shows all.
function start() {
  const data = JSON.parse(document.getElementById('data').textContent);
  const app = document.getElementById('app');
  const footer = h('footer', {}, h('p', { class: 'muted' }, `Talking Stick simulator ${data.version}. One file, which asks nothing of the network.`));
  if (data.runs.length === 1) {
    app.append(runPage(data.runs[0], 'report'), footer);
    return;
  }
  const built = new Map();
  const links = data.runs.map((run, i) => h('a', { href: `#run-${i + 1}`, class: passed(run) ? 'good' : 'bad' },
    h('span', { class: 'mark', 'aria-hidden': 'true' }, passed(run) ? '✓' : '✗'), ` ${run.name}`, h('span', { class: 'unseen' }, passed(run) ? ' passed' : ` failed: ${run.what}`)));
  const box = h('div', { id: 'report' });
  const failed = data.runs.filter((run) => !passed(run)).length;
  const build = (i) => {
    if (!built.has(i)) {
      built.set(i, runPage(data.runs[i], `run-${i + 1}-page`));
      box.append(built.get(i));
    }
  };
  const choose = () => {
    const asked = /^#run-(\d+)$/.exec(location.hash);
    const first = Math.max(0, data.runs.findIndex((run) => !passed(run)));
    const i = asked && data.runs[Number(asked[1]) - 1] ? Number(asked[1]) - 1 : first;
    build(i);
    for (const [k, page] of built) page.hidden = k !== i;
    links.forEach((link, k) => (k === i ? link.setAttribute('aria-current', 'page') : link.removeAttribute('aria-current')));
  };
  app.append(h('nav', { class: 'runs', 'aria-label': 'Runs' },
    h('p', { class: 'muted' }, `${data.runs.length} scenarios, ${failed === 0 ? 'all passed' : `${failed} failed`}`), h('ul', {}, links.map((link) => h('li', {}, link)))), box, footer);
  window.addEventListener('hashchange', () => {
    choose();
    window.scrollTo(0, 0);
  });
  window.addEventListener('beforeprint', () => data.runs.forEach((_, i) => {
    build(i);
    built.get(i).hidden = false;
  }));
  window.addEventListener('afterprint', choose);
  choose();
}

start();
