import { useEffect, useState } from 'react';

const pauseMs = 250;

/**
 * Returns a text as it was when the user last paused, so that not every key is a request.
 * @returns the text, and a function that ends the wait
 */
export function useSettled(text: string): [settled: string, settle: () => void] {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    // An emptied field waits for nothing.
    const timer = setTimeout(() => setSettled(text), text === '' ? 0 : pauseMs);
    return () => clearTimeout(timer);
  }, [text]);
  return [settled, () => setSettled(text)];
}
