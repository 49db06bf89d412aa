import type { Person } from '@tessera/contracts';

export interface Comment {
  id: string;
  issueId: string;
  body: string;
  /** Null for what came from a tracker, whose author has no identity. */
  author: Person | null;
  origin: string;
  external: { author: string | null; created_at: string | null } | null;
  createdAt: Date;
  updatedAt: Date;
}
