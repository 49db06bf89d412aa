import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { View } from '@tessera/contracts';
import { useState } from 'react';
import { formatNumber, personName } from '../messages.ts';
import { BoardIcon, ViewIcon } from '../shell/icons.tsx';
import { useUser } from '../shell/user.ts';
import { useOpenView, viewsQuery } from './open-view.ts';
import { numberedViews, targetOf, useViewCount } from './saved-views.ts';

/** The saved views in the sidebar. */
export function RailViews() {
  const { data: views } = useQuery(viewsQuery);
  const open = useOpenView();
  const [isLong, setLong] = useState(false);
  if (views === undefined) return null;
  return (
    <nav className="rail-labels" aria-label="Views">
      <h2>Views</h2>
      {views.length === 0 && (
        <p className="rail-hint">
          Filter the issues and press <kbd>v</kbd> to keep them here.
        </p>
      )}
      {views.slice(0, isLong ? views.length : numberedViews).map((view, index) => (
        <ViewLink key={view.id} view={view} index={index} isOpen={view.id === open?.id} />
      ))}
      {views.length > numberedViews && (
        <button type="button" className="way" aria-expanded={isLong} onClick={() => setLong((was) => !was)}>
          {isLong ? 'Show fewer' : `Show all ${formatNumber(views.length)}`}
        </button>
      )}
    </nav>
  );
}

function ViewLink({ view, index, isOpen }: { view: View; index: number; isOpen: boolean }) {
  const isMine = view.owner.id === useUser().id;
  const by = isMine ? '' : `, by ${personName(view.owner)}`;
  return (
    <Link
      {...targetOf(view)}
      className="way"
      activeProps={{}}
      activeOptions={{ exact: true, includeSearch: true }}
      aria-current={isOpen ? 'page' : undefined}
      title={`${view.name}${by}${index < numberedViews ? ` ( Alt ${index + 1} )` : ''}`}
    >
      {view.layout === 'board' ? <BoardIcon /> : <ViewIcon />}
      <span className="way-name" dir="auto">
        {view.name}
      </span>
      {index < numberedViews && <Count view={view} />}
    </Link>
  );
}

function Count({ view }: { view: View }) {
  const count = useViewCount(view);
  return count === undefined ? null : (
    <span className="way-total">
      {count}
      <span className="visually-hidden"> issues</span>
    </span>
  );
}
