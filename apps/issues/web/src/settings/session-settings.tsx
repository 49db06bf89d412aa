import { useQuery, useQueryClient } from '@tanstack/react-query';
import { forgetDrafts } from '../drafts/draft-store.ts';
import { call } from '../http/api.ts';
import { fullTime, shortTime } from '../messages.ts';
import { Confirm } from '../shell/confirm.tsx';
import { RelativeTime } from '../shell/relative-time.tsx';
import { announceSignOut } from '../sign-in/session-gate.ts';
import { QueryState } from './query-state.tsx';

export function SessionSettings() {
  const client = useQueryClient();
  const sessions = useQuery({
    queryKey: ['sessions'],
    queryFn: ({ signal }) => call('listOwnSessions', { signal }),
  });
  const leave = async () => {
    await forgetDrafts();
    announceSignOut();
    location.assign('/sign-in');
  };
  const end = async (id: string, isCurrent: boolean) => {
    await call('endOwnSession', { params: { id } });
    if (isCurrent) await leave();
    else await client.invalidateQueries({ queryKey: ['sessions'] });
  };
  return (
    <>
      <p className="muted">
        Where you are signed in, with this app and with others. End those that you do not know.
      </p>
      <QueryState query={sessions} />
      <ul className="entries" aria-label="Sessions">
        {sessions.data?.sessions.map((session) => (
          <li key={session.id}>
            <div>
              <strong>{deviceName(session.user_agent)}</strong>
              {session.is_current && <span className="badge">This browser</span>}
              <p className="muted">
                {session.created_ip ?? 'Unknown address'}, since <RelativeTime at={session.created_at} />,
                last used {shortTime(session.last_used_at)}
              </p>
            </div>
            <Confirm
              name="End"
              label={`End the session of ${deviceName(session.user_agent)} since ${fullTime(session.created_at)}`}
              title="End the session?"
              text={
                session.is_current
                  ? 'You are signed out of this browser.'
                  : 'The device has to sign in again.'
              }
              action={() => end(session.id, session.is_current)}
            />
          </li>
        ))}
      </ul>
      <Confirm
        name="End all sessions"
        title="End all sessions?"
        text="You are signed out everywhere, also here."
        action={async () => {
          await call('endOwnSessions', {});
          await leave();
        }}
      />
    </>
  );
}

const browsers = [
  [/Edg\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/Firefox\//, 'Firefox'],
  [/Chrome\//, 'Chrome'],
  [/Safari\//, 'Safari'],
] as const;
const systems = [
  [/Android/, 'Android'],
  [/iPhone|iPad/, 'iOS'],
  [/Windows/, 'Windows'],
  [/Mac OS X/, 'macOS'],
  [/Linux/, 'Linux'],
] as const;

/** A short name for a User-Agent. Programs are named as they name themselves. */
function deviceName(userAgent: string | null): string {
  if (userAgent === null) return 'Unknown device';
  const browser = browsers.find(([pattern]) => pattern.test(userAgent))?.[1];
  const system = systems.find(([pattern]) => pattern.test(userAgent))?.[1];
  return browser === undefined ? userAgent.slice(0, 60) : [browser, system].filter(Boolean).join(' on ');
}
