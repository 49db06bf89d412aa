import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';

const retryMs = 5_000;

/** Shows the changes of other people. The code for it is loaded after the page: the session says from where on events count. */
export function useLiveUpdates(): void {
  const client = useQueryClient();
  useEffect(() => {
    let stop: (() => void) | undefined;
    let isEnded = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const start = async (of: QueryClient) => {
      try {
        const { startLiveUpdates } = await import('./live-updates.ts');
        if (!isEnded) stop = startLiveUpdates(of);
      } catch {
        timer = setTimeout(() => void start(of), retryMs);
      }
    };
    void start(client);
    return () => {
      isEnded = true;
      clearTimeout(timer);
      stop?.();
    };
  }, [client]);
}
