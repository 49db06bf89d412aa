import { setMaxListeners } from 'node:events';

/**
 * Returns a signal that aborts after `ms` milliseconds with a `TimeoutError`, or with `parent`. Replaces
 * `AbortSignal.any([parent, AbortSignal.timeout(ms)])`, which never aborts if the garbage collector runs before the
 * timeout: Node 20 collects the timeout (nodejs/node#57736), Node 24.16 and later can lose an abort (nodejs/node#65995).
 */
export function abortAfter(ms: number, parent?: AbortSignal): AbortSignal {
  const controller = new AbortController();
  // The timer references the controller, so the signal is not collected before it aborts.
  setTimeout(
    () => controller.abort(new DOMException('The operation timed out.', 'TimeoutError')),
    ms,
  ).unref();
  if (parent?.aborted) controller.abort(parent.reason);
  if (parent === undefined || parent.aborted) return controller.signal;
  // Many operations can have the same parent. Each removes its listener when it aborts.
  setMaxListeners(0, parent);
  parent.addEventListener('abort', () => controller.abort(parent.reason), { signal: controller.signal });
  return controller.signal;
}
