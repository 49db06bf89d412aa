import '../styles/relations.css';
import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Issue, Relation } from '@tessera/contracts';
import { type MouseEvent, useState } from 'react';
import { call } from '../http/api.ts';
import { HttpError } from '../http/http.ts';
import { inOrder } from '../http/own-changes.ts';
import { refreshIssue } from '../http/queries.ts';
import type { FoundIssue } from '../issue-list/found-issues.ts';
import { formatNumber } from '../messages.ts';
import { isDone } from '../people/due-date.tsx';
import { ofIssue, useCommands } from '../shell/commands.ts';
import { neighbourOf } from '../shell/confirm.tsx';
import { focusIfLost } from '../shell/focus.ts';
import { StatusMark } from '../shell/icons.tsx';
import { notify, notifyDone, takeBack } from '../shell/toasts.tsx';
import { useMayChange } from './access.ts';
import { type FormerParent, giveBack, RelationDialog } from './relation-dialog.tsx';
import { type RelationSide, relationSides, sideOf } from './relation-sides.ts';

const relationsQuery = (key: string) =>
  queryOptions({
    queryKey: ['relations', key],
    queryFn: ({ signal }) => call('listRelations', { params: { id: key }, signal }),
  });

/** Of each side; a button shows the others. */
const shownMax = 8;

/** The relations of an issue to others: its parent, its parts, what blocks it. Changes are shown at once and can be undone. */
export function IssueRelations({ issue }: { issue: Issue }) {
  const client = useQueryClient();
  const { data: relations = [], isError, error } = useQuery(relationsQuery(issue.key));
  const isReadOnly = !useMayChange(issue);
  const [opened, setOpened] = useState<RelationSide>();
  const params = { id: issue.key };
  useCommands(
    isReadOnly
      ? []
      : ofIssue(
          relationSides.map((side) => ({
            name: `${side.command}…`,
            ...(side.key !== undefined && { key: side.key }),
            run: () => setOpened(side),
          })),
        ),
  );
  const show = (next: (shown: readonly Relation[]) => Relation[]) =>
    client.setQueryData(relationsQuery(issue.key).queryKey, (shown = []) => next(shown));
  const refresh = (other: string) =>
    Promise.all([refreshIssue(client, issue.key), refreshIssue(client, other)]);
  const remove = (id: string) => call('deleteRelation', { params: { ...params, relation_id: id } });

  const add = async (side: RelationSide, other: FoundIssue, former?: FormerParent) => {
    const { kind, direction, says } = side;
    const body = { kind, direction, issue: other.id, replace: former !== undefined };
    const relation = await inOrder(() => call('putRelation', { params, body }));
    const text = `${issue.key} ${says} ${relation.issue.key}`;
    const wasThere = relations.some(({ id }) => id === relation.id);
    const isGone = ({ id }: Relation) => id === relation.id || id === former?.relation.id;
    show((shown) => [...shown.filter((one) => !isGone(one)), relation]);
    const refreshAll = () =>
      Promise.all([refresh(relation.issue.key), former && refreshIssue(client, former.relation.issue.key)]);
    void refreshAll();
    if (wasThere) return notifyDone(`${text} already`);
    const back = () => (former === undefined ? remove(relation.id) : giveBack(former));
    notifyDone(text, () => takeBack(back, refreshAll));
  };
  const drop = async (relation: Relation) => {
    const { id, kind, direction, issue: other } = relation;
    show((shown) => shown.filter((one) => one.id !== id));
    try {
      await inOrder(() => remove(id));
      notifyDone(`Relation to ${other.key} removed`, () =>
        takeBack(
          () => call('putRelation', { params, body: { kind, direction, issue: other.id } }),
          () => refresh(other.key),
        ),
      );
    } catch (problem) {
      // Another browser has removed it.
      const isGone = problem instanceof HttpError && problem.code === 'relation_not_found';
      if (!isGone) notify(`Not removed: ${problem instanceof Error ? problem.message : ''}`);
    }
    await refresh(other.key);
  };

  return (
    <section aria-labelledby="relations-title">
      <div className="section-head">
        <h2 id="relations-title">Relations</h2>
        {!isReadOnly && (
          <button
            type="button"
            aria-label="Add a relation"
            onClick={() => setOpened(sideOf('relates', 'outgoing'))}
          >
            Add
          </button>
        )}
      </div>
      {isError && <p role="alert">The relations could not be loaded. {error.message}</p>}
      {relationSides.map((side) => (
        <Side
          key={side.says}
          side={side}
          relations={relations.filter(({ kind, direction }) => sideOf(kind, direction) === side)}
          {...(!isReadOnly && { onRemove: (relation) => void drop(relation) })}
        />
      ))}
      {!isError && relations.length === 0 && <p className="muted">None</p>}
      {opened !== undefined && (
        <RelationDialog
          issue={issue}
          side={opened}
          onSide={setOpened}
          onChoose={(other, former) => add(opened, other, former)}
          onClose={() => setOpened(undefined)}
        />
      )}
    </section>
  );
}

interface SideProps {
  side: RelationSide;
  relations: readonly Relation[];
  onRemove?: (relation: Relation) => void;
}

function Side({ side, relations, onRemove }: SideProps) {
  const [isLong, setLong] = useState(false);
  if (relations.length === 0) return null;
  const done = relations.filter(({ issue }) => isDone(issue)).length;
  const isBlocked = side.heading === 'Blocked by' && done < relations.length;
  const press = (relation: Relation) => (event: MouseEvent<HTMLButtonElement>) => {
    const neighbour = neighbourOf(event.currentTarget);
    onRemove?.(relation);
    focusIfLost(neighbour);
  };
  return (
    <div className="relation-side">
      <h3 className={isBlocked ? 'blocked' : 'muted'}>
        {side.heading}
        {side.heading === 'Sub-issues' && (
          <span className="progress">
            <progress value={done} max={relations.length} aria-label="Done" />
            {formatNumber(done)} of {formatNumber(relations.length)} done
          </span>
        )}
      </h3>
      <ul>
        {(isLong ? relations : relations.slice(0, shownMax)).map((relation) => {
          const { key, title, status } = relation.issue;
          return (
            <li key={relation.id} className={isDone(relation.issue) ? 'done' : undefined}>
              <Link to="/issues/$key" params={{ key }} title={`${key} ${title}`}>
                <StatusMark status={status} />
                <span className="muted">{key}</span>
                <span className="relation-title" dir="auto">
                  {title}
                </span>
              </Link>
              {onRemove !== undefined && (
                <button
                  type="button"
                  className="quiet"
                  aria-label={`Remove: ${side.says} ${key}`}
                  onClick={press(relation)}
                >
                  <span aria-hidden="true">✕</span>
                </button>
              )}
            </li>
          );
        })}
      </ul>
      {relations.length > shownMax && (
        <button type="button" className="quiet" aria-expanded={isLong} onClick={() => setLong(!isLong)}>
          {isLong ? 'Show fewer' : `Show all ${formatNumber(relations.length)}`}
        </button>
      )}
    </div>
  );
}
