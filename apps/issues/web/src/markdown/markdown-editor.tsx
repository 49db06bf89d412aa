import '../styles/editor.css';
import { type RefObject, useEffect, useRef, useState } from 'react';
import { onKey } from '../shell/keys.ts';
import { MarkdownView } from './markdown-view.tsx';
import { applyEdit, editOfKey, nextItem } from './text-edits.ts';
import { useCompletion } from './use-completion.tsx';

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
  /** Takes the focus when it opens. */
  hasFocus?: boolean;
  /** The key of an issue that not everyone reads: the text may mention its readers. */
  readersOf?: string | undefined;
}

/** A field for Markdown with a preview. Ctrl+Enter sends; the keys of `editOfKey` change what is selected. */
export function MarkdownEditor(props: MarkdownEditorProps) {
  const {
    label,
    value,
    onChange,
    onSubmit,
    onCancel,
    placeholder,
    rows = 5,
    fieldId,
    hasFocus = false,
  } = props;
  const [isPreview, setPreview] = useState(false);
  const ownField = useRef<HTMLTextAreaElement>(null);
  const field = props.field ?? ownField;
  const completion = useCompletion(field, onChange, props.readersOf);
  useEffect(() => {
    if (!hasFocus) return;
    field.current?.focus();
    field.current?.setSelectionRange(field.current.value.length, field.current.value.length);
  }, [hasFocus, field]);
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
          dir="auto"
          value={value}
          rows={rows}
          maxLength={65_000}
          placeholder={placeholder}
          onChange={({ target }) => {
            onChange(target.value);
            completion.look(target);
          }}
          onBlur={completion.close}
          {...completion.attributes}
          onKeyDown={onKey((key, event) => {
            const isWithModifier = event.ctrlKey || event.metaKey;
            const area = event.currentTarget as HTMLTextAreaElement;
            const isPlain = !event.shiftKey && !event.altKey;
            const edit = !isPlain
              ? undefined
              : isWithModifier
                ? editOfKey(key, area)
                : key === 'Enter'
                  ? nextItem(area)
                  : undefined;
            if (completion.press(key, isWithModifier)) {
              // The list has taken the key.
            } else if (key === 'Enter' && isWithModifier) onSubmit();
            else if (key === 'Escape' && onCancel !== undefined) onCancel();
            else if (edit !== undefined) applyEdit(area, edit);
            else return;
            event.preventDefault();
            event.stopPropagation();
          })}
        />
      )}
      {completion.list}
    </div>
  );
}
