/** The columns by which a list can be sorted, in the direction of the first click. */
const firstOrders: Readonly<Record<string, string>> = {
  Priority: '-priority',
  Key: '-number',
  Title: 'title',
  Status: '-status',
  Changed: '-updated_at',
};

const reverse = (order: string) => (order.startsWith('-') ? order.slice(1) : `-${order}`);

/** Whether a list is sorted by a column; undefined if it cannot be. */
export function sortOf(name: string, order: string | undefined) {
  const first = firstOrders[name];
  if (first === undefined || order === undefined) return undefined;
  if (order !== first && order !== reverse(first)) return 'none';
  return order.startsWith('-') ? 'descending' : 'ascending';
}

interface SortButtonProps {
  name: string;
  order: string;
  onOrder: (order: string) => void;
}

const arrows = { none: '', ascending: '↑', descending: '↓' };

/** The head of a column. A click sorts by it, a second one the other way round. */
export function SortButton({ name, order, onOrder }: SortButtonProps) {
  const first = firstOrders[name] ?? '';
  return (
    <button
      type="button"
      className="sort-button"
      aria-label={`Sort by ${name.toLowerCase()}`}
      onClick={() => onOrder(order === first ? reverse(first) : first)}
    >
      <span className="sort-name">{name}</span>
      {arrows[sortOf(name, order) ?? 'none']}
    </button>
  );
}
