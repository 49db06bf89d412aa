import { readPage } from '../http/api.ts';
import { personOfPage } from '../sign-in/session-gate.ts';
import { ofPerson, runOnBoth } from './draft-store.ts';

const isId = /^[0-9a-f-]{36}$/;
const maxIds = 100;

/** Deletes all drafts of the person about some issues. */
export async function forgetDraftsOf(ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const person = personOfPage();
  await runOnBoth((store) => {
    for (const id of ids) store.delete(ofPerson(`${person}/${id}`));
  });
}

/** Deletes the drafts of the person about issues that they no longer see. */
export async function forgetHiddenDrafts(): Promise<void> {
  const found = new Set<string>();
  await runOnBoth((store) => {
    const reading = store.getAllKeys(ofPerson(personOfPage()));
    reading.onsuccess = () => {
      for (const key of reading.result) {
        const id = String((key as string[])[0]).split('/')[1] ?? '';
        if (isId.test(id)) found.add(id);
      }
    };
  });
  const ids = [...found];
  for (let begin = 0; begin < ids.length; begin += maxIds) {
    const asked = ids.slice(begin, begin + maxIds);
    const { items } = await readPage('listIssues', { query: { id: asked, fields: ['id'], limit: maxIds } });
    const seen = new Set(items.map(({ id }) => id));
    await forgetDraftsOf(asked.filter((id) => !seen.has(id)));
  }
}
