import { type RefusedRequest, refusedRequests, repeat } from '../http/http.ts';
import { notify } from '../shell/toasts.tsx';
import { personOfPage } from './session-gate.ts';

const key = () => `tessera-refused-${personOfPage()}`;

/** Keeps the changes that wait for a sign-in until the person comes back to this tab. Drafts are stored already. */
export function keepRefused(): void {
  const waiting = refusedRequests();
  if (waiting.length > 0) sessionStorage.setItem(key(), JSON.stringify(waiting));
}

/** Repeats these changes, before a page shows the drafts from which they came. */
export async function repeatRefused(): Promise<void> {
  const text = sessionStorage.getItem(key());
  sessionStorage.removeItem(key());
  if (text === null) return;
  for (const refused of JSON.parse(text) as RefusedRequest[]) {
    try {
      await repeat(refused);
      await import('../drafts/draft-store.ts')
        .then(({ deleteSentDrafts }) => deleteSentDrafts(personOfPage() ?? '', textsOf(refused)))
        .catch(() => undefined);
      notify('Your change was sent after the sign-in.');
    } catch (error) {
      notify(`Your change was not sent. ${error instanceof Error ? error.message : ''}`);
    }
  }
}

function textsOf({ body }: RefusedRequest): string[] {
  const values: unknown[] = typeof body === 'object' && body !== null ? Object.values(body) : [];
  return values.filter((value) => typeof value === 'string');
}
