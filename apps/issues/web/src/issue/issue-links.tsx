import { useQueryClient } from '@tanstack/react-query';
import type { Issue, Link } from '@tessera/contracts';
import { useState } from 'react';
import { call } from '../http/api.ts';
import { refreshIssue } from '../http/queries.ts';
import { ofIssue, useCommands } from '../shell/commands.ts';
import { Confirm } from '../shell/confirm.tsx';
import { Dialog } from '../shell/dialog.tsx';
import { Field, Submit, useForm } from '../shell/form.tsx';
import { notifyDone, takeBack } from '../shell/toasts.tsx';
import { hasStaffRights, useUser } from '../shell/user.ts';
import { useMayChange } from './access.ts';

const typeNames: Record<Link['type'], string> = {
  helpdesk_ticket: 'Helpdesk ticket',
  entity: 'Entity',
  invoice: 'Invoice',
  user: 'User',
  external_issue: 'External issue',
};
/** The links that also people add who may not change the issue, where everyone reads it. */
const guestTypes: readonly Link['type'][] = ['helpdesk_ticket', 'entity', 'invoice'];
const relationNames: Record<Link['relation'], string> = {
  relates_to: 'relates to',
  caused_by: 'caused by',
  blocks: 'blocks',
  duplicates: 'duplicates',
};

export function IssueLinks({ issue }: { issue: Issue }) {
  const client = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  useCommands(ofIssue([{ key: 't', name: 'Add a link', run: () => setOpen(mayAdd) }]));
  const user = useUser();
  const mayChange = useMayChange(issue);
  // Others link what their own systems have, and take that back.
  const mayAdd = mayChange || issue.project.visibility === 'everyone';
  const mayRemove = ({ type, created_by }: Link) =>
    mayChange || (mayAdd && created_by === user.id && guestTypes.includes(type));
  const refresh = () => refreshIssue(client, issue.key);
  const undo = (act: () => Promise<unknown>) => takeBack(act, refresh);
  return (
    <section className="links" aria-labelledby="links-title">
      <div className="section-head">
        <h2 id="links-title">Links</h2>
        {mayAdd && (
          <button type="button" aria-label="Add a link" onClick={() => setOpen(true)}>
            Add
          </button>
        )}
      </div>
      <ul>
        {issue.links.map((link) => (
          <li key={link.id}>
            <span>
              <span className="muted">
                {relationNames[link.relation]} {typeNames[link.type].toLowerCase()}
              </span>{' '}
              <LinkTarget link={link} />
            </span>
            {mayRemove(link) && (
              <Confirm
                name="Remove"
                label={`Remove the link ${link.title ?? link.ref}`}
                title="Remove the link?"
                text="The history keeps it. The other system is not changed."
                action={async () => {
                  await call('deleteLink', { params: { id: issue.key, link_id: link.id } });
                  await refresh();
                  const { type, ref, title, url, relation } = link;
                  const body = { type, ref, title, url, relation };
                  notifyDone('Link removed', () =>
                    undo(() => call('putLink', { params: { id: issue.key }, body })),
                  );
                }}
              />
            )}
          </li>
        ))}
      </ul>
      {issue.links.length === 0 && <p className="muted">None</p>}
      {isOpen && (
        <Dialog title="New link" onClose={() => setOpen(false)}>
          <LinkForm
            issue={issue}
            onSaved={async ({ id }) => {
              await refresh();
              setOpen(false);
              // A link that was there before has been changed; its former values are in the history.
              if (issue.links.some((link) => link.id === id)) return notifyDone('Link changed');
              notifyDone('Link added', () =>
                undo(() => call('deleteLink', { params: { id: issue.key, link_id: id } })),
              );
            }}
          />
        </Dialog>
      )}
    </section>
  );
}

function LinkTarget({ link: { url, title, ref } }: { link: Link }) {
  const name = title ?? ref;
  // The service accepts http and https only.
  if (url === null || !/^https?:/.test(url))
    return (
      <span className="link-name" dir="auto">
        {name}
      </span>
    );
  return (
    <a className="link-name" dir="auto" href={url} rel="noopener noreferrer">
      {name}
    </a>
  );
}

/** The id in a URL that a person pastes: what comes last in it. */
function idOf(url: string): string {
  const { pathname, hostname } = new URL(url);
  return decodeURIComponent(pathname.split('/').filter(Boolean).at(-1) ?? hostname);
}

/** The target that a person types: an id in the other system, or a URL that ends with it. */
function targetOf(text: string): Pick<Link, 'ref' | 'url'> {
  if (!/^[a-z][a-z\d+.-]*:\/\//i.test(text)) return { ref: text, url: null };
  if (!/^https?:/i.test(text) || !URL.canParse(text))
    throw new Error('Only http and https URLs can be opened.');
  return { ref: idOf(text), url: text };
}

function LinkForm({ issue, onSaved }: { issue: Issue; onSaved: (link: Link) => Promise<void> }) {
  const isStaff = hasStaffRights(useUser());
  const form = useForm(async ({ title, ref = '', ...chosen }) => {
    const { type, relation } = chosen as Pick<Link, 'type' | 'relation'>;
    const body = { type, relation, title: title || null, ...targetOf(ref) };
    await onSaved(await call('putLink', { params: { id: issue.key }, body }));
  });
  const mayChange = useMayChange(issue);
  const types = Object.entries(typeNames).filter(([type]) =>
    mayChange ? isStaff || type !== 'external_issue' : guestTypes.some((one) => one === type),
  );
  return (
    <form ref={form.ref} onSubmit={form.onSubmit}>
      <Field state={form} label="Number or URL" name="ref" required maxLength={2_048} />
      <label className="field">
        Type
        <select name="type">
          {types.map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <details className="field">
        <summary>Relation and title</summary>
        <label className="field">
          Relation
          <select name="relation">
            {Object.entries(relationNames).map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <Field state={form} label="Title" name="title" maxLength={255} />
      </details>
      <Submit state={form} name="Add the link" done="Added" />
    </form>
  );
}
