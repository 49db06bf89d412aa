import type { View as WireView } from '@tessera/contracts';

/** Filters, order and layout of a list under a name. */
export interface View {
  id: string;
  ownerId: string;
  /** The username and the display name of the owner. */
  ownerNames: string | null;
  name: string;
  query: string;
  layout: WireView['layout'];
  isShared: boolean;
  createdAt: Date;
  updatedAt: Date;
}

/** What a person decides about a view. */
export type ViewContent = Pick<View, 'name' | 'query' | 'layout' | 'isShared'>;
