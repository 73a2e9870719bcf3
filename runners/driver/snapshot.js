'use strict';
/* DOMSnapshot and accessibility tree into the lists of page.json: elements, lines of text, accessibility nodes.
 *
 * Ids of the protocol differ from run to run and are dropped; what refers to an element does so by its index in
 * document order. Lengths become sixteenths of a CSS pixel. Only this document: frames are rasters.
 */

const UNIT = 16;
const FAR = 1e8; // keeps lengths well inside integers that are exact
const LONGEST = 4096; // of an attribute, a value or an element's own text
const SILENT = new Set(['script', 'style', 'noscript', 'template', 'title']);
const STYLES = ['visibility', 'opacity', 'display'];
const MOST_NODES = 60000;

const length = (edge) => Math.max(-FAR, Math.min(FAR, Math.round(edge * UNIT)));
const tidy = (text) => text.toWellFormed().replace(/\s+/g, ' ').trim();
const short = (text) => (text.length > LONGEST ? text.slice(0, LONGEST) : text).toWellFormed();
const ascii = (key) => key.toWellFormed().replace(/[^\x20-\x7e]/g, (sign) => encodeURIComponent(sign));

/** Sparse string and boolean tables of the protocol as maps. */
function sparse(table, strings) {
  return new Map((table ? table.index : []).map((node, at) => [node, table.value ? strings[table.value[at]] || '' : true]));
}

/** Whether some node of the page lies in a closed shadow root. */
function hasClosed(captured) {
  const kinds = sparse(captured.documents[0].nodes.shadowRootType, captured.strings);
  return [...kinds.values()].includes('closed');
}

/** Backend ids of the closed shadow roots below a node of DOM.getDocument, frames left out. */
function closedRoots(node) {
  const roots = (node.shadowRoots || []).filter((root) => root.shadowRootType === 'closed').map((root) => root.backendNodeId);
  const below = [...(node.children || []), ...(node.shadowRoots || [])];
  return [...roots, ...below.flatMap(closedRoots)];
}

function collect(captured) {
  const {strings} = captured;
  const {nodes, layout, textBoxes} = captured.documents[0];
  const name = (index) => (index < 0 ? '' : strings[index]);
  const kinds = sparse(nodes.shadowRootType, strings);
  const pseudo = sparse(nodes.pseudoType, strings);
  const values = sparse(nodes.inputValue, strings);
  const texts = sparse(nodes.textValue, strings);
  const checked = sparse(nodes.inputChecked, strings);
  const chosen = sparse(nodes.optionSelected, strings);
  const boxes = new Map();
  const styles = new Map();
  layout.nodeIndex.forEach((node, at) => {
    if (boxes.has(node)) return;
    boxes.set(node, layout.bounds[at]);
    styles.set(node, layout.styles[at].map(name));
  });

  /* A node is drawn when nothing above it is see-through and it is not invisible itself. `inner`: of the browser's own. */
  const count = nodes.parentIndex.length;
  if (count > MOST_NODES) throw new Error('the page has more than ' + MOST_NODES + ' nodes');
  const faint = new Uint8Array(count);
  const inner = new Uint8Array(count);
  for (let node = 0; node < count; node++) {
    const parent = nodes.parentIndex[node];
    const style = styles.get(node);
    faint[node] = (parent >= 0 && faint[parent]) || (style && Number(style[1]) === 0) ? 1 : 0;
    inner[node] = (parent >= 0 && inner[parent]) || kinds.get(node) === 'user-agent' || pseudo.has(node) ? 1 : 0;
  }
  const drawn = (node) => {
    const style = styles.get(node);
    return style !== undefined && style[0] === 'visible' && !faint[node];
  };

  const elements = [];
  const place = new Map();
  const byBackend = new Map();
  const nearest = (node) => {
    let at = nodes.parentIndex[node];
    while (at >= 0 && !place.has(at)) at = nodes.parentIndex[at];
    return at >= 0 ? place.get(at) : -1;
  };
  for (let node = 0; node < count; node++) {
    if (nodes.nodeType[node] === 3 && !inner[node]) {
      const owner = elements[nearest(node)];
      if (owner && !SILENT.has(owner.tag) && owner.text.length < 4 * LONGEST) owner.text += name(nodes.nodeValue[node]);
    }
    if (nodes.nodeType[node] !== 1 || inner[node]) continue;
    const attrs = {};
    const pairs = nodes.attributes[node] || [];
    for (let at = 0; at + 1 < pairs.length; at += 2) attrs[ascii(name(pairs[at]))] = short(name(pairs[at + 1]));
    const bounds = boxes.get(node);
    const tag = name(nodes.nodeName[node]).toLowerCase().toWellFormed();
    const ticks = tag === 'option' || (tag === 'input' && ['checkbox', 'radio'].includes((attrs.type || '').toLowerCase()));
    const value = values.has(node) ? values.get(node) : texts.has(node) ? texts.get(node) : null;
    place.set(node, elements.length);
    byBackend.set(nodes.backendNodeId[node], elements.length);
    elements.push({
      tag,
      attrs,
      parent: nearest(node),
      text: '',
      box: bounds ? bounds.map(length) : null,
      visible: Boolean(bounds) && bounds[2] > 0 && bounds[3] > 0 && drawn(node),
      value: value === null ? null : short(value),
      checked: ticks ? checked.has(node) || chosen.has(node) : null,
      focused: false,
    });
  }
  for (const element of elements) element.text = short(tidy(element.text));
  choose(elements);

  const lines = [];
  textBoxes.layoutIndex.forEach((at, box) => {
    const node = layout.nodeIndex[at];
    const from = textBoxes.start[box];
    const text = tidy(name(layout.text[at]).slice(from, from + textBoxes.length[box]));
    const owner = styles.has(node) ? node : nodes.parentIndex[node];
    const [x, y, width, height] = textBoxes.bounds[box];
    if (text && width > 0 && height > 0 && drawn(owner)) lines.push({t: short(text), b: [x, y, width, height].map(length)});
  });
  return {elements, lines, byBackend};
}

/** The snapshot says which options are chosen, not what their select is worth: the first chosen option's value. */
function choose(elements) {
  for (const element of elements) if (element.tag === 'select') element.value = '';
  for (const element of [...elements].reverse()) {
    if (element.tag !== 'option' || !element.checked) continue;
    let above = element.parent;
    while (above >= 0 && elements[above].tag !== 'select') above = elements[above].parent;
    if (above >= 0) elements[above].value = element.attrs.value ?? element.text;
  }
}

const QUIET = new Set(['InlineTextBox', 'StaticText', 'LineBreak']);

/** The accessibility tree without what it ignores, in its order, and the element that has the focus. */
function accessibility(tree, byBackend) {
  const plain = (value) => (value === undefined || value.value === undefined ? null : short(tidy(String(value.value))));
  const ax = [];
  let focused = -1;
  for (const node of tree.nodes) {
    const role = plain(node.role);
    if (node.ignored || role === null || QUIET.has(role)) continue;
    const element = byBackend.has(node.backendDOMNodeId) ? byBackend.get(node.backendDOMNodeId) : -1;
    if ((node.properties || []).some((property) => property.name === 'focused' && property.value.value) && role !== 'RootWebArea') focused = element;
    ax.push({role, name: plain(node.name) || '', value: plain(node.value), node: element, ignored: false});
  }
  return {ax, focused};
}

/** Canonical JSON: keys sorted, no white space. Numbers in it are integers. */
function canonical(value) {
  if (Array.isArray(value)) return '[' + value.map(canonical).join(',') + ']';
  if (value !== null && typeof value === 'object') {
    return '{' + Object.keys(value).sort().map((key) => JSON.stringify(key) + ':' + canonical(value[key])).join(',') + '}';
  }
  return JSON.stringify(value);
}

module.exports = {STYLES, accessibility, ascii, canonical, closedRoots, collect, hasClosed, short};
