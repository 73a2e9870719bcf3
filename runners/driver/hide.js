'use strict';
/* How text and rasters are hidden, and how it is made sure that they are. Sent into the isolated world like world.js.
 *
 * A page may fight back with its own !important rules. Among author rules that are important, those of the first layer
 * win over all others, and only a style attribute wins over them: so ours stand in a layer of their own at the top of
 * the document, and what still shows is dealt with in its style attribute. Then all is looked at again.
 *
 * First letters and first lines inherit what is hidden; a rule for all of them would make the browser build the page's
 * boxes anew, and a canvas that is built while scripts are stopped becomes its own fallback.
 */

/** Hide all text; colours of borders, icons and shadows, which follow `color`, stay. Returns whether some text resists. */
function hideText() {
  const {roots, elements} = globalThis.rbl;
  const hidden = '-webkit-text-fill-color: transparent !important; -webkit-text-stroke-color: transparent !important;' +
    'text-shadow: none !important; text-decoration-color: transparent !important;' +
    'text-emphasis-color: transparent !important; caret-color: transparent !important; transition: none !important;';
  const parts = ['', '::before', '::after', '::placeholder', '::file-selector-button'];
  const rules = [
    ...parts.map((part) => `*${part} { ${hidden} }`),
    '*::marker { color: transparent !important; -webkit-text-fill-color: transparent !important }',
    'text, tspan, textPath { fill: transparent !important; stroke: transparent !important }',
  ];
  const text = `@layer rbl-first { ${rules.join(' ')} }`;
  for (const root of roots) {
    if (root === document) {
      const style = document.createElement('style');
      (document.head || document.documentElement).prepend(style);
      style.sheet.insertRule(text);
      globalThis.rbl.sheet = style.sheet;
    } else {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(text);
      root.adoptedStyleSheets = [sheet, ...root.adoptedStyleSheets];
    }
  }
  const clear = (color) => color === 'transparent' || /^rgba\(.*, 0\)$/.test(color) || /\/ 0\)$/.test(color);
  const written = (element) => element.localName === 'input' || element.localName === 'textarea' || element.localName === 'select' ||
    [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== '');
  const svg = (element) => ['text', 'tspan', 'textPath'].includes(element.localName) && element instanceof SVGElement;
  const shows = (element) => {
    const style = getComputedStyle(element);
    if (svg(element)) return !(clear(style.fill) && (style.stroke === 'none' || clear(style.stroke)));
    return written(element) && !(clear(style.webkitTextFillColor) && style.textShadow === 'none');
  };
  const force = (element, name, value) => element.style.setProperty(name, value, 'important');
  let resists = false;
  let count = 0;
  for (const element of elements) {
    if (!(element instanceof HTMLElement || element instanceof SVGElement)) continue;
    const style = getComputedStyle(element);
    if (style.webkitBackgroundClip.includes('text')) {
      force(element, 'background-image', 'none');
      force(element, 'background-color', 'transparent');
    }
    if (shows(element)) {
      force(element, 'transition', 'none');
      force(element, '-webkit-text-fill-color', 'transparent');
      force(element, '-webkit-text-stroke-color', 'transparent');
      force(element, 'text-shadow', 'none');
      if (svg(element)) ['fill', 'stroke'].forEach((name) => force(element, name, 'transparent'));
      resists ||= shows(element);
    }
    for (const part of ['::before', '::after', '::first-letter', '::first-line']) {
      const made = getComputedStyle(element, part);
      if (!part.startsWith('::first') && (made.content === 'none' || made.content === 'normal')) continue;
      const clips = made.webkitBackgroundClip.includes('text');
      if (clear(made.webkitTextFillColor) && !clips) continue;
      const mark = `rbl-text-${++count}`;
      element.setAttribute(mark, '');
      globalThis.rbl.sheet.insertRule(`[${mark}]${part} { ${hidden} ${clips ? 'background: none !important;' : ''} }`, globalThis.rbl.sheet.cssRules.length);
      resists ||= !clear(getComputedStyle(element, part).webkitTextFillColor);
    }
  }
  return resists;
}

/** Find every raster: boxes in sixteenths of a pixel; what was found is kept for `hideRasters`. */
function findRasters() {
  const drawn = /(?:url\((?!"?#)|image-set\(|cross-fade\(|element\(|paint\()/;
  const filters = document.querySelector('feImage') !== null;
  const outside = (element) => !(element.getAttribute('href') || element.getAttribute('xlink:href') || '#').startsWith('#');
  const reused = document.querySelector('defs image, symbol image, pattern image, mask image, marker image') !== null;
  const framed = new Set(['img', 'canvas', 'video', 'iframe', 'frame', 'embed', 'object', 'portal', 'fencedframe']);
  const isRaster = (element) => framed.has(element.localName) || (element.localName === 'input' && element.type === 'image') ||
    (element instanceof SVGElement && (element.localName === 'image' || (element.localName === 'use' && outside(element)) ||
      (reused && element.localName === 'svg'))); // an image that drawings draw again makes each drawing a raster
  const whole = () => [0, 0, document.documentElement.scrollWidth, document.documentElement.scrollHeight];
  const box = (element) => {
    const {x, y, width, height} = element.getBoundingClientRect();
    return [x + scrollX, y + scrollY, width, height];
  };
  const found = [];
  const boxes = [];
  const take = (element, way, part, rectangle) => {
    found.push({element, way, part});
    const [x, y, width, height] = rectangle;
    const seen = element.checkVisibility({opacityProperty: true, visibilityProperty: true});
    if (seen && width > 0 && height > 0) boxes.push([x, y, width, height].map((edge) => Math.max(-1e8, Math.min(1e8, Math.round(edge * 16)))));
  };
  for (const element of globalThis.rbl.elements) {
    const style = getComputedStyle(element);
    if (isRaster(element)) {
      take(element, 'self', '', box(element));
      continue;
    }
    if (drawn.test(style.backgroundImage)) {
      const canvas = element === document.documentElement || element === document.body;
      take(element, 'background', '', canvas ? whole() : box(element));
    }
    if (drawn.test(style.borderImageSource)) take(element, 'border', '', box(element));
    if (drawn.test(style.listStyleImage) && style.display === 'list-item') take(element, 'marker', '', box(element));
    if (drawn.test(style.maskImage) || drawn.test(style.content) || drawn.test(style.webkitMaskBoxImageSource) ||
        (filters && /url\(/.test(style.filter + style.backdropFilter))) take(element, 'veil', '', box(element));
    for (const part of ['::before', '::after', '::marker']) {
      const made = getComputedStyle(element, part);
      if (made.content === 'none' || (made.content === 'normal' && part !== '::marker')) continue;
      if ([made.content, made.backgroundImage, made.maskImage, made.borderImageSource].some((value) => drawn.test(value))) take(element, 'part', part, box(element));
    }
  }
  globalThis.rbl.rasters = found;
  return boxes;
}

/** Hide every raster that was found. Returns whether one stays visible. */
function hideRasters() {
  const drawn = /(?:url\((?!"?#)|image-set\(|cross-fade\(|element\(|paint\()/;
  const {rasters, sheet} = globalThis.rbl;
  const force = (element, name, value) => element.style.setProperty(name, value, 'important');
  const layers = (value) => { // split at commas outside parentheses and quotes
    const pieces = [''];
    let depth = 0;
    let quote = '';
    for (let index = 0; index < value.length; index++) {
      const sign = value[index];
      if (quote) quote = sign === quote && value[index - 1] !== '\\' ? '' : quote;
      else if (sign === '"' || sign === "'") quote = sign;
      else if (sign === '(') depth++;
      else if (sign === ')') depth--;
      if (sign === ',' && depth === 0 && !quote) pieces.push('');
      else pieces[pieces.length - 1] += sign;
    }
    return pieces.map((piece) => piece.trim());
  };
  rasters.forEach(({element, way, part}, index) => {
    force(element, 'transition', 'none');
    if (way === 'self') force(element, 'visibility', 'hidden');
    if (way === 'veil') force(element, 'opacity', '0');
    if (way === 'background') {
      const kept = layers(getComputedStyle(element).backgroundImage).map((layer) => (drawn.test(layer) ? 'none' : layer));
      force(element, 'background-image', kept.join(', '));
    }
    if (way === 'border') {
      force(element, 'border-image-source', 'none');
      force(element, 'border-color', 'transparent');
    }
    if (way === 'marker') force(element, 'list-style-image', 'linear-gradient(transparent, transparent)');
    if (way === 'part') {
      element.setAttribute(`rbl-part-${index}`, '');
      const what = part === '::marker' ? 'content: "" !important' : 'visibility: hidden !important; background-image: none !important';
      sheet.insertRule(`@layer rbl-first { [rbl-part-${index}]${part} { ${what} } }`, sheet.cssRules.length);
    }
  });
  const shows = ({element, way, part}) => {
    const style = getComputedStyle(element, part || null);
    if (way === 'self') return style.visibility === 'visible';
    if (way === 'veil') return style.opacity !== '0';
    if (way === 'background') return drawn.test(style.backgroundImage);
    if (way === 'border') return drawn.test(style.borderImageSource);
    if (way === 'marker') return drawn.test(style.listStyleImage);
    return part === '::marker' ? drawn.test(style.content) : style.visibility === 'visible';
  };
  return rasters.some((raster) => raster.element.checkVisibility() && shows(raster));
}

module.exports = {hideText, findRasters, hideRasters};
