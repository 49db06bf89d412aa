/** Returns the key of the card that has the focus. */
export function focusedCard(): string | undefined {
  return document.activeElement?.closest<HTMLElement>('[data-card]')?.dataset.card;
}

/** Gives the focus back to a card that has moved. An element that is taken out loses it to the document. */
export function keepFocus(key: string): void {
  if (document.activeElement !== document.body) return;
  document.querySelector<HTMLElement>(`[data-card="${CSS.escape(key)}"] a`)?.focus();
}

/** Opens the issue of the card that has the focus. */
export function openCard(): void {
  document.activeElement?.closest('[data-card]')?.querySelector<HTMLElement>('a')?.click();
}

/** Moves the focus to a card by columns or rows. Without a focused card, to the first. */
export function focusCard(byColumns: number, byRows: number): void {
  const columns = [...document.querySelectorAll('[data-column]')]
    .map((column) => [...column.querySelectorAll<HTMLElement>('[data-card] a')])
    .filter((cards) => cards.length > 0);
  const from = document.activeElement?.closest('[data-card]')?.querySelector<HTMLElement>('a');
  const column = columns.findIndex((cards) => cards.some((card) => card === from));
  const row = from ? (columns[column]?.indexOf(from) ?? -1) : -1;
  const cards = columns[clamp(column + byColumns, columns.length)] ?? [];
  const card = column < 0 ? columns[0]?.[0] : cards[clamp(row + byRows, cards.length)];
  card?.focus();
  card?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
}

const clamp = (index: number, length: number) => Math.min(Math.max(index, 0), length - 1);
