/** The lines of an object when one switch is on. */
interface Variant {
  value: string;
  lines: readonly string[];
}

/**
 * One template of the lines without switches and the lines with each switch: the lines that a switch adds or removes stand
 * between `if` and `end`.
 */
export function mergeVariants(base: readonly string[], variants: readonly Variant[]): string[] {
  const removedBy = base.map((): string | undefined => undefined);
  const added: string[][] = Array.from({ length: base.length + 1 }, () => []);
  for (const { value, lines } of variants) {
    const { removed, inserted } = difference(base, lines);
    for (const index of removed) {
      if (removedBy[index] !== undefined)
        throw new Error(`${value} and ${removedBy[index]} remove the line ${base[index]}`);
      removedBy[index] = value;
    }
    for (const [index, block] of inserted) added[index]?.push(...wrap(`.Values.${value}.enabled`, block));
  }
  const merged: string[] = [];
  for (let index = 0; index <= base.length; index += 1) {
    merged.push(...(added[index] ?? []));
    const value = removedBy[index];
    if (index === base.length) break;
    if (value === undefined) merged.push(base[index] ?? '');
    else if (index === 0 || removedBy[index - 1] !== value) {
      const end = base.findIndex((_line, later) => later > index && removedBy[later] !== value);
      const block = base.slice(index, end === -1 ? undefined : end);
      merged.push(...wrap(`not .Values.${value}.enabled`, block));
    }
  }
  return merged;
}

function wrap(condition: string, block: readonly string[]): string[] {
  const indent = /^ */.exec(block[0] ?? '')?.[0] ?? '';
  return [`${indent}{{- if ${condition} }}`, ...block, `${indent}{{- end }}`];
}

/** The lines that are missing in `to`, and the blocks of `to` by the index of the line before which they stand. */
function difference(from: readonly string[], to: readonly string[]) {
  const common = longestCommon(from, to);
  const removed: number[] = [];
  const inserted = new Map<number, string[]>();
  let [i, j] = [0, 0];
  while (i < from.length || j < to.length) {
    if (i < from.length && from[i] === to[j]) [i, j] = [i + 1, j + 1];
    else if (j < to.length && (i === from.length || at(common, i, j + 1) >= at(common, i + 1, j))) {
      inserted.set(i, [...(inserted.get(i) ?? []), to[j] ?? '']);
      j += 1;
    } else {
      removed.push(i);
      i += 1;
    }
  }
  return { removed, inserted };
}

const at = (table: readonly number[][], i: number, j: number) => table[i]?.[j] ?? 0;

/** For each pair of positions, how many lines the rests have in common, in order. */
function longestCommon(from: readonly string[], to: readonly string[]): number[][] {
  const table = Array.from({ length: from.length + 1 }, () => new Array<number>(to.length + 1).fill(0));
  for (let i = from.length - 1; i >= 0; i -= 1) {
    const row = table[i] ?? [];
    for (let j = to.length - 1; j >= 0; j -= 1)
      row[j] =
        from[i] === to[j] ? at(table, i + 1, j + 1) + 1 : Math.max(at(table, i + 1, j), at(table, i, j + 1));
  }
  return table;
}
