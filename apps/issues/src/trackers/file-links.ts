import type { ExternalTracker } from './external-tracker.ts';

const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
// A bracket in a bracket begins again, so that the time is linear.
const bracketed = String.raw`\[(?:\\.|[^\][\\\n])*\]`;
const picture = new RegExp(`!(${bracketed})\\(attachment:(${uuid})\\)`, 'gi');
const named = new RegExp(`\\battachment:(${uuid})(?![0-9a-f-])`, 'gi');

/** The names of files in texts, as links to the page of their issue: a tracker has no files of ours. */
export function fileLinks(page: string) {
  const prefix = `${page}#`.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const linkedPicture = new RegExp(`(${bracketed})\\(${prefix}picture-(${uuid})\\)`, 'gi');
  const linked = new RegExp(`${prefix}attachment-(${uuid})(?![0-9a-f-])`, 'gi');
  return {
    toTracker: (text: string) =>
      text
        .replace(picture, (_, name, id) => `${name}(${page}#picture-${id})`)
        .replace(named, (_, id) => `${page}#attachment-${id}`),
    /** Undoes `toTracker`. */
    fromTracker: (text: string) =>
      text.includes(page)
        ? text
            .replace(linkedPicture, (_, name, id) => `!${name}(attachment:${id})`)
            .replace(linked, (_, id) => `attachment:${id}`)
        : text,
  };
}

/** A tracker for the sync of one issue, in whose texts the names of files are links to the `page` of the issue. */
export function withFileLinks(tracker: ExternalTracker, page: string): ExternalTracker {
  const { toTracker, fromTracker } = fileLinks(page);
  const sent = <Part extends { description?: string }>(part: Part): Part =>
    part.description === undefined ? part : { ...part, description: toTracker(part.description) };
  const read = <Part extends { description?: string }>(part: Part): Part =>
    part.description === undefined ? part : { ...part, description: fromTracker(part.description) };
  const changed: Partial<ExternalTracker> = {
    toFit: (text) => fromTracker(tracker.toFit(toTracker(text))),
    create: async (draft, ...rest) => read(await tracker.create(sent(draft), ...rest)),
    get: async (...given) => read(await tracker.get(...given)),
    update: (seen, change, ...rest) => tracker.update(sent(seen), sent(change), ...rest),
    findOverwritten: async (id, { seen, wanted, seenAt }, signal) =>
      read(await tracker.findOverwritten(id, { seen: sent(seen), wanted: sent(wanted), seenAt }, signal)),
    findByMarker: async (...given) => (await tracker.findByMarker(...given)).map((issue) => read(issue)),
    listComments: async (...given) =>
      (await tracker.listComments(...given)).map((comment) => ({
        ...comment,
        body: fromTracker(comment.body),
      })),
    addComment: (id, body, ...rest) => tracker.addComment(id, toTracker(body), ...rest),
  };
  // The other methods have private fields, so they are called on the tracker itself.
  return new Proxy(tracker, {
    get: (target, name) => {
      const value: unknown = Reflect.get(name in changed ? changed : target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
