import { useMemo, useState } from 'react';

interface DiffLine {
  kind: 'same' | 'removed' | 'added';
  text: string;
}

// The table of a comparison has this many cells at most. Longer texts are shown as removed and added.
const maxCells = 250_000;

/** The lines of two texts: those of a longest common subsequence are the same. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [old, next] = [before, after].map((text) => (text === '' ? [] : text.split('\n'))) as [
    string[],
    string[],
  ];
  if (old.length * next.length > maxCells)
    return [
      ...old.map((text): DiffLine => ({ kind: 'removed', text })),
      ...next.map((text): DiffLine => ({ kind: 'added', text })),
    ];
  const width = next.length + 1;
  // lengths[i * width + j]: the length of the subsequence of old from i and next from j.
  const lengths = new Uint32Array((old.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i -= 1)
    for (let j = next.length - 1; j >= 0; j -= 1)
      lengths[i * width + j] =
        old[i] === next[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const lines: DiffLine[] = [];
  for (let i = 0, j = 0; i < old.length || j < next.length; ) {
    const [one, other] = [old[i], next[j]];
    if (one !== undefined && one === other) {
      lines.push({ kind: 'same', text: one });
      i += 1;
      j += 1;
    } else if (other === undefined || (one !== undefined && at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ kind: 'removed', text: one ?? '' });
      i += 1;
    } else {
      lines.push({ kind: 'added', text: other });
      j += 1;
    }
  }
  return lines;
}

// The layout of a longer line can take seconds.
const pieceLength = 1_000;

/** Divides long lines into pieces. */
function pieces({ kind, text }: DiffLine): DiffLine[] {
  const found = text.match(new RegExp(`.{1,${pieceLength}}`, 'gsu')) ?? [''];
  return found.map((piece) => ({ kind, text: piece }));
}

const signs = { same: ' ', removed: '−', added: '+' };
const words = { same: '', removed: 'removed: ', added: 'added: ' };
const elements = { same: 'span', removed: 'del', added: 'ins' } as const;

// A text can have 65,000 lines, which would block the page of every reader.
const linesAtOnce = 300;
const lengthAtOnce = 20_000;

/** Returns the end of the lines that are shown together with those before them. */
function endOf(lines: readonly DiffLine[], start: number): number {
  let end = start;
  for (let length = 0; end < lines.length && end - start < linesAtOnce; end += 1) {
    length += lines[end]?.text.length ?? 0;
    if (length > lengthAtOnce) break;
  }
  return end;
}

export function TextDiff({ before, after }: { before: string; after: string }) {
  const lines = useMemo(() => diffLines(before, after).flatMap(pieces), [before, after]);
  const [shown, setShown] = useState(() => endOf(lines, 0));
  const more = endOf(lines, shown) - shown;
  return (
    <div className="diff">
      {lines.slice(0, shown).map(({ kind, text }, index) => {
        const Line = elements[kind];
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: the lines of a text never change places
          <Line key={index} className={`diff-${kind}`} dir="auto">
            <span aria-hidden="true">{signs[kind]} </span>
            {/* `auto` does not look into an element with a direction. */}
            <span className="visually-hidden" dir="ltr">
              {words[kind]}
            </span>
            {text}
          </Line>
        );
      })}
      {more > 0 && (
        <button type="button" className="quiet" onClick={() => setShown(shown + more)}>
          Show {more} of {(lines.length - shown).toLocaleString('en')} more lines
        </button>
      )}
    </div>
  );
}
