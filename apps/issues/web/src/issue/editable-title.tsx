import { onKey } from '../shell/keys.ts';
import { ClickToEdit } from './click-to-edit.tsx';
import { TitleField } from './title-field.tsx';
import { type TextEditProps, textFieldId, useTextEdit } from './use-text-edit.ts';

export function EditableTitle(props: TextEditProps) {
  const edit = useTextEdit('title', props);
  if (!edit.isOpen)
    return (
      <div className="issue-title quiet-actions">
        <ClickToEdit edit={edit}>
          <h1>
            <bdi>{props.issue.title}</bdi> <span className="visually-hidden">{props.issue.key}</span>
          </h1>
        </ClickToEdit>
        {!edit.isReadOnly && (
          <button type="button" ref={edit.editButton} aria-label="Edit title" onClick={edit.start}>
            Edit
          </button>
        )}
      </div>
    );
  return (
    <form
      className="title-form"
      onSubmit={(event) => {
        event.preventDefault();
        edit.submit();
      }}
    >
      <h1 className="visually-hidden">{props.issue.title}</h1>
      <TitleField
        id={textFieldId('title')}
        value={edit.text}
        ref={(field) => {
          // Once, when the editor opens.
          if (edit.hasFocus && field !== null && document.activeElement === document.body) field.focus();
        }}
        onChange={edit.type}
        onKeyDown={onKey((key) => key === 'Escape' && edit.close())}
      />
      <div className="actions">
        <button type="submit" className="primary" disabled={edit.isBusy}>
          Save title
        </button>
        <button type="button" onClick={edit.discard}>
          Discard
        </button>
        <span className="muted" role="status">
          {edit.note}
        </span>
      </div>
    </form>
  );
}
