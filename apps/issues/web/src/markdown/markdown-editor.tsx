import '../styles/editor.css';
import type { AttachedFile } from '@tessera/contracts';
import { type RefObject, useEffect, useRef, useState } from 'react';
import { PaperclipIcon } from '../files/paperclip-icon.tsx';
import { EditorFiles } from '../files/parts.tsx';
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
  /** The scope of the draft that keeps the text, and the files in it. */
  draft: string;
  /** The files that the text can name besides new ones. */
  files?: readonly AttachedFile[] | undefined;
}

const none: readonly never[] = [];
const hasFiles = ({ types }: DataTransfer) => types.includes('Files');

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
    draft,
    files = none,
  } = props;
  const [chosen, setChosen] = useState<readonly File[]>(none);
  const [uploaded, setUploaded] = useState<readonly AttachedFile[]>(none);
  const [isTarget, setTarget] = useState(false);
  const chooser = useRef<HTMLInputElement>(null);
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
    // biome-ignore lint/a11y/noStaticElementInteractions: files are dropped on it; the button does the same by keys
    <div
      className={isTarget ? 'editor is-target' : 'editor'}
      onDragOver={(event) => {
        if (!hasFiles(event.dataTransfer)) return;
        event.preventDefault();
        setTarget(true);
      }}
      onDragLeave={() => setTarget(false)}
      onDrop={(event) => {
        setTarget(false);
        if (!hasFiles(event.dataTransfer)) return;
        event.preventDefault();
        setChosen([...event.dataTransfer.files]);
      }}
    >
      {isPreview ? (
        <div className="editor-preview">
          {value.trim() === '' ? (
            <p className="muted">Nothing to show</p>
          ) : (
            <MarkdownView text={value} files={[...files, ...uploaded]} />
          )}
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
          onPaste={(event) => {
            const { files: pasted, types } = event.clipboardData;
            // Cells of a spreadsheet come as text and as a picture of it.
            const isText = types.includes('text/plain') && types.includes('text/html');
            if (pasted.length === 0 || isText) return;
            event.preventDefault();
            setChosen([...pasted]);
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
      {/* Above the field, and after it for the Tab key. */}
      <div className="editor-tabs">
        <button type="button" aria-pressed={!isPreview} onClick={() => setPreview(false)}>
          Write
        </button>
        <button type="button" aria-pressed={isPreview} onClick={() => setPreview(true)}>
          Preview
        </button>
        <span className="muted wide-only">Markdown</span>
        <button
          type="button"
          className="attach-files"
          aria-label="Attach files"
          title="Attach files"
          onClick={() => chooser.current?.click()}
        >
          <PaperclipIcon />
        </button>
        <input
          ref={chooser}
          id={fieldId && chooserId(fieldId)}
          type="file"
          multiple
          hidden
          onChange={({ target }) => {
            setChosen([...(target.files ?? [])]);
            // The same file can be chosen again.
            target.value = '';
          }}
        />
      </div>
      <EditorFiles
        draft={draft}
        text={value}
        onText={onChange}
        field={field}
        chosen={chosen}
        onTaken={() => setChosen(none)}
        onUploaded={setUploaded}
      />
      {completion.list}
    </div>
  );
}

/** The id of the chooser of files of a field. */
export const chooserId = (fieldId: string) => `${fieldId}-files`;
