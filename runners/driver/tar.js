'use strict';
/* Tar in and out, as much of it as the driver's own input and output need.
 *
 * In: ustar with pax headers, as store/archive.py writes it: files, directories, symbolic links.
 * Out: ustar with files only, owner and time zero, so that equal shots make equal bytes.
 */

const BLOCK = 512;

function text(buffer, from, length) {
  const end = buffer.indexOf(0, from);
  return buffer.toString('utf8', from, end < 0 || end > from + length ? from + length : end);
}

function pax(data) {
  const found = {};
  let at = 0;
  while (at < data.length) {
    const space = data.indexOf(0x20, at);
    const size = Number(data.toString('ascii', at, space));
    if (!Number.isInteger(size) || size <= space - at) throw new Error('a pax header that is none');
    const record = data.toString('utf8', space + 1, at + size - 1);
    const equals = record.indexOf('=');
    found[record.slice(0, equals)] = record.slice(equals + 1);
    at += size;
  }
  return found;
}

/** Entries of a tar: [{path, kind: 'file' | 'link' | 'folder', data, target}]. Data are views, not copies. */
function read(buffer) {
  const entries = [];
  let at = 0;
  let extra = {};
  while (at + BLOCK <= buffer.length && buffer[at] !== 0) {
    const type = String.fromCharCode(buffer[at + 156] || 0x30);
    const size = extra.size !== undefined ? Number(extra.size) : parseInt(text(buffer, at + 124, 12), 8) || 0;
    const data = buffer.subarray(at + BLOCK, at + BLOCK + size);
    if (data.length !== size) throw new Error('the tar is cut off');
    if (type === 'x') {
      extra = pax(data);
    } else {
      const prefix = text(buffer, at + 345, 155);
      const name = extra.path || (prefix ? prefix + '/' : '') + text(buffer, at, 100);
      const path = name.replace(/\/+$/, '');
      if (type === '0') entries.push({path, kind: 'file', data, target: null});
      else if (type === '2') entries.push({path, kind: 'link', data: null, target: extra.linkpath || text(buffer, at + 157, 100)});
      else if (type === '5') entries.push({path, kind: 'folder', data: null, target: null});
      else throw new Error('an unexpected kind of member: ' + type);
      extra = {};
    }
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
  return entries;
}

function header(path, size) {
  const block = Buffer.alloc(BLOCK);
  if (Buffer.byteLength(path) > 100) throw new Error('a name too long: ' + path);
  block.write(path, 0);
  block.write('0000644\0' + '0000000\0' + '0000000\0', 100);
  block.write(size.toString(8).padStart(11, '0') + '\0' + '00000000000\0' + '        ' + '0', 124);
  block.write('ustar\0' + '00', 257);
  let sum = 0;
  for (const byte of block) sum += byte;
  block.write(sum.toString(8).padStart(6, '0') + '\0 ', 148);
  return block;
}

/** Writes files to a stream as they come, waiting for it. */
class Writer {
  constructor(stream) {
    this.stream = stream;
  }

  async file(path, data) {
    await this.put(Buffer.concat([header(path, data.length), data, Buffer.alloc((BLOCK - (data.length % BLOCK)) % BLOCK)]));
  }

  async end() {
    await this.put(Buffer.alloc(2 * BLOCK));
  }

  put(bytes) {
    return new Promise((resolve, reject) => this.stream.write(bytes, (error) => (error ? reject(error) : resolve())));
  }
}

module.exports = {read, Writer};
