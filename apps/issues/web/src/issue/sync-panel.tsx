import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Issue, SyncConflict } from '@tessera/contracts';
import { useState } from 'react';
import { call } from '../http/api.ts';
import { refreshIssue } from '../http/queries.ts';
import { fullTime, syncNames, trackerName } from '../messages.ts';
import { Confirm } from '../shell/confirm.tsx';
import { Field, Submit, useForm } from '../shell/form.tsx';
import { hasStaffRights, useUser } from '../shell/user.ts';
import { useMayChange } from './access.ts';
import { fieldName } from './use-issue-changes.ts';

const reasons: Record<SyncConflict['reason'], string> = {
  both_changed: 'Both sides have changed it since the last sync.',
  overwritten: 'It was changed in the tracker while a sync updated it there.',
  not_applied: 'The tracker accepted the change without applying it.',
  not_storable: 'The value of the tracker exceeds the limits of an issue.',
  not_representable: 'No step of the workflow leads to the status of the tracker.',
  duplicate_remote: 'An earlier request created a second issue in the tracker.',
  marker_copied: 'Another issue of the tracker has the marker of this one.',
};

/** The state of the sync with the external tracker. Staff resolve conflicts, attach and detach. */
export function SyncPanel({ issue }: { issue: Issue }) {
  const user = useUser();
  const isStaff = hasStaffRights(user);
  const isAllowed = useMayChange(issue);
  const client = useQueryClient();
  const { key, external, sync } = issue;
  const params = { id: key };
  const { data: report } = useQuery({
    queryKey: ['sync', key, sync],
    queryFn: ({ signal }) => call('getSyncState', { params, signal }),
    placeholderData: (before) => before,
  });
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const act = async (action: () => Promise<unknown>) => {
    setBusy(true);
    setProblem('');
    try {
      await action();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : 'Try again.');
    }
    await Promise.all([refreshIssue(client, key), client.invalidateQueries({ queryKey: ['sync', key] })]);
    setBusy(false);
  };
  const attach = useForm(async ({ id = '' }) => {
    await call('attachExternalIssue', { params, body: { id } });
    await act(async () => undefined);
  });
  const resolve = (id: string, keep: 'local' | 'remote') =>
    call('resolveSyncConflict', { params: { id: key, conflict_id: id }, body: { keep } });
  const { last_error, last_synced_at, next_attempt_at, moved_to } = sync;
  const { conflicts } = report ?? sync;
  return (
    <section className="sync-panel" aria-labelledby="sync-title">
      <div className="section-head">
        <h2 id="sync-title">Tracker</h2>
        {isAllowed && (
          <button
            type="button"
            disabled={isBusy}
            onClick={() => void act(() => call('syncIssue', { params }))}
          >
            {isBusy ? 'Working…' : 'Sync now'}
          </button>
        )}
      </div>
      <p>
        <span className={`sync-${sync.state}`}>{syncNames[sync.state]}</span>
        {external !== null && (
          <>
            {' as '}
            {/^https?:/.test(external.url) ? (
              <a href={external.url} rel="noopener noreferrer">
                {trackerName(external.provider)} {external.key}
              </a>
            ) : (
              `${trackerName(external.provider)} ${external.key}`
            )}
          </>
        )}
      </p>
      {last_synced_at !== null && <p className="muted">Last synced {fullTime(last_synced_at)}</p>}
      {last_error !== null && <p className="form-problem">{last_error}</p>}
      {report?.last_messages.map((message) => (
        <p key={message} className="muted">
          {message}
        </p>
      ))}
      {next_attempt_at !== null && <p className="muted">Next attempt {fullTime(next_attempt_at)}</p>}
      {moved_to !== null && <p>The issue was moved in the tracker to {moved_to}.</p>}
      <p className="form-problem" role="alert">
        {problem}
      </p>
      {conflicts.map((conflict) => (
        <SyncConflictView
          key={conflict.id}
          conflict={conflict}
          onKeep={isStaff ? (keep) => void act(() => resolve(conflict.id, keep)) : undefined}
        />
      ))}
      {isStaff && external !== null && (
        <Confirm
          name="Detach"
          title="Detach the issue from the tracker?"
          text="The issue of the tracker is not changed. The next sync creates a new one there."
          action={() => act(() => call('detachExternalIssue', { params }))}
        />
      )}
      {isStaff && external === null && (
        <form ref={attach.ref} onSubmit={attach.onSubmit} className="attach">
          <Field state={attach} label="Number in the tracker" name="id" required maxLength={100} />
          <Submit state={attach} name="Attach" done="Attached" />
        </form>
      )}
    </section>
  );
}

interface ConflictProps {
  conflict: SyncConflict;
  /** Absent for users who may not decide. */
  onKeep: ((keep: 'local' | 'remote') => void) | undefined;
}

function SyncConflictView({ conflict, onKeep }: ConflictProps) {
  const { field, reason, base, local, remote, kept } = conflict;
  return (
    <section className="sync-conflict" aria-label={`Conflict of the ${fieldName(field)}`}>
      <h3>Conflict of the {fieldName(field)}</h3>
      <p>
        {reasons[reason]}{' '}
        {kept !== null && `The value ${kept === 'local' ? 'from here' : 'of the tracker'} was kept.`}
      </p>
      <dl>
        {base !== null && (
          <>
            <dt>Before</dt>
            <dd>
              <pre>{base}</pre>
            </dd>
          </>
        )}
        <dt>Here</dt>
        <dd>
          <pre>{local}</pre>
        </dd>
        <dt>In the tracker</dt>
        <dd>
          <pre>{remote}</pre>
        </dd>
      </dl>
      {onKeep === undefined ? (
        <p className="muted">Staff decide which value is kept.</p>
      ) : (
        <div className="actions">
          <button type="button" disabled={kept === 'local'} onClick={() => onKeep('local')}>
            Keep ours
          </button>
          <button type="button" disabled={kept === 'remote'} onClick={() => onKeep('remote')}>
            Take theirs
          </button>
        </div>
      )}
    </section>
  );
}
