import { useEffect } from 'react';

let title = 'Tessera';
let count = '';

function show(): void {
  document.title = count === '' ? title : `(${count}) ${title}`;
}

export function useTitle(name: string): void {
  useEffect(() => {
    title = `${name} · Tessera`;
    show();
  }, [name]);
}

/** Puts the number of unread notifications before the title of every page. */
export function useTitleCount(shown: string): void {
  useEffect(() => {
    count = shown;
    show();
  }, [shown]);
}
