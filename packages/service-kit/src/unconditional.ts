import type { Express } from 'express';

/**
 * Answers are conditional only where a route makes them so. Express adds an ETag to every answer, and even without one
 * it turns an answer to `If-None-Match: *` into a 304 that the API document does not know.
 */
export function answerUnconditionally(app: Express): void {
  app.set('etag', false);
  Object.defineProperty(app.request, 'fresh', { value: false });
}
