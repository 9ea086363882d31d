// The program of a served page: it asks for the data again, and shows what has changed, until the
// simulator has ended.

const ASK_EVERY_MS = 1000;

async function follow(before) {
  let text;
  try {
    text = await (await fetch('/data')).text();
  } catch {
    document.title = `ended · ${document.title}`;
    document.getElementById('app').prepend(h('p', { class: 'ended', role: 'status' }, 'The simulator has ended. This is the last that it showed.'));
    return;
  }
  if (text !== before) {
    const top = window.scrollY;
    start(JSON.parse(text));
    window.scrollTo(0, top);
  }
  setTimeout(follow, ASK_EVERY_MS, text);
}

follow('');
