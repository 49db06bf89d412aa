import { places } from '../issue-list/came-from.ts';
import { isFocusLost } from '../shell/focus.ts';

export interface CardPlace {
  key: string;
  column: string;
  row: number;
}

const cardOf = (element: Element | null) => element?.closest<HTMLElement>('[data-card]');
const linkIn = (card: Element | null | undefined) => card?.querySelector<HTMLElement>('a');
const cardsOf = (column: Element) => [...column.querySelectorAll<HTMLElement>('[data-card]')];
const find = (key: string) => document.querySelector<HTMLElement>(`[data-card="${CSS.escape(key)}"]`);

/** The focus returns to the card of an issue that was reached without the board. */
export function followCard(key: string): void {
  if (places.card !== undefined) places.card = { ...places.card, key };
}

/** The card that has the focus, or had it when its element was replaced: a key that comes in between is meant for it. */
function currentCard(): HTMLElement | null | undefined {
  const focused = cardOf(document.activeElement);
  return focused ?? (isFocusLost() && places.card !== undefined ? find(places.card.key) : null);
}

/** Returns the key of the card that has the focus. */
export function focusedCard(): string | undefined {
  return currentCard()?.dataset.card;
}

// The element of the last card: another one with its key is the card in another column, or on the board that was opened again.
let lastCard: HTMLElement | undefined;

document.addEventListener('focusin', ({ target }) => {
  const card = cardOf(target as Element);
  const column = card?.closest<HTMLElement>('[data-column]');
  const key = card?.dataset.card;
  if (!card || !column || key === undefined) return;
  lastCard = card;
  places.card = { key, column: column.dataset.column ?? '', row: cardsOf(column).indexOf(card) };
});

/**
 * Gives the focus back to the last card if its element has disappeared; if the card is gone, to that in its place. Does nothing
 * if the user has gone on elsewhere.
 */
export function keepFocus(): void {
  const { card: place } = places;
  const arrived = awaited?.key === undefined ? null : find(awaited.key);
  if (arrived !== null && document.activeElement === awaited?.instead) linkIn(arrived)?.focus();
  if (arrived !== null) awaited = undefined;
  if (place === undefined || lastCard?.isConnected || !isFocusLost()) return;
  const { key } = place;
  const card = find(key);
  const link = linkIn(card ?? neighbour(place));
  awaited = card === null && link ? { key, instead: link } : undefined;
  link?.focus();
}

// A card that another column gets is in none of them until that is read.
let awaited: { key: string; instead: HTMLElement } | undefined;

function neighbour({ column, row }: CardPlace): HTMLElement | undefined {
  const cards = document.querySelector(`[data-column="${column}"]`);
  const all = cards === null ? [] : cardsOf(cards);
  return all[Math.min(row, all.length - 1)];
}

/** Opens the issue of the card that has the focus. */
export function openCard(): void {
  linkIn(currentCard())?.click();
}

/** Moves the focus to a card by columns or rows. Without a focused card, to the last one or the first. */
export function focusCard(byColumns: number, byRows: number): void {
  const { card: place } = places;
  const columns = [...document.querySelectorAll('[data-column]')]
    .map(cardsOf)
    .filter((cards) => cards.length > 0);
  const last = place === undefined ? undefined : (find(place.key) ?? neighbour(place));
  const focused = cardOf(document.activeElement);
  const from = focused ?? last;
  const column = columns.findIndex((cards) => cards.some((card) => card === from));
  const row = from ? (columns[column]?.indexOf(from) ?? -1) : -1;
  const cards = columns[clamp(column + byColumns, columns.length)] ?? [];
  const isGone = !focused && place !== undefined && find(place.key) === null;
  const card =
    column < 0 ? columns[0]?.[0] : cards[clamp(row + (isGone ? Math.min(byRows, 0) : byRows), cards.length)];
  linkIn(card)?.focus();
  card?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
}

const clamp = (index: number, length: number) => Math.min(Math.max(index, 0), length - 1);
