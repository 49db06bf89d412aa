import { useEffect, useRef } from 'react';

const key = 'tessera-shortcuts';

/** WCAG 2.1.4: shortcuts of a single character can be turned off. */
export const areShortcutsOn = () => localStorage.getItem(key) !== 'off';

export function setShortcuts(isOn: boolean): void {
  localStorage.setItem(key, isOn ? 'on' : 'off');
}

/** Calls an action for a key that is pressed outside of fields and dialogs. */
export function useShortcuts(actions: Readonly<Record<string, () => void>>): void {
  const current = useRef(actions);
  current.current = actions;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (isField(event.target) || document.querySelector('dialog[open]') !== null || !areShortcutsOn())
        return;
      const action = current.current[event.key];
      if (action === undefined) return;
      event.preventDefault();
      action();
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, []);
}

function isField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return target.type !== 'checkbox';
  return target.matches('textarea, select, [role=listbox], [role=option]');
}
