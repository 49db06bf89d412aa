import type { Project } from '@tessera/contracts';
import type { Option } from '../people/choices.tsx';
import { LockMark } from '../shell/icons.tsx';

/** A project in a list of choices. */
export const projectOption = ({ key, name, visibility }: Project): Option => ({
  value: key,
  name: `${key} ${name}`,
  content: (
    <span>
      <span className="muted">{key}</span> <bdi>{name}</bdi>
      <LockMark visibility={visibility} />
    </span>
  ),
});
