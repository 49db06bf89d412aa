import type { PictureType } from '@tessera/contracts';

/** A picture as its header describes it. */
export interface Picture {
  mediaType: PictureType;
  width: number;
  height: number;
}

/** The beginning of a file that is looked at. */
export const headerBytes = 128 * 1024;

const sideMax = 12_000;
const pixelsMax = 40_000_000;

/**
 * Returns the picture that the first bytes of a file describe; undefined for any other file, and for a picture that would take too much
 * memory to show. It decodes nothing, and each loop moves on by at least two bytes.
 */
export function readPicture(bytes: Uint8Array): Picture | undefined {
  const header = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, headerBytes));
  const picture =
    readPng(header) ?? readGif(header) ?? readWebp(header) ?? readJpeg(header) ?? readAvif(header);
  if (picture === undefined) return undefined;
  const { width, height } = picture;
  const isShown =
    width > 0 && height > 0 && width <= sideMax && height <= sideMax && width * height <= pixelsMax;
  return isShown ? picture : undefined;
}

function textAt(bytes: Buffer, start: number, length: number): string {
  return bytes.toString('latin1', start, start + length);
}

function readPng(bytes: Buffer): Picture | undefined {
  if (bytes.length < 24 || textAt(bytes, 0, 8) !== '\x89PNG\r\n\x1a\n' || textAt(bytes, 12, 4) !== 'IHDR')
    return undefined;
  return { mediaType: 'image/png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

// Browsers enlarge the screen to the first frame, so the size is that of both.
function readGif(bytes: Buffer): Picture | undefined {
  if (bytes.length < 13 || !/^GIF8[79]a$/.test(textAt(bytes, 0, 6))) return undefined;
  const flags = bytes.readUInt8(10);
  let place = 13 + (flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0);
  // An extension has blocks with a length before each, and ends with an empty one.
  while (place + 2 < bytes.length && bytes[place] === 0x21)
    for (place += 2; place < bytes.length; ) {
      const length = bytes.readUInt8(place);
      place += 1 + length;
      if (length === 0) break;
    }
  if (place + 10 > bytes.length || bytes[place] !== 0x2c) return undefined;
  return {
    mediaType: 'image/gif',
    width: Math.max(bytes.readUInt16LE(6), bytes.readUInt16LE(place + 1) + bytes.readUInt16LE(place + 5)),
    height: Math.max(bytes.readUInt16LE(8), bytes.readUInt16LE(place + 3) + bytes.readUInt16LE(place + 7)),
  };
}

function readWebp(bytes: Buffer): Picture | undefined {
  if (bytes.length < 25 || textAt(bytes, 0, 4) !== 'RIFF' || textAt(bytes, 8, 4) !== 'WEBP') return undefined;
  const size = (width: number, height: number): Picture => ({ mediaType: 'image/webp', width, height });
  switch (textAt(bytes, 12, 4)) {
    case 'VP8X':
      if (bytes.length < 30) return undefined;
      return size(bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1);
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21);
      return bytes[20] === 0x2f ? size((bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1) : undefined;
    }
    case 'VP8 ':
      if (bytes.length < 30 || textAt(bytes, 23, 3) !== '\x9d\x01\x2a') return undefined;
      return size(bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff);
    default:
      return undefined;
  }
}

// DHT, DAC, DQT, DNL, DRI, APP0 to APP15 and COM: a decoder reads no other ones before the frame (ITU T.81, table B.1).
const segments = new Set([
  0xc4,
  0xcc,
  0xdb,
  0xdc,
  0xdd,
  ...Array.from({ length: 16 }, (_, n) => 0xe0 + n),
  0xfe,
]);

function readJpeg(bytes: Buffer): Picture | undefined {
  if (textAt(bytes, 0, 3) !== '\xff\xd8\xff') return undefined;
  for (let place = 2; place + 9 <= bytes.length; ) {
    const marker = bytes.readUInt8(place + 1);
    if (bytes[place] !== 0xff) return undefined;
    // A fill byte.
    if (marker === 0xff) {
      place += 1;
      continue;
    }
    // TEM and RST have no length.
    if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7)) {
      place += 2;
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame)
      return {
        mediaType: 'image/jpeg',
        width: bytes.readUInt16BE(place + 7),
        height: bytes.readUInt16BE(place + 5),
      };
    const length = bytes.readUInt16BE(place + 2);
    if (!segments.has(marker) || length < 2) return undefined;
    place += 2 + length;
  }
  return undefined;
}

/** The boxes of a part of a file (ISO 14496-12), at most a hundred. */
function boxesOf(bytes: Buffer, start: number, end: number): { type: string; start: number; end: number }[] {
  const boxes: { type: string; start: number; end: number }[] = [];
  for (let place = start; place + 8 <= end && boxes.length < 100; ) {
    const size = bytes.readUInt32BE(place);
    if (size < 8) break;
    boxes.push({ type: textAt(bytes, place + 4, 4), start: place + 8, end: Math.min(place + size, end) });
    place += size;
  }
  return boxes;
}

function readAvif(bytes: Buffer): Picture | undefined {
  if (textAt(bytes, 4, 4) !== 'ftyp' || bytes.length < 16) return undefined;
  const [brand, ...rest] = boxesOf(bytes, 0, bytes.length);
  if (brand === undefined || !/avi[fs]/.test(textAt(bytes, brand.start, brand.end - brand.start)))
    return undefined;
  const within = (boxes: typeof rest, type: string, skipped = 0) => {
    const found = boxes.find((box) => box.type === type);
    return found === undefined ? [] : boxesOf(bytes, found.start + skipped, found.end);
  };
  // The box `meta` has a version before its parts.
  const properties = within(within(within(rest, 'meta', 4), 'iprp'), 'ipco');
  const sizes = properties
    .filter(({ type, start, end }) => type === 'ispe' && end - start >= 12)
    .map(({ start }) => ({ width: bytes.readUInt32BE(start + 4), height: bytes.readUInt32BE(start + 8) }));
  // Parts and an alpha channel have sizes, too; the picture has the largest.
  const [size] = sizes.sort((left, right) => right.width * right.height - left.width * left.height);
  return size === undefined ? undefined : { mediaType: 'image/avif', ...size };
}
