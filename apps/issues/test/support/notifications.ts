import { setTimeout as pause } from 'node:timers/promises';
import { type Notification, notificationSchema } from '@tessera/contracts';
import { untilDeliverable } from '@tessera/testing/event-horizon';
import { z } from 'zod';
import type { TestPerson } from './people.ts';
import type { TestApp } from './test-app.ts';

export const notificationsPath = '/api/v1/notifications/';

/** Waits until the notifications of all present events are made. */
export async function untilNotified(app: Pick<TestApp, 'sql' | 'dependencies'>): Promise<void> {
  await untilDeliverable(app);
  const [newest] = await app.sql(
    'SELECT tx::text, id::text FROM events e ORDER BY e.tx DESC, e.id DESC LIMIT 1',
  );
  for (;;) {
    const [reader] = await app.sql(
      `SELECT FROM event_readers WHERE name = 'notifications' AND (tx, event_id) >= ($1, $2)
          AND NOT EXISTS (SELECT FROM deferred_notifications)`,
      [newest?.tx, newest?.id],
    );
    if (reader !== undefined) return;
    app.dependencies.eventSignal.written();
    await pause(20);
  }
}

/** Reads a page of the notifications of a person. */
export async function readNotifications(person: TestPerson, query = ''): Promise<Notification[]> {
  const { body } = await person.get(`${notificationsPath}${query}`).expect(200);
  return z.array(notificationSchema.strict()).parse(body);
}
