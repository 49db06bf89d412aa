import { clockTime } from '../messages.ts';
import { useConnection } from './connection.ts';

/** Says that the page may be out of date. */
export function ConnectionNote() {
  const { connection, lastContact } = useConnection();
  return (
    <p className="connection" role="status">
      {connection === 'offline' &&
        `No connection since ${clockTime(lastContact)}. Changes of others are missing; what you type is kept.`}
    </p>
  );
}
