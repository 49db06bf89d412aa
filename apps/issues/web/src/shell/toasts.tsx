import { useSyncExternalStore } from 'react';
import { inOrder } from '../http/own-changes.ts';

interface Toast {
  id: number;
  text: string;
  undo?: (() => unknown) | undefined;
}

/** The time for which a change can be undone. */
const undoMs = 10_000;
const lookMs = 1_000;

let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function set(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

function add(text: string, undo?: () => unknown): number {
  lastId += 1;
  set([...toasts.filter((toast) => toast.text !== text).slice(-2), { id: lastId, text, undo }]);
  return lastId;
}

const dismiss = (id: number) => set(toasts.filter((toast) => toast.id !== id));

/** Shows a message until the user closes it: it may explain why a change was undone. */
export function notify(text: string): void {
  add(text);
}

/** Says for ten seconds that something is done, and undoes it at a click or Ctrl Z. */
export function notifyDone(text: string, undo?: () => unknown): void {
  const id = add(text, undo);
  const end = () => {
    // It stays for who is about to use it.
    if (document.querySelector(`[data-toast="${id}"]:is(:hover, :focus-within)`) === null) dismiss(id);
    else setTimeout(end, lookMs);
  };
  setTimeout(end, undoMs);
}

/** Takes a change back, or says why not. `refresh` runs in both cases. */
export async function takeBack(act: () => Promise<unknown>, refresh: () => unknown): Promise<void> {
  try {
    await act();
  } catch (error) {
    notify(`Not undone: ${error instanceof Error ? error.message : ''}`);
  }
  await refresh();
}

function undo(toast: Toast): void {
  dismiss(toast.id);
  toast.undo?.();
}

/** Undoes the last change that can be undone, also one whose response has not arrived. */
export async function undoLast(): Promise<void> {
  await inOrder(async () => undefined);
  // Its message is shown after the response.
  setTimeout(() => {
    const last = toasts.findLast((toast) => toast.undo !== undefined);
    if (last === undefined) notifyDone('Nothing to undo. Some changes can be undone for ten seconds.');
    else undo(last);
  });
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <div className="toasts" role="status">
      {shown.map((toast) => (
        <div key={toast.id} className="toast" data-toast={toast.id}>
          <span>{toast.text}</span>
          {toast.undo !== undefined && (
            <button type="button" onClick={() => undo(toast)}>
              Undo
            </button>
          )}
          <button type="button" className="quiet" aria-label="Dismiss" onClick={() => dismiss(toast.id)}>
            <span aria-hidden="true">✕</span>
          </button>
        </div>
      ))}
    </div>
  );
}
