import type { Person } from '@tessera/contracts';

export interface Comment {
  id: string;
  issueId: string;
  body: string;
  author: Person;
  origin: string;
  createdAt: Date;
  updatedAt: Date;
}
