import type { KeyboardEvent as ReactKeyboardEvent } from 'react';

/**
 * Whether a key belongs to the composition of an input method: Enter ends it, and Escape cancels it. Safari sends the last key after
 * the composition, with 229, the code of every key of an input method (UI Events, 8.3).
 */
const isComposed = (event: KeyboardEvent) => event.isComposing || event.keyCode === 229;

const isLatin = /[\p{Script=Latin}\p{ASCII}]/u;
const hasPosition = /^[\p{L}\p{M}؟]+$/u;

/**
 * The key for shortcuts: the typed character, as layouts place it. A layout of another script types no Latin letter, so there
 * the position of the key counts. AltGr types a character of its own.
 */
function keyOf(event: KeyboardEvent): string {
  const { key, code, shiftKey } = event;
  if (isLatin.test(key) || !hasPosition.test(key) || event.getModifierState('AltGraph')) return key;
  if (code === 'Slash') return shiftKey ? '?' : '/';
  if (code === 'BracketLeft' && !shiftKey) return '[';
  const letter = /^Key([A-Z])$/.exec(code)?.[1] ?? key;
  return shiftKey ? letter : letter.toLowerCase();
}

type KeyEvent = KeyboardEvent | ReactKeyboardEvent;
const nativeOf = (event: KeyEvent) => ('nativeEvent' in event ? event.nativeEvent : event);

/** Makes a handler of keys, which does not act on those of a composition. Every handler of the app is made here. */
export function onKey<Event extends KeyEvent>(
  act: (key: string, event: Event) => void,
): (event: Event) => void {
  return (event) => {
    const native = nativeOf(event);
    // Chromium's autofill sends a plain event, without a key.
    if (native instanceof KeyboardEvent && !isComposed(native)) act(keyOf(native), event);
  };
}

// A dialog closes at Escape without a handler.
document.addEventListener(
  'keydown',
  (event) => {
    if (event.key === 'Escape' && isComposed(event)) event.preventDefault();
  },
  { capture: true },
);
