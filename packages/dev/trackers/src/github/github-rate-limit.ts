import { randomUUID } from 'node:crypto';
import type { OutgoingHttpHeaders } from 'node:http';

const LIMIT = 5_000;
const WINDOW_SECONDS = 3_600;

/** The headers of the primary rate limit. It never rejects a request; a test adds a fault for that. */
export function githubHeaders(): () => OutgoingHttpHeaders {
  const reset = Math.floor(Date.now() / 1_000) + WINDOW_SECONDS;
  let used = 0;
  return () => {
    used = Math.min(LIMIT, used + 1);
    return {
      'x-ratelimit-limit': LIMIT,
      'x-ratelimit-remaining': LIMIT - used,
      'x-ratelimit-used': used,
      'x-ratelimit-reset': reset,
      'x-ratelimit-resource': 'core',
      'x-github-request-id': randomUUID(),
      'x-github-media-type': 'github.v3; format=json',
    };
  };
}
