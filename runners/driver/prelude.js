/* Runs first in every document, in the page's own world, after the clock was replaced: what a page can draw lots with
 * is seeded, what tells machines apart is fixed, and a timer of no delay cannot hold the replaced clock for ever.
 * The seed is put in by the driver. A page may undo all of this; it then only loses its own determinism.
 */
(() => {
  let state = __SEED__ >>> 0;
  const next = () => { // mulberry32: 32 bits of state, equal on all machines
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  Math.random = () => next() / 4294967296;
  if (globalThis.Crypto) {
    Crypto.prototype.getRandomValues = function getRandomValues(array) {
      const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
      for (let index = 0; index < bytes.length; index++) bytes[index] = next() >>> 24;
      return array;
    };
    Crypto.prototype.randomUUID = function randomUUID() {
      const bytes = this.getRandomValues(new Uint8Array(16));
      bytes[6] = (bytes[6] & 15) | 64;
      bytes[8] = (bytes[8] & 63) | 128;
      const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
      return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    };
  }
  const fixed = (name, value) => Object.defineProperty(Navigator.prototype, name, {get: () => value, configurable: true});
  fixed('hardwareConcurrency', 2);
  fixed('deviceMemory', 4);
  const {setInterval: every} = globalThis;
  globalThis.setInterval = (task, delay, ...rest) => every(task, Math.max(4, Number(delay) || 0), ...rest);
})();
