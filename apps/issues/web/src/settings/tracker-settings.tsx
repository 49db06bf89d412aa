import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Integration } from '@tessera/contracts';
import { call } from '../http/api.ts';
import { fullTime, trackerName } from '../messages.ts';
import { notify } from '../shell/toasts.tsx';
import { QueryState } from './query-state.tsx';

const checkNames: Record<Integration['checks'][number]['name'], string> = {
  reachable: 'Reachable',
  credentials: 'Credentials',
  project: 'Project',
  permissions: 'Permissions',
  statuses: 'Statuses',
  priorities: 'Priorities',
  type: 'Type of issues',
  custom_fields: 'Custom fields',
};
const stateNames = { ok: 'OK', failed: 'Failed', skipped: 'Not checked' };

/** Whether the syncs with the external tracker work, and what to do if they do not. */
export function TrackerSettings() {
  const client = useQueryClient();
  const integrations = useQuery({
    queryKey: ['integrations'],
    queryFn: ({ signal }) => call('listIntegrations', { signal }),
    refetchInterval: 30_000,
  });
  const retry = async (error: string) => {
    try {
      const body = { sync: 'failed', last_error: error } as const;
      const { made_due: count } = await call('retrySyncs', { body });
      notify(`${count} ${count === 1 ? 'sync is' : 'syncs are'} repeated now.`);
    } catch (failure) {
      notify(failure instanceof Error ? failure.message : 'Try again.');
    }
    await client.invalidateQueries({ queryKey: ['integrations'] });
  };
  return (
    <>
      <QueryState query={integrations} />
      {integrations.data?.length === 0 && (
        <p>
          No tracker is configured. The variables <code>TRACKER_…</code> of the service connect one.
        </p>
      )}
      {integrations.data?.map(({ provider, url, project, state, checked_at, checks, failed_syncs }) => (
        <section key={`${provider} ${project}`} aria-labelledby={`tracker-${provider}`}>
          <h2 id={`tracker-${provider}`}>
            {trackerName(provider)} {project}{' '}
            <span className={`badge badge-${state}`}>{stateNames[state]}</span>
          </h2>
          <p className="muted">
            <span className="url">{url}</span>, checked {fullTime(checked_at)}
          </p>
          <ul className="entries" aria-label="Checks">
            {checks.map(({ name, status, detail, reason, messages }) => (
              <li key={name}>
                <div>
                  <strong>{checkNames[name]}</strong>{' '}
                  <span className={`badge badge-${status}`}>{stateNames[status]}</span>
                  {detail !== null && <p>{detail}</p>}
                  {reason !== null && <p className="muted">{reason}</p>}
                  {messages.map((message) => (
                    <p key={message} className="muted">
                      {message}
                    </p>
                  ))}
                </div>
              </li>
            ))}
          </ul>
          {failed_syncs.length > 0 && (
            <>
              <h3>Failed syncs</h3>
              <ul className="entries" aria-label="Failed syncs">
                {failed_syncs.map(({ last_error, count, detail }) => (
                  <li key={last_error}>
                    <div>
                      <strong>
                        {count} {count === 1 ? 'issue' : 'issues'}
                      </strong>{' '}
                      <code>{last_error}</code>
                      <p>{detail}</p>
                    </div>
                    <button type="button" onClick={() => void retry(last_error)}>
                      Repeat now
                    </button>
                  </li>
                ))}
              </ul>
            </>
          )}
        </section>
      ))}
    </>
  );
}
