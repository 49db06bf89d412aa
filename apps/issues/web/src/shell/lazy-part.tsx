import { type ComponentType, type ReactNode, useEffect, useRef, useState } from 'react';
import { useConnection } from '../live/connection.ts';
import { focusPage } from './focus.ts';
import { reloadIf } from './new-release.ts';

type LazyPart<Props> = ((props: Props) => ReactNode) & { load: () => Promise<void> };

/**
 * A part of the app whose files are loaded when it is shown, or before that by `load`. If they cannot be loaded, the frame stays
 * and says so.
 * @param waiting is shown until then
 */
export function lazyPart<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  waiting: (props: Props) => ReactNode = loadingPage,
  failed: (retry: () => void, wasPreloaded: boolean) => ReactNode = (_retry, wasPreloaded) => (
    <FailedPage wasPreloaded={wasPreloaded} />
  ),
): LazyPart<Props> {
  let Loaded: ComponentType<Props> | undefined;
  let wasPreloaded = false;
  const loadOnce = async () => {
    Loaded ??= await load();
  };
  // biome-ignore lint/correctness/noComponentHookFactories: it is called once for each part, when its module is loaded
  function Part(props: Props) {
    const [isFailed, setFailed] = useState(false);
    const [, setLoaded] = useState(Loaded !== undefined);
    const [attempt, setAttempt] = useState(0);
    // biome-ignore lint/correctness/useExhaustiveDependencies: each attempt loads again
    useEffect(() => {
      if (Loaded !== undefined) return;
      let isCurrent = true;
      loadOnce().then(
        () => {
          if (!isCurrent) return;
          setLoaded(true);
          if (waiting === loadingPage) focusPage();
        },
        () => isCurrent && setFailed(true),
      );
      return () => {
        isCurrent = false;
      };
    }, [attempt]);
    if (Loaded !== undefined) return <Loaded {...props} />;
    return isFailed ? failed(() => setAttempt(attempt + 1), wasPreloaded) : waiting(props);
  }
  const preload = () => {
    wasPreloaded = true;
    return loadOnce();
  };
  return Object.assign(Part, { load: preload });
}

const loadingPage = () => (
  <main id="content" className="page" aria-busy="true">
    <h1 className="visually-hidden">Loading…</h1>
  </main>
);

/**
 * Browsers remember a file that they could not load, so only a new document requests it again.
 * @param wasPreloaded the file may have failed without a connection, before the page was opened with one
 */
function FailedPage({ wasPreloaded }: { wasPreloaded: boolean }) {
  const { connection } = useConnection();
  const wasOffline = useRef(false);
  useEffect(() => {
    if (connection === 'offline') wasOffline.current = true;
    else if (wasOffline.current) location.reload();
    else if (wasPreloaded) void reloadIf(() => true);
  }, [connection, wasPreloaded]);
  return (
    <main id="content" className="page notice">
      <h1>This page could not be loaded</h1>
      <p role="alert">The server cannot be reached. The page opens as soon as it can be.</p>
      <button type="button" className="primary" onClick={() => location.reload()}>
        Try again
      </button>
    </main>
  );
}
