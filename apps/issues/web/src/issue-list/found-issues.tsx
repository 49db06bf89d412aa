import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Issue } from '@tessera/contracts';
import { type IssueRow, listIssues } from '../http/api.ts';
import { StatusMark } from '../shell/icons.tsx';
import { useSettled } from '../shell/use-settled.ts';

const found = 8;

export type FoundIssue = Pick<IssueRow, 'id' | 'key' | 'title' | 'status'>;

/** An issue as an option of a list of those that were found. */
export function FoundIssueText({ issue: { key, title, status } }: { issue: FoundIssue }) {
  return (
    <>
      <span className="muted">{key}</span>
      <span className="palette-title" dir="auto">
        {title}
      </span>
      <span className="palette-keys">
        <StatusMark status={status} />
      </span>
    </>
  );
}

interface FoundIssues {
  issues: readonly FoundIssue[];
  isPending: boolean;
  isError: boolean;
  /** Ends the wait for a pause of the user. */
  settle: () => void;
}

/** A single letter is the start of too many words. */
const isSearched = (words: string) => words.length > 1 || /^\d$/.test(words);

/** Finds issues by key, number or words. Without any, they are those that were opened last in this tab. */
export function useFoundIssues(words: string): FoundIssues {
  const [settled, settle] = useSettled(words);
  const { data, isError, isPlaceholderData } = useQuery({
    queryKey: ['found', settled],
    queryFn: ({ signal }) => listIssues({ search: settled }, undefined, signal),
    enabled: isSearched(settled),
    placeholderData: keepPreviousData,
  });
  const recent = useRecentIssues();
  return {
    issues: isSearched(words) ? (data?.items.slice(0, found) ?? []) : words === '' ? recent : [],
    isPending:
      isSearched(words) && !isError && (settled !== words || isPlaceholderData || data === undefined),
    isError,
    settle,
  };
}

function useRecentIssues(): FoundIssue[] {
  return useQueryClient()
    .getQueryCache()
    .findAll({ queryKey: ['issue'] })
    .sort((one, other) => other.state.dataUpdatedAt - one.state.dataUpdatedAt)
    .flatMap(({ state }) => (state.data === undefined ? [] : [state.data as Issue]))
    .slice(0, 5);
}
