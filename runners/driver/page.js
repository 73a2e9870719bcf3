'use strict';
/* One page in one fresh context: opened, brought to rest, acted upon, looked at.
 *
 * Time stands still for the page but when `run` lets it pass: the clock is replaced and paused before the first
 * document, at the plan's time. Real time passes for the network, for frames and for the browser itself.
 */

const fs = require('node:fs');
const path = require('node:path');
const world = require('./world.js');

const PRELUDE = fs.readFileSync(path.join(__dirname, 'prelude.js'), 'utf8');
const STEP_MS = 8000; // reached only by what is covered or disabled: what is absent or hidden is seen at once
const LOAD_MS = 15000;
const SETTLE_MS = 5000;
const MOST_LINES = 200;
const MOST_REQUESTS = 1000;

class Page {
  constructor(origin, settings) {
    this.origin = origin;
    this.settings = settings;
    this.inflight = new Set();
    this.requests = [];
    this.console = [];
    this.unstable = new Set();
    this.world = null;
  }

  static async open(browser, origin, settings, viewport) {
    const self = new Page(origin, settings);
    self.context = await browser.newContext({
      viewport, locale: settings.locale, timezoneId: settings.timezone, colorScheme: settings.color_scheme,
      deviceScaleFactor: 1, reducedMotion: 'reduce', forcedColors: 'none', serviceWorkers: 'block', acceptDownloads: false,
    });
    await self.context.clock.pauseAt(settings.clock); // text: a number would be seconds
    await self.context.addInitScript({content: PRELUDE.replace('__SEED__', String(settings.seed))});
    self.page = await self.context.newPage();
    self.listen();
    self.cdp = await self.context.newCDPSession(self.page);
    self.cdp.on('Runtime.executionContextsCleared', () => {
      self.world = null;
    });
    await self.cdp.send('Runtime.enable');
    return self;
  }

  listen() {
    const {page} = this;
    this.context.on('page', (popup) => popup !== page && this.note('popup', '') && popup.close().catch(() => null));
    page.on('dialog', (dialog) => {
      this.note('dialog', dialog.message());
      dialog.dismiss().catch(() => null);
    });
    page.on('console', (message) => this.note(message.type(), message.text()));
    page.on('pageerror', (error) => this.note('exception', String(error.message)));
    page.on('worker', () => this.unstable.add('worker'));
    page.on('crash', () => this.unstable.add('crash'));
    page.on('websocket', (socket) => this.request(socket.url(), 'websocket', 'GET'));
    page.on('request', (request) => {
      this.inflight.add(request);
      this.request(request.url(), request.resourceType(), request.method());
    });
    page.on('requestfinished', (request) => this.inflight.delete(request));
    page.on('requestfailed', (request) => this.inflight.delete(request));
  }

  /** Without the port, which is the driver's affair. */
  plain(text) {
    return text.split(this.origin).join('http://localhost');
  }

  note(type, text) {
    if (this.console.length < MOST_LINES) this.console.push({type, text: this.plain(text).slice(0, 1000).toWellFormed()});
    return true;
  }

  request(url, kind, method) {
    if (/^(?:data|blob|about):/.test(url) || this.requests.length >= MOST_REQUESTS) return;
    const home = url === this.origin || url.startsWith(this.origin + '/');
    this.requests.push({url: this.plain(url).slice(0, 2000).toWellFormed(), kind, method, blocked: !home});
  }

  /** Run a function of world.js or hide.js in the isolated world of the top document. */
  async call(task, ...given) {
    const context = await this.isolated();
    try {
      return await this.callIn(context, task, given.map((value) => ({value})));
    } catch (error) {
      if (context === this.world) throw error;
      return this.callIn(await this.isolated(), task, given.map((value) => ({value}))); // the document has changed meanwhile
    }
  }

  /** Id of the isolated world of the top document, made once for each document. */
  async isolated() {
    if (this.world === null) {
      const {frameTree} = await this.cdp.send('Page.getFrameTree');
      const {executionContextId} = await this.cdp.send('Page.createIsolatedWorld', {frameId: frameTree.frame.id, worldName: 'rbl'});
      this.world = executionContextId;
    }
    return this.world;
  }

  async callIn(executionContextId, task, given) {
    const answer = await this.cdp.send('Runtime.callFunctionOn', {
      functionDeclaration: task.toString(), executionContextId, arguments: given, awaitPromise: true, returnByValue: true,
    });
    if (answer.exceptionDetails) throw new Error(task.name + ': ' + (answer.exceptionDetails.exception?.description || answer.exceptionDetails.text));
    return answer.result.value;
  }

  /** Wait until nothing has been on its way for two frames; after `SETTLE_MS` the page is unstable. */
  async settle() {
    const late = Date.now() + SETTLE_MS;
    do {
      if (Date.now() > late) {
        this.unstable.add('requests-pending');
        this.inflight.clear();
      }
      await this.call(world.frames);
    } while (this.inflight.size);
  }

  /** Let time pass for the page. */
  async run(milliseconds) {
    await this.page.clock.runFor(milliseconds).catch(() => null); // what a timer of the page throws is the page's affair
  }

  async load(url) {
    await this.page.goto(this.origin + url, {waitUntil: 'load', timeout: LOAD_MS});
    await this.arrive();
  }

  /** After a document has come: scripts start, what is lazy loads, all comes to rest. */
  async arrive() {
    await this.settle();
    await this.run(200);
    await this.call(world.sweep, this.settings.max_height);
    await this.settle();
    await this.run(1800);
    await this.rest();
  }

  async rest() {
    await this.call(world.decoded, 3000);
    await this.call(world.still);
    await this.run(50);
    await this.settle();
    await this.call(world.still);
  }

  /** Take the steps in order until one fails. */
  async act(steps) {
    const results = [];
    for (const step of steps) {
      const error = await this.step(step);
      results.push({do: step.do, ok: error === null, error});
      if (error !== null) break;
    }
    return results;
  }

  async step(step) {
    const target = step.target ? locate(this.page, step.target) : null;
    const documents = this.page.mainFrame();
    let arrived = false;
    const onArrival = (frame) => {
      arrived ||= frame === documents;
    };
    this.page.on('framenavigated', onArrival);
    try {
      if (target && (await target.count()) === 0) return 'no such element';
      if (target && step.do !== 'press' && !(await target.isVisible())) return 'not actionable';
      await this.perform(step, target);
      await this.settle();
      await this.run(200);
      if (arrived) {
        await this.page.waitForLoadState('load', {timeout: LOAD_MS});
        await this.arrive();
      }
      await this.run(800);
      await this.rest();
      return null;
    } catch (error) {
      if (this.page.isClosed() || /crashed|has been closed/.test(error.message)) throw error;
      return target ? 'not actionable' : 'failed'; // Playwright's own words name milliseconds
    } finally {
      this.page.off('framenavigated', onArrival);
    }
  }

  async perform(step, target) {
    const {page} = this;
    const within = {timeout: STEP_MS};
    switch (step.do) {
      case 'click': return target.click(within);
      case 'fill': return target.fill(step.value, within);
      case 'press': return target ? target.press(step.value, within) : page.keyboard.press(step.value);
      case 'hover': return target.hover(within);
      case 'select': return target.selectOption(step.value, within);
      case 'check': return target.check(within);
      case 'reload': return page.reload({waitUntil: 'load', timeout: LOAD_MS});
      case 'back': return page.goBack({waitUntil: 'load', timeout: LOAD_MS});
      case 'resize': {
        const [width, height] = step.value.split('x').map(Number);
        return page.setViewportSize({width, height});
      }
      case 'scroll': return target ? target.scrollIntoViewIfNeeded(within) : page.evaluate((top) => scrollTo({left: 0, top, behavior: 'instant'}), Number(step.value));
      default: throw new Error('an unknown step: ' + step.do);
    }
  }
}

/** The first element that a locator means, in Playwright's words. */
function locate(page, target) {
  const exact = true;
  if (target.role !== undefined) return page.getByRole(target.role, target.name === undefined ? {} : {name: target.name, exact}).first();
  if (target.text !== undefined) return page.getByText(target.text, {exact}).first();
  if (target.label !== undefined) return page.getByLabel(target.label, {exact}).first();
  if (target.testid !== undefined) return page.getByTestId(target.testid).first();
  return page.locator('css=' + target.css).first();
}

module.exports = {Page};
