// The layout of more letters in one block can take seconds, for example of a word of 65,000 Arabic letters.
const portionLength = 4_000;

/** Returns the part of a text from a place on that is shown at once. */
export function portionAt(text: string, start: number): string {
  const portion = text.slice(start, start + portionLength);
  // The two halves of a sign stay together.
  return /[\ud800-\udbff]$/.test(portion) ? portion.slice(0, -1) || portion : portion;
}
