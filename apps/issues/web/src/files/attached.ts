import type { AttachedFile } from '@tessera/contracts';

/** The path of the bytes of a file, with the session. */
export const contentPath = (id: string) => `/app/api/v1/attachments/${id}/content/`;

export const isPicture = ({ width, height }: Pick<AttachedFile, 'width' | 'height'>) =>
  width !== null && height !== null;

const units = ['bytes', 'kB', 'MB'];

/** A size as people read it: 1.2 MB. */
export function sizeText(bytes: number): string {
  let [value, unit] = [bytes, 0];
  for (; value >= 1_000 && unit < units.length - 1; unit += 1) value /= 1_000;
  const digits = unit > 0 && value < 10 ? 1 : 0;
  if (bytes === 1) return '1 byte';
  return `${value.toLocaleString('en', { maximumFractionDigits: digits })} ${units[unit]}`;
}
