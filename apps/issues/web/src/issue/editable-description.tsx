import { useFilesOf } from '../files/issue-files.ts';
import { MarkdownEditor } from '../markdown/markdown-editor.tsx';
import { MarkdownView } from '../markdown/markdown-view.tsx';
import { withToggledTask } from '../markdown/task-boxes.ts';
import { readersOf } from './access.ts';
import { ClickToEdit } from './click-to-edit.tsx';
import { referencesOf } from './references-of.ts';
import { type TextEditProps, textFieldId, useTextEdit } from './use-text-edit.ts';

export function EditableDescription(props: TextEditProps) {
  const edit = useTextEdit('description', props);
  const { description } = props.issue;
  const files = useFilesOf(props.issue);
  const toggle = edit.isReadOnly
    ? undefined
    : (line: number) => {
        const text = withToggledTask(description, line);
        void props.save({ field: 'description', shown: { description: text }, sent: { description: text } });
      };
  return (
    <section className="description" aria-labelledby="description-title">
      <h2 id="description-title" className="visually-hidden">
        Description
      </h2>
      {!edit.isOpen && (
        <div className="quiet-actions">
          {!edit.isReadOnly && (
            <button type="button" ref={edit.editButton} aria-label="Edit description" onClick={edit.start}>
              Edit
            </button>
          )}
          <ClickToEdit edit={edit}>
            {description === '' ? (
              <p className="muted">{edit.isReadOnly ? 'No description' : 'Add a description…'}</p>
            ) : (
              <MarkdownView
                text={description}
                references={referencesOf(props.issue, props.issue.mentions)}
                files={files}
                onToggle={toggle}
              />
            )}
          </ClickToEdit>
        </div>
      )}
      {edit.isOpen && (
        <>
          <MarkdownEditor
            label="Description"
            rows={10}
            draft={edit.scope}
            files={files}
            readersOf={readersOf(props.issue)}
            fieldId={textFieldId('description')}
            value={edit.text}
            onChange={edit.type}
            onSubmit={() => void edit.submit()}
            onCancel={edit.close}
            hasFocus={edit.hasFocus}
          />
          <p className="form-problem" role="alert">
            {edit.problem}
          </p>
          <div className="actions">
            <button
              type="button"
              className="primary"
              disabled={edit.isBusy}
              onClick={() => void edit.submit()}
            >
              Save description
            </button>
            <button type="button" onClick={edit.discard}>
              Discard
            </button>
            <span className="muted" role="status">
              {edit.note}
            </span>
          </div>
        </>
      )}
    </section>
  );
}
