import type { User } from '@tessera/contracts';
import { useEffect, useRef, useSyncExternalStore } from 'react';
import { onKey } from './keys.ts';

/** An action of a page: in the command palette, in the list of keys and, with a key, as a shortcut. */
export interface Command {
  name: string;
  /** A key, one with Ctrl or ⌘ such as `Ctrl+z`, `Alt+1` to `Alt+9`, `Space`, or two keys that are pressed one after the other, such as `g b`. */
  key?: string;
  /** Its part of the palette. Default: commands of the page and the frame. */
  group?: 'Issue' | 'Go to' | 'Views' | 'Settings';
  /** One of many similar ones: the palette shows it only after three letters. */
  isValue?: boolean;
  /** Assigns the issues of the command to a person. The palette offers it for the people that it finds by name. */
  assign?: (person: User) => void;
  run: () => void;
}

const symbols: Readonly<Record<string, string>> = { ArrowLeft: '←', ArrowRight: '→', Escape: 'Esc' };

/** Commands that act on the issue of the page, or on those that are chosen in it. */
export const ofIssue = (commands: readonly Command[]): Command[] =>
  commands.map((command) => ({ ...command, group: 'Issue' }));

/** The keys of a command as they are shown. */
export const shownKeys = (key: string) =>
  key
    .split(/[ +]/)
    .map(
      (one, place, all) =>
        symbols[one] ?? (all[place - 1] === 'Ctrl' && one.length === 1 ? one.toUpperCase() : one),
    );

const storageKey = 'tessera-shortcuts';
/** The time between the two keys of a sequence. */
const sequenceMs = 1_500;

export const areShortcutsOn = () => localStorage.getItem(storageKey) !== 'off';

export function setShortcuts(isOn: boolean): void {
  localStorage.setItem(storageKey, isOn ? 'on' : 'off');
}

interface Registration {
  current: readonly Command[];
}

let registrations: readonly Registration[] = [];
const listeners = new Set<() => void>();

function register(next: readonly Registration[]): void {
  registrations = next;
  for (const listener of listeners) listener();
}

/**
 * Adds the commands of a component while it is mounted. The shortcuts work outside of fields and dialogs.
 * @param isFrame of the frame: a page may give their keys another meaning
 */
export function useCommands(commands: readonly Command[], isFrame = false): void {
  const registration = useRef(commands);
  registration.current = commands;
  useEffect(() => {
    register(isFrame ? [...registrations, registration] : [registration, ...registrations]);
    return () => register(registrations.filter((one) => one !== registration));
  }, [isFrame]);
}

/** The commands of the page, then those of the frame. */
export function useAllCommands(): Command[] {
  const all = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => registrations,
  );
  const commands = all.flatMap(({ current }) => current);
  return commands.filter(
    ({ key }, index) => key === undefined || commands.findIndex((one) => one.key === key) === index,
  );
}

let first: { key: string; at: number } | undefined;
// The second key of `M M` begins with Shift.
const modifiers = /^(?:Shift|Control|Alt|AltGraph|Meta|CapsLock)$/;

const press = onKey((pressed, event: KeyboardEvent) => {
  // Where AltGr types a character, such as [ on a German layout, some systems add Ctrl and Alt to it.
  const isTyped = event.getModifierState('AltGraph');
  if (event.defaultPrevented || modifiers.test(pressed)) return;
  if (event.altKey && !isTyped) return pressWithAlt(event);
  if (document.querySelector('dialog[open]') !== null) return;
  const isWithCtrl = (event.ctrlKey || event.metaKey) && !isTyped;
  if (isField(event.target)) {
    if (pressed === 'Escape') leaveField(event);
    return;
  }
  // Only shortcuts of a single character can be turned off.
  if (isWithCtrl ? event.shiftKey : !areShortcutsOn()) return;
  const commands = registrations.flatMap(({ current }) => current);
  const isSequence = !isWithCtrl && first !== undefined && event.timeStamp - first.at < sequenceMs;
  // Space is also how a button is pressed and a box is ticked.
  if (pressed === ' ' && (event.target as Element).closest('button, input, summary') !== null) return;
  const single = isWithCtrl ? `Ctrl+${pressed.toLowerCase()}` : pressed === ' ' ? 'Space' : pressed;
  const keys = isSequence ? `${first?.key} ${single}` : single;
  const isStart = !isSequence && commands.some(({ key }) => key?.startsWith(`${single} `));
  first = isStart ? { key: pressed, at: event.timeStamp } : undefined;
  const command = commands.find(({ key }) => key === keys);
  if (command === undefined) return;
  event.preventDefault();
  command.run();
});

/** Alt and a digit. A Mac types another character with it, so the position of the key counts. */
function pressWithAlt(event: KeyboardEvent): void {
  const digit = /^Digit([1-9])$/.exec(event.code)?.[1];
  if (digit === undefined || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (isField(event.target) || document.querySelector('dialog[open]') !== null) return;
  const command = registrations.flatMap(({ current }) => current).find(({ key }) => key === `Alt+${digit}`);
  if (command === undefined) return;
  event.preventDefault();
  command.run();
}

document.addEventListener('keydown', press);

/** Escape leaves every field, and its text stays. Without this, the browser would empty a search field. */
function leaveField(event: KeyboardEvent): void {
  event.preventDefault();
  (event.target as HTMLElement).blur();
}

function isField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return target.type !== 'checkbox';
  return target.matches('textarea, select, [role=listbox], [role=option]');
}
