import type { Issue } from '@tessera/contracts';
import { useRef, useState } from 'react';
import { type FoundIssue, FoundIssueText, useFoundIssues } from '../issue-list/found-issues.tsx';
import { Choices } from '../people/choices.tsx';
import { Dialog } from '../shell/dialog.tsx';
import { type RelationSide, relationSides } from './relation-sides.ts';

interface RelationDialogProps {
  issue: Issue;
  side: RelationSide;
  onSide: (side: RelationSide) => void;
  /** Throws if the service refuses. */
  onChoose: (other: FoundIssue) => Promise<void>;
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
  const choose = async (other: FoundIssue) => {
    isSending.current = true;
    setProblem('');
    try {
      await onChoose(other);
      onClose();
    } catch (error) {
      setProblem(`${other.key} was not added. ${error instanceof Error ? error.message : ''}`);
    } finally {
      isSending.current = false;
    }
  };
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
