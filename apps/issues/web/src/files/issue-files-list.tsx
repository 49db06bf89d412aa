import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { AttachedFile, Attachment, Issue } from '@tessera/contracts';
import { call } from '../http/api.ts';
import { refreshIssue } from '../http/queries.ts';
import { useMayDelete } from '../issue/access.ts';
import { personName } from '../messages.ts';
import { Confirm } from '../shell/confirm.tsx';
import { notifyDone } from '../shell/toasts.tsx';
import { useUser } from '../shell/user.ts';
import { contentPath, sizeText } from './attached.ts';
import { filesQuery } from './issue-files.ts';

/** The files of an issue, also those that no text names any more. */
export function IssueFiles({ issue }: { issue: Issue }) {
  const { attachments_count: count = 0 } = issue;
  return count === 0 ? null : <FileList issue={issue} count={count} />;
}

/** The uploader is known from the list of files only. */
type ListedFile = AttachedFile & Partial<Pick<Attachment, 'uploader'>>;

function FileList({ issue, count }: { issue: Issue; count: number }) {
  const client = useQueryClient();
  const user = useUser();
  const mayDelete = useMayDelete(issue);
  const { data, error } = useQuery(filesQuery(issue.key));
  const files: readonly ListedFile[] = data ?? issue.attachments ?? [];
  return (
    <section className="links" aria-labelledby="files-title">
      <h2 id="files-title">
        Files <span className="muted">{count}</span>
      </h2>
      {error !== null && <p role="alert">The files could not be loaded. {error.message}</p>}
      <ul>
        {files.map((file) => (
          <li key={file.id}>
            <span>
              <a
                className="link-name"
                dir="auto"
                href={contentPath(file.id)}
                target="_blank"
                rel="noopener noreferrer"
              >
                {file.name}
              </a>{' '}
              <span className="muted">
                {sizeText(file.size)}
                {file.uploader !== undefined && (
                  <>
                    , <bdi>{personName(file.uploader)}</bdi>
                  </>
                )}
              </span>
            </span>
            {file.uploader !== undefined && (file.uploader.id === user.id || mayDelete) && (
              <Confirm
                name="Delete"
                label={`Delete the file ${file.name}`}
                title={`Delete ${file.name}?`}
                text="Texts that show it say that it was not found. The history keeps its name and size."
                action={async () => {
                  await call('deleteAttachment', { params: { attachment_id: file.id } });
                  await refreshIssue(client, issue.key);
                  notifyDone('File deleted');
                }}
              />
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
