import type { Issue, Relation } from '@tessera/contracts';
import { useRef, useState } from 'react';
import { call } from '../http/api.ts';
import { HttpError } from '../http/http.ts';
import { type FoundIssue, FoundIssueText, useFoundIssues } from '../issue-list/found-issues.tsx';
import { Choices } from '../people/choices.tsx';
import { Dialog, focusNow } from '../shell/dialog.tsx';
import { type RelationSide, relationSides } from './relation-sides.ts';

/** The parent that another one replaces. */
export interface FormerParent {
  /** The key of its part. */
  part: string;
  relation: Relation;
}

const parentOf = async (part: string): Promise<FormerParent | undefined> => {
  const relations = await call('listRelations', { params: { id: part } });
  const relation = relations.find(({ kind, direction }) => kind === 'parent' && direction === 'incoming');
  return relation && { part, relation };
};

/** The part gets its former parent again. */
export const giveBack = ({ part, relation }: FormerParent) =>
  call('putRelation', {
    params: { id: part },
    body: { kind: 'parent', direction: 'incoming', issue: relation.issue.id, replace: true },
  });

interface RelationDialogProps {
  issue: Issue;
  side: RelationSide;
  onSide: (side: RelationSide) => void;
  /** Throws if the service refuses. */
  onChoose: (other: FoundIssue, former?: FormerParent) => Promise<void>;
  onClose: () => void;
}

/** Finds the other issue of a new relation by key or words. Stays open with the reason if the service refuses. */
export function RelationDialog({ issue, side, onSide, onChoose, onClose }: RelationDialogProps) {
  const [words, setWords] = useState('');
  const [problem, setProblem] = useState('');
  const { issues, isPending, isError } = useFoundIssues(words);
  const others = issues.filter(({ id }) => id !== issue.id);
  // A choice closes the list, but only its success the dialog.
  const isSending = useRef(false);
  /** An issue has one parent: whether another one replaces it. */
  const [asked, setAsked] = useState<{ other: FoundIssue; former: FormerParent }>();
  const choose = async (other: FoundIssue, former?: FormerParent) => {
    isSending.current = true;
    setProblem('');
    setAsked(undefined);
    try {
      await onChoose(other, former);
      onClose();
    } catch (error) {
      const part = side.direction === 'incoming' ? issue.key : other.key;
      const hasParent = error instanceof HttpError && error.code === 'parent_exists';
      const known =
        hasParent && former === undefined ? await parentOf(part).catch(() => undefined) : undefined;
      if (known !== undefined) setAsked({ other, former: known });
      else setProblem(`${other.key} was not added. ${error instanceof Error ? error.message : ''}`);
    } finally {
      isSending.current = false;
    }
  };
  if (asked !== undefined) {
    const { part, relation } = asked.former;
    const next = side.direction === 'incoming' ? asked.other.key : issue.key;
    return (
      <Dialog title="Another parent" onClose={onClose} isAtTop>
        <div className="relation-dialog">
          <p dir="auto">
            {part} is a part of {relation.issue.key} “{relation.issue.title}”. An issue has one parent.
          </p>
          <div className="actions end">
            <button type="button" onClick={() => setAsked(undefined)}>
              Keep {relation.issue.key}
            </button>
            <button
              type="button"
              className="primary"
              ref={focusNow}
              onClick={() => void choose(asked.other, asked.former)}
            >
              Make it a part of {next}
            </button>
          </div>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title={`Relate ${issue.key}`} onClose={onClose} isAtTop>
      <div className="relation-dialog">
        <label className="field">
          {issue.key}
          <select
            aria-label={`What ${issue.key} is to the other issue`}
            value={relationSides.indexOf(side)}
            onChange={({ target }) => {
              const chosen = relationSides[Number(target.value)];
              if (chosen !== undefined) onSide(chosen);
            }}
          >
            {relationSides.map(({ says }, index) => (
              <option key={says} value={index}>
                {says}
              </option>
            ))}
          </select>
        </label>
        <Choices
          label="Issue"
          options={others.map((one) => ({
            value: one.id,
            name: `${one.key} ${one.title}`,
            content: <FoundIssueText issue={one} />,
          }))}
          selected={[]}
          hasNumbers
          isPending={isPending}
          onSearch={(text) => {
            setProblem('');
            setWords(text.trim());
          }}
          onChange={([id]) => {
            const other = others.find((one) => one.id === id);
            if (other !== undefined) void choose(other);
          }}
          onClose={() => {
            if (!isSending.current) onClose();
          }}
        />
        <p className="form-problem" role="alert">
          {isError ? 'The issues could not be searched.' : problem}
        </p>
      </div>
    </Dialog>
  );
}
