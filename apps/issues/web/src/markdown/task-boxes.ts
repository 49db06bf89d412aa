/** Returns the text with the box of a list item changed. `line`: the number of its line, from 0. */
export function withToggledTask(text: string, line: number): string {
  const ends = text.matchAll(/\r\n?|\n/g);
  let start = 0;
  for (let number = 0; number < line; number += 1) {
    const end = ends.next().value;
    if (end === undefined) return text;
    start = end.index + end[0].length;
  }
  const rest = text.slice(start);
  const [box] = /^[^\r\n]*?\[[ xX]\]/.exec(rest) ?? [];
  if (box === undefined) return text;
  const toggled = `${box.slice(0, -3)}[${box.at(-2) === ' ' ? 'x' : ' '}]`;
  return text.slice(0, start) + toggled + rest.slice(box.length);
}
