import { ProblemError } from '@tessera/service-kit';
import type { ByteRange } from './blob-store.ts';

/**
 * Returns the part of a file that a request asks for; undefined for the whole file, also if several parts or another unit are asked for
 * (RFC 9110 14.2). Throws a 416 problem if the file has no byte of it.
 */
export function rangeOf(
  { range, ifRange }: { range: string | undefined; ifRange: string | undefined },
  { size, etag }: { size: number; etag: string },
): ByteRange | undefined {
  // A date is none of ours.
  if (range === undefined || (ifRange !== undefined && ifRange !== etag)) return undefined;
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/i.exec(range.trim()) ?? [];
  if (from === '' && to === '') return undefined;
  if (from !== '' && to !== '' && Number(to) < Number(from)) return undefined;
  const start = from === '' ? Math.max(0, size - Number(to)) : Number(from);
  const end = from === '' || to === '' ? size : Math.min(Number(to) + 1, size);
  if (start < end) return { start, end };
  throw new ProblemError({
    status: 416,
    code: 'range_not_satisfiable',
    detail: `The file has ${size} bytes.`,
    headers: { 'Content-Range': `bytes */${size}` },
  });
}

/** The value of `Content-Disposition` (RFC 6266): old programs read the first name, which has only harmless characters. */
export function dispositionOf(name: string, isPicture: boolean): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\/%]/g, '_');
  const encoded = encodeURIComponent(name).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16)}`);
  return `${isPicture ? 'inline' : 'attachment'}; filename="${plain}"; filename*=UTF-8''${encoded}`;
}

/** Headers of every file. No script in it runs. */
export const contentHeaders = {
  'Accept-Ranges': 'bytes',
  'Cache-Control': 'private, no-cache',
  'Content-Security-Policy': "sandbox; default-src 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
} as const;
