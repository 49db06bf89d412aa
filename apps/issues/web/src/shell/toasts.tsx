import { useSyncExternalStore } from 'react';

interface Toast {
  id: number;
  text: string;
}

let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function set(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

/** Shows a message until the user closes it: it may explain why a change was undone. */
export function notify(text: string): void {
  lastId += 1;
  set([...toasts.filter((toast) => toast.text !== text).slice(-2), { id: lastId, text }]);
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
      {shown.map(({ id, text }) => (
        <div key={id} className="toast">
          <span>{text}</span>
          <button
            type="button"
            className="quiet"
            aria-label="Dismiss"
            onClick={() => set(toasts.filter((toast) => toast.id !== id))}
          >
            <span aria-hidden="true">✕</span>
          </button>
        </div>
      ))}
    </div>
  );
}
