import { DensityIcon } from '../shell/icons.tsx';
import { useDisplay } from './display.ts';
import { groupings } from './groups.ts';
import { orders } from './list-search.ts';

interface ListDisplayProps {
  order: string;
  onOrder: (order: string) => void;
}

const groupNames = {
  none: 'No groups',
  status: 'By status',
  priority: 'By priority',
  assignee: 'By assignee',
} as const;

/** Order, groups and density of the list. */
export function ListDisplay({ order, onOrder }: ListDisplayProps) {
  const [{ group, isCompact }, setDisplay] = useDisplay();
  const isNamed = Object.keys(orders).includes(order);
  return (
    <div className="list-display">
      <label>
        <span className="visually-hidden">Order</span>
        <select value={order} onChange={({ target }) => onOrder(target.value)}>
          {!isNamed && <option value={order}>By column</option>}
          {Object.entries(orders).map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span className="visually-hidden">Groups</span>
        <select
          value={group}
          onChange={({ target }) =>
            setDisplay({ group: groupings.find((one) => one === target.value) ?? 'none' })
          }
        >
          {groupings.map((value) => (
            <option key={value} value={value}>
              {groupNames[value]}
            </option>
          ))}
        </select>
      </label>
      <button
        type="button"
        className="quiet density"
        aria-label="Compact rows"
        title="Compact rows"
        aria-pressed={isCompact}
        onClick={() => setDisplay({ isCompact: !isCompact })}
      >
        <DensityIcon />
      </button>
    </div>
  );
}
