/** A line of history to be written with the change that it tells of. */
export interface ActivityEntry {
  kind:
    | 'updated'
    | 'link_added'
    | 'link_changed'
    | 'link_removed'
    | 'label_added'
    | 'label_removed'
    | 'sync_conflict';
  field?: string;
  old?: unknown;
  new?: unknown;
}
