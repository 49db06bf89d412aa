import type { Notification } from '@tessera/contracts';
import { fullTime } from '../messages.ts';
import { Choices } from '../people/choices.tsx';
import { Dialog } from '../shell/dialog.tsx';

interface SnoozeDialogProps {
  notification: Notification;
  onSnooze: (until: Date, name: string) => void;
  onClose: () => void;
}

const morning = 8;
const evening = 18;
const monday = 1;

/** The times at which people begin again. An evening that is near or over is none. */
function times(now: Date): { name: string; until: Date }[] {
  const at = (days: number, hour: number) =>
    new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, hour);
  const daysToMonday = ((monday + 7 - now.getDay() - 1) % 7) + 1;
  return [
    ...(now.getHours() < evening - 1 ? [{ name: 'This evening', until: at(0, evening) }] : []),
    { name: 'Tomorrow', until: at(1, morning) },
    { name: 'Next week', until: at(daysToMonday, morning) },
  ];
}

/** Asks until when a notification is hidden. */
export function SnoozeDialog({ notification, onSnooze, onClose }: SnoozeDialogProps) {
  const offered = times(new Date());
  return (
    <Dialog title={`Snooze ${notification.issue.key} until`} onClose={onClose} isAtTop>
      <div>
        <Choices
          label="Until"
          options={offered.map(({ name, until }) => ({
            value: name,
            name,
            content: (
              <span className="snooze-time">
                {name} <span className="muted">{fullTime(until.toISOString())}</span>
              </span>
            ),
          }))}
          selected={offered.slice(0, 1).map(({ name }) => name)}
          onChange={([chosen]) => {
            const time = offered.find(({ name }) => name === chosen);
            if (time !== undefined) onSnooze(time.until, time.name.toLowerCase());
          }}
          onClose={onClose}
        />
      </div>
    </Dialog>
  );
}
