import { type RefObject, useState } from 'react';
import { MarkdownView } from './markdown-view.tsx';

interface MarkdownEditorProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  onSubmit: () => void;
  onCancel?: () => void;
  placeholder?: string;
  rows?: number;
  field?: RefObject<HTMLTextAreaElement | null>;
  fieldId?: string;
}

/** A field for Markdown with a preview. Ctrl+Enter sends. */
export function MarkdownEditor(props: MarkdownEditorProps) {
  const { label, value, onChange, onSubmit, onCancel, placeholder, rows = 5, field, fieldId } = props;
  const [isPreview, setPreview] = useState(false);
  return (
    <div className="editor">
      <div className="editor-tabs">
        <button type="button" aria-pressed={!isPreview} onClick={() => setPreview(false)}>
          Write
        </button>
        <button type="button" aria-pressed={isPreview} onClick={() => setPreview(true)}>
          Preview
        </button>
        <span className="muted wide-only">Markdown</span>
      </div>
      {isPreview ? (
        <div className="editor-preview">
          {value.trim() === '' ? <p className="muted">Nothing to show</p> : <MarkdownView text={value} />}
        </div>
      ) : (
        <textarea
          ref={field}
          id={fieldId}
          aria-label={label}
          value={value}
          rows={rows}
          maxLength={65_000}
          placeholder={placeholder}
          onChange={({ target }) => onChange(target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) onSubmit();
            else if (event.key === 'Escape' && onCancel !== undefined) onCancel();
            else return;
            event.preventDefault();
            event.stopPropagation();
          }}
        />
      )}
    </div>
  );
}
