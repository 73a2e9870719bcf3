'use strict';
/* A static server for one site, out of memory.
 *
 * No file system is behind it: what is served is what the tar held below site/, so no path can lead elsewhere. A
 * symbolic link is followed inside the site. A directory answers with its index.html; all else is 404. Nothing is kept
 * in the browser's cache, nothing is compressed, no byte depends on the time.
 */

const http = require('node:http');
const posix = require('node:path').posix;

const TYPES = {
  html: 'text/html; charset=utf-8', htm: 'text/html; charset=utf-8', css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8', mjs: 'text/javascript; charset=utf-8', json: 'application/json',
  map: 'application/json', webmanifest: 'application/manifest+json', xml: 'application/xml', txt: 'text/plain; charset=utf-8',
  svg: 'image/svg+xml', png: 'image/png', jpg: 'image/jpeg', jpeg: 'image/jpeg', gif: 'image/gif', webp: 'image/webp',
  avif: 'image/avif', ico: 'image/x-icon', bmp: 'image/bmp', woff: 'font/woff', woff2: 'font/woff2', ttf: 'font/ttf',
  otf: 'font/otf', mp4: 'video/mp4', webm: 'video/webm', ogg: 'audio/ogg', mp3: 'audio/mpeg', wav: 'audio/wav',
  wasm: 'application/wasm', pdf: 'application/pdf', vtt: 'text/vtt',
};

const MOST_LINKS = 16;

class Site {
  constructor(entries) {
    this.files = new Map();
    this.links = new Map();
    this.folders = new Set(['']);
    for (const {path, kind, data, target} of entries) {
      if (kind === 'file') this.files.set(path, data);
      if (kind === 'link') this.links.set(path, target);
      for (let folder = kind === 'folder' ? path : posix.dirname(path); folder !== '.'; folder = posix.dirname(folder)) this.folders.add(folder);
    }
  }

  /** The path without links, or null where it leads out of the site or round in circles. */
  real(path) {
    let left = path.split('/').filter((part) => part !== '' && part !== '.');
    let done = [];
    let followed = 0;
    while (left.length) {
      const part = left.shift();
      if (part === '..') {
        if (!done.length) return null;
        done.pop();
        continue;
      }
      const here = [...done, part].join('/');
      const target = this.links.get(here);
      if (target === undefined) {
        done.push(part);
        continue;
      }
      if (target.startsWith('/') || ++followed > MOST_LINKS) return null;
      left = [...target.split('/').filter((piece) => piece !== '' && piece !== '.'), ...left];
    }
    return done.join('/');
  }

  /** What a request for this path gets. */
  answer(path) {
    const real = this.real(path);
    if (real === null) return {status: 404};
    if (this.files.has(real)) return path.endsWith('/') ? {status: 404} : {status: 200, path: real, data: this.files.get(real)};
    if (!this.folders.has(real)) return {status: 404};
    const index = this.real(real + '/index.html');
    if (index === null || !this.files.has(index)) return {status: 404};
    return path.endsWith('/') ? {status: 200, path: index, data: this.files.get(index)} : {status: 301};
  }
}

function reply(site, request, response) {
  let path;
  let query;
  try {
    const address = new URL(request.url, 'http://localhost');
    path = decodeURIComponent(address.pathname);
    query = address.search;
  } catch {
    path = '\0';
  }
  const found = request.method === 'GET' || request.method === 'HEAD' ? site.answer(path) : {status: 405};
  response.sendDate = false;
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.statusCode = found.status;
  if (found.status === 301) response.setHeader('Location', encodeURI(path) + '/' + query);
  if (found.status === 404 && path === '/favicon.ico') { // the browser asks by itself, and would speak of it on the console
    response.statusCode = 204;
    return response.end();
  }
  if (found.status !== 200) {
    response.setHeader('Content-Type', 'text/plain; charset=utf-8');
    return response.end(found.status === 404 ? 'not found\n' : '');
  }
  const ending = posix.extname(found.path).slice(1).toLowerCase();
  response.setHeader('Content-Type', TYPES[ending] || 'application/octet-stream');
  return body(request, response, found.data);
}

/** The whole, or the one range that was asked for: without ranges a video cannot be wound to its start. */
function body(request, response, data) {
  response.setHeader('Accept-Ranges', 'bytes');
  const range = /^bytes=(\d*)-(\d*)$/.exec(request.headers.range || '');
  let from = 0;
  let to = data.length - 1;
  if (range && (range[1] || range[2])) {
    from = range[1] ? Number(range[1]) : Math.max(0, data.length - Number(range[2]));
    to = range[1] && range[2] ? Math.min(Number(range[2]), to) : to;
    response.statusCode = from <= to ? 206 : 416;
    response.setHeader('Content-Range', from <= to ? `bytes ${from}-${to}/${data.length}` : `bytes */${data.length}`);
  }
  const part = data.subarray(from, to + 1);
  response.setHeader('Content-Length', part.length);
  response.end(request.method === 'HEAD' ? undefined : part);
}

/** Serve entries on the loopback interface; resolves to {port, close}. Port 0 takes any. */
function serve(entries, port) {
  const site = new Site(entries);
  const server = http.createServer((request, response) => reply(site, request, response));
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve({
      port: server.address().port,
      close: () => {
        server.closeAllConnections();
        server.close();
      },
    }));
  });
}

module.exports = {Site, serve};
