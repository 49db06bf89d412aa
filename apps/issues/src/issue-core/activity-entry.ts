/** A history entry. It is written in the same statement as the change that it records. */
export interface ActivityEntry {
  kind:
    | 'updated'
    | 'comment_changed'
    | 'comment_removed'
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
