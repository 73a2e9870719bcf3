'use strict';
/* One shot: three pictures of one page that stands still, and what the page is made of.
 *
 *   full.png    as it is          nt.png   text hidden          bare.png   text and rasters hidden
 *
 * Scripts of the page are stopped before the first picture, so that it cannot tell the three apart; where elements
 * lie is compared between them, and a difference is written down as `layout-moved`.
 */

const {hideText, findRasters, hideRasters} = require('./hide.js');
const {Page} = require('./page.js');
const snapshot = require('./snapshot.js');
const world = require('./world.js');

async function shoot(browser, origin, settings, shot, watch) {
  const page = await Page.open(browser, origin, settings, shot.viewport);
  watch(page);
  await page.load(shot.path);
  const steps = await page.act(shot.steps);
  await page.settle();
  await page.cdp.send('Emulation.setScriptExecutionDisabled', {value: true});
  if (!shot.steps.some((step) => step.do === 'scroll')) await page.call(world.top);
  await page.call(world.still);
  await page.call(world.frames);
  return look(page, settings, steps);
}

async function look(page, settings, steps) {
  const {cdp} = page;
  const captured = await cdp.send('DOMSnapshot.captureSnapshot', {computedStyles: snapshot.STYLES});
  const {elements, lines, byBackend} = snapshot.collect(captured);
  const tree = await cdp.send('Accessibility.getFullAXTree');
  const {ax, focused} = snapshot.accessibility(tree, byBackend);
  const facts = await page.call(world.facts);
  if (facts.active && focused >= 0) elements[focused].focused = true;

  const context = await page.isolated();
  const closed = [];
  const roots = snapshot.hasClosed(captured) ? snapshot.closedRoots((await cdp.send('DOM.getDocument', {depth: -1, pierce: true})).root) : [];
  for (const backendNodeId of roots) {
    const {object} = await cdp.send('DOM.resolveNode', {backendNodeId, executionContextId: context});
    closed.push({objectId: object.objectId});
  }
  const inWorld = (task) => page.callIn(context, task, []);
  await page.callIn(context, world.gather, closed);
  lines.push(...(await inWorld(world.controls)));
  const rasters = await inWorld(findRasters);

  const size = {width: facts.width, height: Math.min(facts.height, settings.max_height)};
  const picture = () => page.page.screenshot({
    fullPage: true, clip: {x: 0, y: 0, ...size}, animations: 'disabled', caret: 'hide', scale: 'css', timeout: settings.shot_ms,
  });
  const places = [await inWorld(world.layout)];
  const full = await picture();
  places.push(await inWorld(world.layout));
  if (await inWorld(hideText)) page.unstable.add('text-resists');
  const textless = await picture();
  places.push(await inWorld(world.layout));
  const resist = await inWorld(hideRasters);
  const bare = await picture();
  places.push(await inWorld(world.layout));
  if (new Set(places).size !== 1) page.unstable.add('layout-moved');

  const {local, session} = facts;
  const keep = (storage) => Object.fromEntries(Object.entries(storage).map(([key, value]) => [snapshot.ascii(key), snapshot.short(value)]));
  const record = {
    schema: 'rbl/capture/v1',
    url: page.plain(facts.url),
    title: snapshot.short(facts.title),
    ...size,
    lines,
    rasters,
    resist,
    nodes: elements,
    ax,
    console: ordered(page.console),
    requests: page.requests.sort((one, other) => compare(snapshot.canonical(one), snapshot.canonical(other))),
    storage: {local: keep(local), session: keep(session)},
    steps,
    images: facts.images,
    unstable: [...page.unstable].sort(),
  };
  return {'full.png': full, 'nt.png': textless, 'bare.png': bare, 'page.json': Buffer.from(snapshot.canonical(record))};
}

const compare = (one, other) => (one < other ? -1 : one > other ? 1 : 0);

/** What the page said, in its order; then what the browser said of loads that failed, whose order is a race. */
function ordered(lines) {
  const load = (line) => line.text.startsWith('Failed to load resource');
  return [...lines.filter((line) => !load(line)), ...lines.filter(load).sort((one, other) => compare(one.text, other.text))];
}

/** Widths of one path's content: loaded once at the widest window, then made narrower. */
async function sweep(browser, origin, settings, entry, watch) {
  const widths = [...entry.widths].sort((one, other) => other - one);
  const page = await Page.open(browser, origin, settings, {width: widths[0], height: 800});
  watch(page);
  await page.load(entry.path);
  const found = new Map();
  for (const width of widths) {
    await page.page.setViewportSize({width, height: 800});
    await page.call(world.frames);
    await page.run(300);
    await page.rest();
    found.set(width, await page.call(world.overflow));
  }
  return entry.widths.map((width) => ({path: entry.path, width, scroll_width: found.get(width)}));
}

module.exports = {shoot, sweep};
