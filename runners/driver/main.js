'use strict';
/* The render driver: one tar in, one tar out.
 *
 *   in   plan.json, site/…
 *   out  <shot id>/{full.png,nt.png,bare.png,page.json} or <shot id>/error.txt for each shot, sweep.json, driver.log
 *
 * It runs where Candidate code runs, so it is told nothing that is worth stealing: routes, viewports, steps. What it
 * says is a claim that the browser's sandbox protects; whoever reads it checks its form. A shot that fails or hangs is
 * an error of that shot: its browser, a process group of its own, is killed and the next shot gets a new one.
 *
 * Environment: RBL_PLAYWRIGHT (folder of playwright-core), RBL_CHROMIUM (the binary), RBL_SANDBOX (0 turns the
 * browser's own sandbox off, for diagnosis as root), RBL_TOTAL_MS (bound on the whole run).
 */

const fs = require('node:fs');
const {serve} = require('./server.js');
const {shoot, sweep} = require('./shot.js');
const {canonical} = require('./snapshot.js');
const tar = require('./tar.js');

const {chromium} = require(process.env.RBL_PLAYWRIGHT || '/playwright/package');
const BINARY = process.env.RBL_CHROMIUM || '/usr/lib/chromium/chromium';
const SANDBOX = process.env.RBL_SANDBOX !== '0';
const TOTAL_MS = Number(process.env.RBL_TOTAL_MS || 600000);
const PORT = 8080;
const MOST_INPUT = 1 << 30;
const CLOSE_MS = 2000;
const MOST_LOG = 1 << 20;

const begin = Date.now();
let log = '';

function say(text) {
  const line = `${String(Date.now() - begin).padStart(7)} ${text}\n`;
  if (log.length < MOST_LOG) log += line;
}

function flags(port) {
  return [
    '--disable-gpu', '--disable-lcd-text', '--font-render-hinting=none', '--disable-font-subpixel-positioning',
    '--disable-skia-runtime-opts', '--disable-partial-raster', '--disable-checker-imaging', '--disable-threaded-animation',
    '--disable-threaded-scrolling', '--disable-low-res-tiling', '--num-raster-threads=1', '--hide-scrollbars', '--mute-audio',
    '--blink-settings=imageAnimationPolicy=2,primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4',
    '--force-webrtc-ip-handling-policy=disable_non_proxied_udp', '--disable-domain-reliability', '--dns-prefetch-disable',
    '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE localhost',
    '--proxy-server=http://127.0.0.1:1', `--proxy-bypass-list=<-loopback>;localhost:${port}`,
  ];
}

const timeout = (milliseconds, what) => {
  let timer;
  const promise = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(what)), milliseconds);
  });
  return {promise, clear: () => clearTimeout(timer)};
};

async function bounded(task, milliseconds, what) {
  const late = timeout(milliseconds, what);
  try {
    return await Promise.race([task, late.promise]);
  } finally {
    late.clear();
    task.catch(() => null); // it may still end in its own error, long after anybody asks
  }
}

/** Children of this process that lead a process group: the browser. */
function leaders() {
  const found = [];
  for (const name of fs.readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const fields = fs.readFileSync(`/proc/${name}/stat`, 'latin1').split(') ').pop().split(' ');
      if (Number(fields[1]) === process.pid && Number(fields[2]) === Number(name)) found.push(Number(name));
    } catch {
      continue; // it has ended meanwhile
    }
  }
  return found;
}

/** A browser that can be replaced when a page has taken it down. */
class Browser {
  constructor(port) {
    this.port = port;
    this.current = null;
  }

  async get() {
    if (this.current && this.current.isConnected()) return this.current;
    this.current = await chromium.launch({
      executablePath: BINARY, chromiumSandbox: SANDBOX, args: flags(this.port), handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false,
    });
    say('browser ' + this.current.version());
    return this.current;
  }

  async close() {
    const {current} = this;
    this.current = null;
    if (!current) return;
    try {
      await bounded(current.close(), CLOSE_MS, 'the browser does not close');
    } catch {
      this.kill();
    }
  }

  kill() {
    this.current = null;
    for (const leader of leaders()) {
      try {
        process.kill(-leader, 'SIGKILL');
      } catch {
        continue; // it has ended meanwhile
      }
    }
  }
}

/** Do one thing with a fresh page, bounded; whatever comes of it, the next finds a browser that works. */
async function attempt(browser, milliseconds, task) {
  let page = null;
  const open = (opened) => {
    page = opened;
  };
  try {
    const running = await bounded(browser.get(), 30000, 'the browser does not start');
    return await bounded(task(running, open), milliseconds, 'took too long');
  } catch (error) {
    browser.kill();
    page = null;
    throw error;
  } finally {
    if (page) await bounded(page.context.close(), CLOSE_MS, 'the page does not close').catch(() => browser.kill());
  }
}

/** An error's first line, without what differs from run to run. */
function line(error) {
  return String(error.message).split('\n')[0].replace(/localhost:\d+/g, 'localhost').slice(0, 500).toWellFormed();
}

async function main() {
  const input = [];
  let size = 0;
  for await (const piece of process.stdin) {
    size += piece.length;
    if (size > MOST_INPUT) throw new Error('the input is too large');
    input.push(piece);
  }
  const entries = tar.read(Buffer.concat(input));
  const plan = JSON.parse(entries.find((entry) => entry.path === 'plan.json').data.toString('utf8'));
  const site = entries.filter((entry) => entry.path.startsWith('site/')).map((entry) => ({...entry, path: entry.path.slice(5)}));
  const server = await serve(site, PORT).catch(() => serve(site, 0));
  const origin = `http://localhost:${server.port}`;
  const browser = new Browser(server.port);
  const out = new tar.Writer(process.stdout);
  const left = () => TOTAL_MS - (Date.now() - begin);
  say(`${plan.shots.length} shots of ${site.length} members`);
  for (const shot of plan.shots) {
    const started = Date.now();
    try {
      if (left() < 1000) throw new Error('no time was left');
      const files = await attempt(browser, Math.min(plan.settings.shot_ms, left()), (running, open) => shoot(running, origin, plan.settings, shot, open));
      for (const name of Object.keys(files).sort()) await out.file(`${shot.id}/${name}`, files[name]);
      say(`${shot.id} ${Date.now() - started} ms`);
    } catch (error) {
      say(`${shot.id} failed after ${Date.now() - started} ms: ${error.stack}`);
      await out.file(`${shot.id}/error.txt`, Buffer.from(line(error)));
    }
  }
  const widths = [];
  for (const entry of plan.sweep) {
    try {
      if (left() < 1000) throw new Error('no time was left');
      widths.push(...(await attempt(browser, Math.min(plan.settings.shot_ms, left()), (running, open) => sweep(running, origin, plan.settings, entry, open))));
    } catch (error) {
      say(`sweep of ${entry.path} failed: ${error.stack}`);
      widths.push(...entry.widths.map((width) => ({path: entry.path, width, scroll_width: null})));
    }
  }
  await browser.close();
  server.close();
  await out.file('sweep.json', Buffer.from(canonical({schema: 'rbl/sweep/v1', widths})));
  say('done');
  await out.file('driver.log', Buffer.from(log.toWellFormed()));
  await out.end();
}

process.on('unhandledRejection', (error) => say('unhandled: ' + (error && error.stack)));
main().then(() => process.exit(0), (error) => {
  process.stderr.write(`${error.stack}\n${log}`);
  process.exit(1);
});
