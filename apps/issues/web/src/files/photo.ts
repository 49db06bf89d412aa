const sideMax = 12_000;
const pixelsMax = 40_000_000;

interface Jpeg {
  width: number;
  height: number;
  /** EXIF, XMP or IPTC: where and with what a photo was taken. */
  hasMetadata: boolean;
}

export const isJpeg = (bytes: Uint8Array) => bytes[0] === 0xff && bytes[1] === 0xd8;

/** Reads the segments before the picture (ITU T.81, B.1.1). Undefined if they are broken. */
export function readJpeg(bytes: Uint8Array): Jpeg | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const found = { width: 0, height: 0, hasMetadata: false };
  for (let place = 2; place + 9 < view.byteLength && view.getUint8(place) === 0xff; ) {
    const kind = view.getUint8(place + 1);
    // A byte may be filled up with 0xff.
    if (kind === 0xff) {
      place += 1;
      continue;
    }
    // TEM and RST have no length.
    if (kind === 0x01 || (kind >= 0xd0 && kind <= 0xd7)) {
      place += 2;
      continue;
    }
    if (kind === 0xda) return found.width > 0 ? found : undefined;
    if (kind === 0xe1 || kind === 0xed) found.hasMetadata = true;
    if (kind >= 0xc0 && kind <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(kind)) {
      found.height = view.getUint16(place + 5);
      found.width = view.getUint16(place + 7);
    }
    place += 2 + view.getUint16(place + 2);
  }
  return undefined;
}

/**
 * Returns a photo without what it says about itself, such as its position, turned as it is to be seen. Other files, and photos
 * without such data, stay as they are. Throws if it cannot be done.
 */
export async function withoutMetadata(file: Blob): Promise<Blob> {
  if (!isJpeg(new Uint8Array(await file.slice(0, 2).arrayBuffer()))) return file;
  const jpeg = readJpeg(new Uint8Array(await file.arrayBuffer()));
  if (jpeg === undefined) throw new Error('The photo is damaged.');
  const { width, height, hasMetadata } = jpeg;
  if (!hasMetadata) return file;
  if (Math.max(width, height) > sideMax || width * height > pixelsMax)
    throw new Error('The photo is too large.');
  const bitmap = await createImageBitmap(file, { imageOrientation: 'from-image' });
  try {
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    canvas.getContext('2d')?.drawImage(bitmap, 0, 0);
    const photo = await canvas.convertToBlob({ type: 'image/jpeg', quality: 0.92 });
    const written = readJpeg(new Uint8Array(await photo.arrayBuffer()));
    if (written?.hasMetadata !== false) throw new Error('This browser keeps the data.');
    return photo;
  } finally {
    bitmap.close();
  }
}
