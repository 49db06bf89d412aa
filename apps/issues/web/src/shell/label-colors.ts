const colors = [
  '#d1242f',
  '#bc4c00',
  '#9a6700',
  '#1a7f37',
  '#0f766e',
  '#0969da',
  '#5b5bd6',
  '#8250df',
  '#bf3989',
  '#57606a',
] as const;

/** A colour for a label whose maker has chosen none. */
export const newLabelColor = (): string => colors[Math.floor(Math.random() * colors.length)] ?? '#57606a';
