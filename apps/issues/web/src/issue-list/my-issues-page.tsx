import '../styles/tabs.css';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect } from 'react';
import { noteList } from './came-from.ts';
import { IssueListView } from './issue-list-page.tsx';
import { type MyIssues, myIssues, validateMySearch } from './list-search.ts';

const lists = {
  assigned: {
    name: 'Assigned to me',
    query: { assignee: ['me'], is_open: true, ordering: '-priority' },
    nothing: 'No open issue is assigned to you. Press i on an issue to take it.',
  },
  created: {
    name: 'Created by me',
    query: { reporter: 'me', is_open: true },
    nothing: 'You have created no issue that is open. Press c to create one.',
  },
} as const;

/** The issues of the user: a list with fixed filters. */
export function MyIssuesPage() {
  const search = useSearch({ from: '/app/my', select: validateMySearch, structuralSharing: true });
  const { of = 'assigned' } = search;
  const navigate = useNavigate({ from: '/my' });
  useEffect(() => noteList('/my', search), [search]);
  const { query, nothing } = lists[of];
  const show = (next: MyIssues) => void navigate({ search: next === 'assigned' ? {} : { of: next } });
  return (
    <IssueListView
      title="My issues"
      query={query}
      nothing={nothing}
      by={of === 'assigned' ? 'status' : 'none'}
    >
      <fieldset className="views">
        <legend className="visually-hidden">Show</legend>
        {myIssues.map((one) => (
          <button type="button" key={one} aria-pressed={one === of} onClick={() => show(one)}>
            {lists[one].name}
          </button>
        ))}
      </fieldset>
    </IssueListView>
  );
}
