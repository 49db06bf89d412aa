import { personName } from '../messages.ts';

interface AvatarProps {
  person: { id: string; username: string | null; name?: string | null | undefined };
}

const hues = 8;

/** The initials of a person. Decoration: the name stands beside it or in its label. */
export function Avatar({ person }: AvatarProps) {
  const initials = personName(person)
    .split(/[\s._-]+/u)
    .filter(Boolean)
    .slice(0, 2)
    .map((word) => Array.from(word)[0]?.toUpperCase())
    .join('');
  // The last characters are random in every version of UUIDs.
  const hue = Number.parseInt(person.id.slice(-4), 16) % hues;
  return (
    // CSS shows the initials, so that they are no text beside the name.
    <span className={`avatar hue-${hue}`} data-initials={initials || '?'} aria-hidden="true" />
  );
}
