const begin = '<!-- bench -->';
const end = '<!-- /bench -->';

/**
 * Puts the text between the markers, whatever stood there.
 * @throws Error when the markers are missing or the wrong way round
 */
export function withBench(readme: string, text: string): string {
  const from = readme.indexOf(begin);
  const to = readme.indexOf(end);
  if (from === -1 || to < from) throw new Error(`README.md has no place between ${begin} and ${end}`);
  return `${readme.slice(0, from + begin.length)}\n\n${text.trim()}\n\n${readme.slice(to)}`;
}
