'use strict';
/* What the driver does inside a page, in an isolated world: the page's scripts see neither these functions nor what
 * they keep, and a prototype that a page has patched is not the one that is called here. Each function is sent as its
 * text, so each stands alone; what they share lies in `globalThis.rbl` of the isolated world.
 */

/** Two real frames. The page's own requestAnimationFrame runs on the replaced clock; this one does not. */
async function frames() {
  const frame = () => new Promise((resolve) => {
    const late = setTimeout(resolve, 250);
    requestAnimationFrame(() => {
      clearTimeout(late);
      resolve();
    });
  });
  await frame();
  await frame();
}

/** Load what waits to be scrolled to: images made eager, the page scrolled through, fonts and images awaited. */
async function sweep(tallest) {
  const frame = () => new Promise((resolve) => {
    const late = setTimeout(resolve, 250);
    requestAnimationFrame(() => {
      clearTimeout(late);
      resolve();
    });
  });
  const lazy = [...document.querySelectorAll('img[loading=lazy], iframe[loading=lazy]')];
  for (const element of lazy) element.loading = 'eager';
  const height = () => Math.min(tallest, Math.max(document.documentElement.scrollHeight, document.body ? document.body.scrollHeight : 0));
  for (let y = innerHeight; y < height(); y += innerHeight) {
    scrollTo({left: 0, top: y, behavior: 'instant'});
    await frame();
    await frame();
  }
  scrollTo({left: 0, top: 0, behavior: 'instant'});
  await frame();
  await frame();
  for (const element of lazy) element.setAttribute('loading', 'lazy');
}

/** Wait, at most `bound` ms, for fonts and for each image to be decoded. */
async function decoded(bound) {
  const patience = new Promise((resolve) => setTimeout(resolve, bound));
  const images = [...document.images].map((image) => image.decode().catch(() => null));
  await Promise.race([patience, Promise.all([document.fonts.ready, ...images])]);
}

/** Bring what moves to rest: finite animations to their end, endless ones to their start, SMIL and video to zero. */
async function still() {
  for (const animation of document.getAnimations()) {
    const timing = animation.effect ? animation.effect.getComputedTiming() : null;
    try {
      if (timing && timing.endTime !== Infinity) animation.finish();
      else animation.cancel();
    } catch {
      animation.cancel();
    }
  }
  for (const drawing of document.querySelectorAll('svg')) {
    if (drawing.ownerSVGElement) continue;
    drawing.pauseAnimations();
    drawing.setCurrentTime(0);
  }
  const seeks = [];
  for (const media of document.querySelectorAll('video, audio')) {
    media.autoplay = false;
    media.pause();
    if (media.readyState > 0 && media.currentTime !== 0) {
      seeks.push(new Promise((resolve) => media.addEventListener('seeked', resolve, {once: true})));
      media.currentTime = 0;
    }
  }
  await Promise.race([Promise.all(seeks), new Promise((resolve) => setTimeout(resolve, 1000))]);
}

/** The page's size, and what the driver asks of the document as a whole. */
function facts() {
  const {documentElement: root, body} = document;
  const tall = (element) => (element ? [element.scrollHeight, element.offsetHeight, element.clientHeight] : [0]);
  const keep = (open) => {
    const found = {};
    try {
      const storage = open();
      for (let index = 0; index < storage.length; index++) {
        const key = storage.key(index);
        found[key] = storage.getItem(key);
      }
    } catch {
      return {};
    }
    return found;
  };
  const images = [...document.images];
  return {
    width: innerWidth,
    height: Math.ceil(Math.max(innerHeight, ...tall(root), ...tall(body))),
    title: document.title,
    url: location.href,
    local: keep(() => localStorage),
    session: keep(() => sessionStorage),
    images: {total: images.length, decoded: images.filter((image) => image.complete && image.naturalWidth > 0).length},
    active: document.activeElement !== document.body && document.hasFocus(),
  };
}

/** What form controls show, which the snapshot leaves out: text and content box in sixteenths of a pixel. */
function controls() {
  const drawn = new Set(['text', 'search', 'email', 'url', 'tel', 'number', 'date', 'time', 'month', 'week', 'datetime-local', 'submit', 'button', 'reset']);
  const shown = (element) => {
    if (element.localName === 'select') return element.size > 1 || element.multiple ? '' : element.selectedOptions[0]?.label || '';
    if (element.localName === 'input' && !drawn.has(element.type)) return '';
    return element.value || element.placeholder || '';
  };
  const found = [];
  for (const element of globalThis.rbl.elements) {
    if (!['input', 'textarea', 'select'].includes(element.localName)) continue;
    const text = shown(element).replace(/\s+/g, ' ').trim();
    if (!text || !element.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
    const {x, y} = element.getBoundingClientRect();
    const style = getComputedStyle(element);
    const edge = (name) => parseFloat(style[name]) || 0;
    const left = x + scrollX + element.clientLeft + edge('paddingLeft');
    const top = y + scrollY + element.clientTop + edge('paddingTop');
    const width = element.clientWidth - edge('paddingLeft') - edge('paddingRight');
    const height = element.clientHeight - edge('paddingTop') - edge('paddingBottom');
    if (width > 0 && height > 0) found.push({t: text.slice(0, 4096).toWellFormed(), b: [left, top, width, height].map((length) => Math.max(-1e8, Math.min(1e8, Math.round(length * 16))))});
  }
  return found;
}

/** How wide the content is, in a window of this width; a page that hides its overflow has none. */
function overflow() {
  const {documentElement: root, body} = document;
  const hides = (element) => element && ['hidden', 'clip'].includes(getComputedStyle(element).overflowX);
  if (hides(root) || (getComputedStyle(root).overflowX === 'visible' && hides(body))) return innerWidth;
  return Math.max(root.scrollWidth, body && !hides(body) ? body.scrollWidth : 0);
}

/** Back to the top, after scripts were stopped. */
function top() {
  scrollTo({left: 0, top: 0, behavior: 'instant'});
}

/** Remember every tree of elements: the document and all shadow roots, the closed ones given as arguments. */
function gather(...closed) {
  const elements = [];
  const roots = [];
  const visit = (root) => {
    roots.push(root);
    for (const element of root.querySelectorAll('*')) {
      elements.push(element);
      if (element.shadowRoot) visit(element.shadowRoot);
    }
  };
  visit(document);
  closed.forEach(visit);
  globalThis.rbl = {elements, roots, resist: false};
  return elements.length;
}

/** A number that changes when any element moves or changes its size by a sixteenth of a pixel. */
function layout() {
  let hash = 2166136261;
  const mix = (value) => {
    hash = Math.imul(hash ^ (Math.round(value * 16) | 0), 16777619);
  };
  for (const element of globalThis.rbl.elements) {
    const {x, y, width, height} = element.getBoundingClientRect();
    [x + scrollX, y + scrollY, width, height].forEach(mix);
  }
  return hash >>> 0;
}

module.exports = {frames, sweep, decoded, still, facts, controls, overflow, top, gather, layout};
